"""A task's answers, where only a stand-in of LangGraph's scratchpad can bring a moment about."""

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from agent_wait import FakeClock
from langgraph.types import Interrupt
from langgraph_wait._framework import LangGraphFramework, _time_of
from langgraph_wait._private import interrupt_id
from langgraph_wait._task import NOTHING, Task

ASK = {"fingerprint": "sha256:a", "attempt": 1}
NAMESPACE = "work:task-1"


@dataclass
class Pad:
    """A scratchpad whose value without an id is taken by somebody else between a look and a grasp."""

    resume: list[Any] = field(default_factory=list[Any])
    interrupt_counter: Any = field(default_factory=lambda: count().__next__)
    writes: list[Any] = field(default_factory=list[Any])

    def __post_init__(self) -> None:
        pending_writes = self.writes

        def get_null_resume(consume: bool = False) -> Any:
            return None if consume else bool(pending_writes)

        self.get_null_resume = get_null_resume


def test_a_value_that_a_bare_interrupt_was_faster_to_take_is_no_answer() -> None:
    parked = Interrupt({"__ask__": ASK}, interrupt_id(NAMESPACE, 0))
    pad = Pad(writes=[("task-1", "__interrupt__", [parked])])
    sent: list[Any] = []
    configurable = {"checkpoint_ns": NAMESPACE, "__pregel_task_id": "task-1", "__pregel_send": sent.append}
    task = Task(configurable, pad, FakeClock())
    assert task.answer(ASK) is NOTHING
    assert (pad.resume, sent) == ([], [])


def test_the_time_of_a_checkpoint_is_read_from_its_id() -> None:
    # RFC 9562, A.5: the UUIDv6 of Tuesday, February 22, 2022 2:22:22.00 PM GMT-05:00.
    assert _time_of("1EC9414C-232A-6B00-B3C8-9F6BDECED846") == 1_645_557_742.0


def test_an_id_that_is_no_uuid_version_6_tells_no_time() -> None:
    assert _time_of("not a uuid") is None
    assert _time_of("919108f7-52d1-4320-9bac-f847db4148a8") is None


def test_outside_of_a_run_nothing_is_known() -> None:
    framework = LangGraphFramework()
    assert framework.asked_at({}) is None
    assert framework.call_scope({}) is None
    assert framework.call_identity({"a": 1}, {}) == [None, 0]
    assert framework.answered({"__ask__": ASK}, {}) is False  # pyright: ignore[reportArgumentType]
    framework.call_failed(ValueError(), {"a": 1}, [None, 0], {})
