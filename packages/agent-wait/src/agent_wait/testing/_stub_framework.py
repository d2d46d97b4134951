"""The smallest framework there can be: what `wait` and `ask` are tried on without an agent."""

from collections.abc import Mapping
from typing import Any

from agent_wait._framework import Framework
from agent_wait._types import JSON


class Parked(Exception):
    """The run stopped on `value`, the packed question."""

    def __init__(self, value: dict[str, JSON]) -> None:
        super().__init__("parked")
        self.value = value


class StubFramework(Framework):
    """Parks by raising `Parked`, and replays the answers of one thread in the order of the asks.

    Answers go into `answers`, raw or wrapped; a run starts with `rerun()`. It tells no answers apart: that
    they reach the call they name is the core's doing.

    Args:
        thread_id: The thread that every run belongs to.
    """

    name = "stub"
    hidden_params: tuple[str, ...] = ("context",)

    def __init__(self, thread_id: str = "t-1") -> None:
        self.thread_id = thread_id
        self.answers: list[Any] = []
        self.asked: list[dict[str, JSON]] = []
        self._next = 0

    def rerun(self) -> None:
        """The thread is taken up again from its start."""
        self._next = 0

    def interrupt(self, value: dict[str, JSON], call_args: Mapping[str, Any]) -> Any:
        """The next answer, or a park."""
        del call_args
        if self._next < len(self.answers):
            self._next += 1
            return self.answers[self._next - 1]
        self.asked.append(value)
        raise Parked(value)

    def interrupts_in(self, result: Any) -> list[tuple[str, Any]]:
        """The parked value of a `Parked`, or nothing."""
        return [(f"q-{len(self.answers) + 1}", result.value)] if isinstance(result, Parked) else []

    def current_thread_id(self, call_args: Mapping[str, Any]) -> str:
        """The thread."""
        del call_args
        return self.thread_id
