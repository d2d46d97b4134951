"""The task that runs now, and the answers that it has been given.

LangGraph routes answers within a task by the order of its `interrupt()` calls, which parallel tools do not
have. Here an answer is looked up by the fingerprint of the call that it names.
"""

import heapq
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agent_wait import Clock, WrappedAnswer, unwrap_answer
from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.types import Interrupt

from langgraph_wait import _private as private
from langgraph_wait._interrupt import TASK, as_mapping, parts_of

NOTHING: Final = object()
"""There is no answer; None is one."""

CallKey = tuple[str | None, str]
"""Tool-call id, if any, and the question."""


@dataclass(slots=True)
class _Attempt:
    """What one attempt of a task has come by so far."""

    counter: Callable[[], int]
    seen: int = 0
    calls: dict[CallKey, int] = field(default_factory=dict[CallKey, int])
    failed: dict[CallKey, list[int]] = field(default_factory=dict[CallKey, list[int]])
    tools: set[str] = field(default_factory=set[str])


# The scratchpad has slots and takes no weak reference; its closure lives exactly as long.
_attempts: weakref.WeakKeyDictionary[Any, _Attempt] = weakref.WeakKeyDictionary()
_lock = threading.RLock()


def run_config() -> Mapping[str, Any]:
    """The `configurable` of the run that goes on; empty outside of one."""
    try:
        return get_config().get("configurable") or {}
    except RuntimeError:
        return {}


def current_task(clock: Clock) -> "Task | None":
    """The task that runs now; None outside of a run, or when LangGraph's inside is not what we know.

    Args:
        clock: For answers that LangGraph was given without a time.
    """
    configurable = run_config()
    scratchpad = private.scratchpad_in(configurable)
    return None if scratchpad is None else Task(configurable, scratchpad, clock)


class Task:
    """One task, seen from a call inside of it. Safe from the threads of a `ToolNode`."""

    __slots__ = ("_clock", "_configurable", "_scratchpad", "namespace")

    def __init__(self, configurable: Mapping[str, Any], scratchpad: private.Scratchpad, clock: Clock) -> None:
        self._configurable = configurable
        self._scratchpad = scratchpad
        self._clock = clock
        self.namespace: str = configurable[private.CHECKPOINT_NS]

    def count(self, call: CallKey) -> int:
        """How many calls that differ in nothing this attempt has had before."""
        with _lock:
            attempt = self._attempt()
            if attempt.failed.get(call):
                return heapq.heappop(attempt.failed[call])
            number = attempt.calls.get(call, 0)
            attempt.calls[call] = number + 1
            return number

    def retried(self, call: CallKey, number: int) -> None:
        """The body of the call raised: the next one that differs in nothing is a retry of it."""
        with _lock:
            heapq.heappush(self._attempt().failed.setdefault(call, []), number)

    def shared(self, tool_call_id: str | None) -> bool:
        """Whether a tool call beside this one waits in the same task."""
        if tool_call_id is None:
            return False
        with _lock:
            tools = self._attempt().tools
            tools.add(tool_call_id)
            return len(tools) > 1

    def newest_answer_at(self) -> float | None:
        """When the task was given its newest answer; None: not known, or it has none."""
        with _lock:
            newest = self._scratchpad.resume[-1:]
        answer = unwrap_answer(newest[0]) if newest else None
        return None if answer is None else answer.at

    def has_answers(self) -> bool:
        """Whether the task has been given any answer."""
        return bool(self._scratchpad.resume) or self._scratchpad.get_null_resume(False) is not None

    def answer(self, ask: Mapping[str, Any]) -> Any:
        """The newest answer to the call, unless it has been judged already; else `NOTHING`."""
        with _lock:
            place = self._place(ask)
            if place is None:
                return NOTHING
            self._keep_step(place)
            answers = self._scratchpad.resume
            private.send_resume(self._configurable, answers)
            return answers[place]

    def is_answered(self, ask: Mapping[str, Any]) -> bool:
        """Whether `answer` would find one."""
        with _lock:
            return self._place(ask) is not None

    def is_old(self, fingerprint: str) -> bool:
        """Whether the task has been given answers to others since this call was answered."""
        with _lock:
            newest = unwrap_answer(self._scratchpad.resume[-1])
        return newest is None or newest.fingerprint != fingerprint

    def park(self, value: dict[str, Any]) -> GraphInterrupt:
        """What to raise: the task stops on this question, under an id of its own.

        Or on the one that it stands on already, for another call of the same `ToolNode`: which of them is the
        first to come here differs from run to run, and a question that has been shown must not vanish.
        """
        with _lock:
            answers = self._scratchpad.resume
            if answers:
                private.send_resume(self._configurable, answers)
            own_id = private.interrupt_id(self.namespace, len(answers))
            stored = self._stored(value["__ask__"]) or self._standing(value["__ask__"], own_id)
            # Where a task fails after it took an answer, this tells under which id it takes another.
            parked = stored or {**value, "__ask__": {**value["__ask__"], TASK: self.namespace}}
            return GraphInterrupt((Interrupt(parked, own_id),))

    def _attempt(self) -> _Attempt:
        # A retry policy runs the task again with the same scratchpad and a new counter.
        counter = self._scratchpad.interrupt_counter
        attempt = _attempts.get(self._scratchpad.get_null_resume)
        if attempt is None or attempt.counter is not counter:
            attempt = _attempts[self._scratchpad.get_null_resume] = _Attempt(counter)
        return attempt

    def _place(self, ask: Mapping[str, Any]) -> int | None:
        fingerprint = ask["fingerprint"]
        answers = self._scratchpad.resume
        mine = [
            place
            for place, value in enumerate(answers)
            if (answer := unwrap_answer(value)) is not None and answer.fingerprint == fingerprint
        ]
        if len(mine) >= ask["attempt"]:
            return mine[-1]
        return self._claim_raw(ask)

    def _claim_raw(self, ask: Mapping[str, Any]) -> int | None:
        """Write our name on an answer that was given by LangGraph's own means, if it was given to this ask.

        It is, when the task was parked on this very ask under the id that the answer was given for.
        """
        answers = self._scratchpad.resume
        by_id = private.resume_map(self._configurable)
        place = len(answers) - 1
        if place >= 0 and unwrap_answer(answers[place]) is None:
            answered_id = private.interrupt_id(self.namespace, place)
            if answered_id in by_id and self._stored(ask, answered_id) is not None:
                answers[place] = self._named(answers[place], ask)
                return place
        if self._scratchpad.get_null_resume(False) is None:
            return None
        if self._stored(ask, private.interrupt_id(self.namespace, len(answers))) is None or self._is_stale():
            return None
        # Asking whether there is one goes on saying yes after it was taken: only this tells.
        value = self._scratchpad.get_null_resume(True)
        if value is None:
            return None
        answers.append(value if unwrap_answer(value) is not None else self._named(value, ask))
        return len(answers) - 1

    def _is_stale(self) -> bool:
        return private.is_consumed(
            private.pending_writes(self._scratchpad), private.task_id(self._configurable)
        )

    def _named(self, answer: Any, ask: Mapping[str, Any]) -> dict[str, Any]:
        return WrappedAnswer(answer=answer, fingerprint=ask["fingerprint"], at=self._clock.now()).to_value()

    def _stored(self, ask: Mapping[str, Any], id: str | None = None) -> dict[str, Any] | None:
        """The value that the task was last parked on, if it is this ask (and was parked under this id)."""
        for parked_id, value, stored in self._parked():
            same = all(stored.get(name) == ask[name] for name in ("fingerprint", "attempt"))
            if same and (id is None or parked_id == id):
                return value
        return None

    def _standing(self, ask: Mapping[str, Any], id: str) -> dict[str, Any] | None:
        """The value that the task was parked on under this id, if a tool call asked it, as one does now."""
        for parked_id, value, stored in self._parked():
            if parked_id == id and _is_tool_call(stored) and _is_tool_call(ask):
                return value
        return None

    def _parked(self) -> Iterator[tuple[str, dict[str, Any], Mapping[str, Any]]]:
        writes = private.pending_writes(self._scratchpad)
        for interrupt in private.parked_in(writes, private.task_id(self._configurable)):
            parked_id, value, _ = parts_of(interrupt)
            yield parked_id, value, as_mapping(as_mapping(value).get("__ask__"))

    def _keep_step(self, place: int) -> None:
        """Have a bare `interrupt()` that follows find the answers behind this one."""
        attempt = self._attempt()
        while attempt.seen <= place:
            attempt.seen = self._scratchpad.interrupt_counter() + 1


def _is_tool_call(ask: Mapping[str, Any]) -> bool:
    call = ask.get("call")
    return isinstance(call, list) and bool(call) and call[0] is not None
