"""One run of one tool call: which answers it brings, and how it parks."""

import json
from typing import Any, cast

from agent_wait import JSON, unwrap_answer
from pydantic_ai import ApprovalRequired, RunContext

from pydantic_ai_wait._record import (
    KEY,
    NOTHING,
    Given,
    Record,
    identity,
    record_in,
    record_of,
    response_of,
    write_record,
)

_ATTRIBUTE = "_agent_wait_call"
_APPROVE = {"action": "approve"}


class ToolCall:
    """A tool call as it runs now. There is one for each `RunContext`, which is made anew for every run."""

    def __init__(self, context: RunContext[Any], tool_call_id: str) -> None:
        self.id = tool_call_id
        self.response = response_of(context.messages, tool_call_id)
        self._approved = context.tool_call_approved
        kept = record_of(self.response, tool_call_id)
        brought = record_in(context.tool_call_metadata)
        if brought is not None and kept is not None and not brought.is_same_ask(kept):
            # The answer was made for an ask before the one that stands now.
            brought, self._approved = None, False
        self._record = brought or kept
        self._reply: Any = NOTHING if brought is None else brought.reply
        self._taken: dict[str, Given] = {}
        self._counts: dict[str, int] = {}
        self._retries: dict[str, list[int]] = {}

    def identity(self, question: JSON) -> JSON:
        """What tells this wait from every other, an equal one of the same tool call included."""
        name = json.dumps(question, sort_keys=True)
        if retried := self._retries.get(name):
            number = retried.pop(0)
        else:
            number = self._counts.get(name, 0)
            self._counts[name] = number + 1
        return [*identity(self.response, self.id), number]

    def retried(self, question: JSON, number: int) -> None:
        """Let the next equal wait be a retry of the one with this number."""
        self._retries.setdefault(json.dumps(question, sort_keys=True), []).append(number)

    def answer(self, fingerprint: str) -> Any:
        """The answer that this run brings for the wait, or `NOTHING`. Taking nothing."""
        record = self._record
        if fingerprint in self._taken:
            return self._taken[fingerprint].reply
        if record is not None and fingerprint in record.given:
            return record.given[fingerprint].reply
        if not self._approved:
            return NOTHING
        if self._reply is not NOTHING:
            wrapped = unwrap_answer(self._reply)
            return self._reply if wrapped is not None and wrapped.fingerprint == fingerprint else NOTHING
        return dict(_APPROVE) if self._is_approved_by_the_host(fingerprint) else NOTHING

    def take(self, fingerprint: str) -> Any:
        """The answer for the wait, or `NOTHING`; remembered until the call parks again or ends."""
        reply = self.answer(fingerprint)
        if reply is not NOTHING and fingerprint not in self._taken:
            self._taken[fingerprint] = Given(reply=reply, attempt=self._attempt_of(fingerprint))
        return reply

    def answered_at(self) -> float | None:
        """When the newest answer that a wait of this call has taken was given; None: nobody knows."""
        replies = [*self._taken.values(), *(self._record.given.values() if self._record else ())]
        times = [wrapped.at for one in replies if (wrapped := unwrap_answer(one.reply)) and wrapped.at]
        return max(times, default=None)

    @property
    def has_taken(self) -> bool:
        """Whether a wait of this call has had an answer."""
        return bool(self._taken or (self._record and self._record.given))

    def park(self, value: dict[str, JSON]) -> ApprovalRequired:
        """What to raise to park on the value, or on what is stored of this very ask."""
        ask = cast("dict[str, Any]", value["__ask__"])
        fingerprint, record = str(ask["fingerprint"]), self._record
        given = {**(record.given if record else {}), **self._taken}
        answered = given.pop(fingerprint, None)
        if answered is not None:
            attempt = answered.attempt + max(ask["attempt"] - 1, 1)
            parked: Any = {**value, "__ask__": {**ask, "attempt": attempt}}
        elif record is not None and record.fingerprint == fingerprint:
            parked = record.open
        else:
            parked = value
        written = Record(open=parked, given=given)
        write_record(self.response, self.id, written)
        return ApprovalRequired(metadata={KEY: written.to_json()})

    def _is_approved_by_the_host(self, fingerprint: str) -> bool:
        """Whether an approval without an answer of ours is for this wait. It serves one, the open one.

        With `override_args` the call is no longer the one that was asked about: then the first wait is.
        """
        record = self._record
        if self._taken.keys() - (record.given.keys() if record else set()):
            return False
        return record is None or fingerprint == record.fingerprint or not record.given

    def _attempt_of(self, fingerprint: str) -> int:
        record = self._record
        if record is None:
            return 1
        if fingerprint in record.given:
            return record.given[fingerprint].attempt
        return record.attempt if record.fingerprint == fingerprint else 1


def call_of(context: RunContext[Any] | None) -> ToolCall | None:
    """The tool call that a context belongs to; None without a context, or with one of no tool call."""
    if context is None or context.tool_call_id is None:
        return None
    call: Any = getattr(context, _ATTRIBUTE, None)
    if not isinstance(call, ToolCall):
        call = ToolCall(context, context.tool_call_id)
        setattr(context, _ATTRIBUTE, call)
    return call
