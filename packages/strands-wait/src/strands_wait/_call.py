"""One run of one tool call: which answers Strands has for it, and how it parks."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from agent_wait import JSON, unwrap_answer
from strands import ToolContext

_ATTRIBUTE = "_agent_wait_call"

NOTHING = object()
"""No answer; None is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """An ask of one wait as Strands has it.

    Attributes:
        value: What it parked on.
        response: What it was answered, or None: Strands' own mark of an open interrupt.
    """

    value: dict[str, JSON]
    response: Any

    @property
    def attempt(self) -> int:
        """Of the ask."""
        return cast("dict[str, Any]", self.value["__ask__"])["attempt"]


class ToolCall:
    """A tool call as it runs now. There is one for each `ToolContext`, which is made anew for every run."""

    def __init__(self, context: ToolContext) -> None:
        self._context = context
        self._counts: dict[str, int] = {}
        self._retries: dict[str, list[int]] = {}
        self._given: list[Any] = []

    def identity(self, question: JSON) -> JSON:
        """What tells this wait from every other: message, tool-use id, how many equal waits came before.

        The id of the message that holds the call is a UUID that is stored with it before any tool runs. A
        tool-use id is the model server's, and may come again in the next turn.
        """
        name = json.dumps(question, sort_keys=True)
        if retried := self._retries.get(name):
            number = retried.pop(0)
        else:
            number = self._counts.get(name, 0)
            self._counts[name] = number + 1
        return [self._message_id(), self._tool_use_id, number]

    def retried(self, question: JSON, number: int) -> None:
        """Let the next equal wait be a retry of the one with this number."""
        self._retries.setdefault(json.dumps(question, sort_keys=True), []).append(number)

    def answer(self, fingerprint: str) -> Any:
        """The newest answer to the wait, or `NOTHING`: also when the question has been asked again since."""
        newest = max(self._stored(fingerprint), key=lambda stored: stored.attempt, default=None)
        return NOTHING if newest is None or newest.response is None else newest.response

    def take(self, fingerprint: str) -> Any:
        """As `answer`, remembering what may be given back in the body's place."""
        answer = self.answer(fingerprint)
        if answer is not NOTHING:
            self._given.append(answer)
        return answer

    def has_given(self, value: object) -> bool:
        """Whether a value is an answer that this call has taken, and not one like it."""
        answers = (
            (given, wrapped.answer if (wrapped := unwrap_answer(given)) else given) for given in self._given
        )
        return any(value is one for pair in answers for one in pair)

    def park(self, value: dict[str, JSON]) -> Any:
        """Raise Strands' interrupt on the value, or on what it has stored of this very ask.

        The name makes the interrupt's id, which must differ for every ask.
        """
        ask = cast("dict[str, Any]", value["__ask__"])
        newest = max(self._stored(ask["fingerprint"]), key=lambda stored: stored.attempt, default=None)
        attempt: int = ask["attempt"]
        if newest is not None:
            # An attempt is counted from what is stored: its answer may have been judged otherwise before.
            attempt = newest.attempt if newest.response is None else newest.attempt + max(attempt - 1, 1)
        reason: Any = {**value, "__ask__": {**ask, "attempt": attempt}}
        return self._context.interrupt(f"agent_wait:{ask['fingerprint']}:{attempt}", reason=reason)

    @property
    def _tool_use_id(self) -> str:
        return self._context.tool_use["toolUseId"]

    def _message_id(self) -> str | None:
        """From the messages; where a server keeps those, from what Strands has stored of the parked call."""
        pending: Any = interrupt_state(self._context.agent).get("pending_tool_execution")
        stored = [] if pending is None else [pending["assistant_message"]]
        for message in reversed([*stored, *cast("list[Any]", self._context.agent.messages)]):
            for block in message["content"]:
                if "toolUse" in block and block["toolUse"]["toolUseId"] == self._tool_use_id:
                    return message.get("tracking_id")
        return None

    def _stored(self, fingerprint: str) -> Iterator[Stored]:
        for interrupt in interrupts_of(self._context.agent).values():
            reason: Any = interrupt["reason"]
            ask = as_dict(as_dict(reason).get("__ask__"))
            if ask.get("fingerprint") == fingerprint:
                yield Stored(value=reason, response=interrupt["response"])


def interrupts_of(agent: Any) -> dict[str, dict[str, Any]]:
    """The agent's interrupts by id, answered ones included."""
    return interrupt_state(agent)["interrupts"]


def interrupt_state(agent: Any) -> dict[str, Any]:
    """`interrupts`, and whether the agent is `activated`, which it is while it is parked."""
    return agent.take_snapshot(include=["interrupt_state"]).data["interrupt_state"]


def context_in(values: Iterable[object]) -> ToolContext | None:
    """The `ToolContext` among a call's arguments."""
    return next((cast("ToolContext", value) for value in values if isinstance(value, ToolContext)), None)


def call_in(values: Iterable[object]) -> ToolCall | None:
    """The tool call that a call's arguments belong to; None where no `ToolContext` is among them."""
    context = context_in(values)
    if context is None:
        return None
    call: Any = getattr(context, _ATTRIBUTE, None)
    if not isinstance(call, ToolCall):
        call = ToolCall(context)
        setattr(context, _ATTRIBUTE, call)
    return call


def as_dict(value: object) -> Mapping[str, Any]:
    """The value when it is a mapping, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
