"""Every name of LangGraph's that is not public, in one place.

`KEYED` is False when one of them is missing or means something else; answers then go by LangGraph's own call
order, through the public `interrupt()`, and one that belongs to another call is refused by its fingerprint.
`tests/test_spike_private_names.py` fails when a release of LangGraph moves one.
"""

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

CHECKPOINT_MAP: Final = "checkpoint_map"
CHECKPOINT_NS: Final = "checkpoint_ns"
_CALL: Final = "__pregel_call"
_CHECKPOINTER: Final = "__pregel_checkpointer"
_INTERRUPT: Final = "__interrupt__"
_NULL_TASK_ID: Final = "00000000-0000-0000-0000-000000000000"
_RESUME: Final = "__resume__"
_RESUME_MAP: Final = "__pregel_resume_map"
_SCRATCHPAD: Final = "__pregel_scratchpad"
_SEND: Final = "__pregel_send"
_STRICT_RESUME: Final = "__pregel_strict_resume"
_TASK_ID: Final = "__pregel_task_id"
_WRITES: Final = "pending_writes"

THEIR_NAMES: Final[Mapping[str, str]] = {
    "CONFIG_KEY_CALL": _CALL,
    "CONFIG_KEY_CHECKPOINTER": _CHECKPOINTER,
    "CONFIG_KEY_CHECKPOINT_MAP": CHECKPOINT_MAP,
    "CONFIG_KEY_CHECKPOINT_NS": CHECKPOINT_NS,
    "CONFIG_KEY_RESUME_MAP": _RESUME_MAP,
    "CONFIG_KEY_SCRATCHPAD": _SCRATCHPAD,
    "CONFIG_KEY_SEND": _SEND,
    "CONFIG_KEY_STRICT_RESUME": _STRICT_RESUME,
    "CONFIG_KEY_TASK_ID": _TASK_ID,
    "INTERRUPT": _INTERRUPT,
    "NULL_TASK_ID": _NULL_TASK_ID,
    "RESUME": _RESUME,
}
"""What `langgraph._internal._constants` calls them."""

PendingWrite = tuple[str, str, Any]
"""Task id, channel, value: what a saver holds for a step that is not finished."""


def namespaces_above(namespace: str) -> Iterator[str]:
    """The namespaces that a task's is in, the nearest first, to the root graph's, which is empty.

    A node has its own level in a namespace, and so has a task of the functional API, which shares the
    checkpoint of the one above.
    """
    while namespace:
        namespace = namespace.rpartition("|")[0]
        yield namespace


class Scratchpad(Protocol):
    """What LangGraph keeps for one task."""

    resume: list[Any]
    """The answers that the task has been given, in order, the one of this run included."""

    interrupt_counter: Callable[[], int]
    """How many times `interrupt()` was called before; a new one for each attempt of the task."""

    get_null_resume: Callable[[bool], Any]
    """The value of `Command(resume=value)`, which names no question; True takes it.

    A closure over the writes that the saver held, which are nowhere else to be had.
    """


def _are_known() -> bool:
    try:
        constants = importlib.import_module("langgraph._internal._constants")
        named = callable(importlib.import_module("langgraph.types")._interrupt_id)  # noqa: SLF001  # there is no public one
    except (ImportError, AttributeError):
        return False
    return named and all(getattr(constants, name, None) == value for name, value in THEIR_NAMES.items())


KEYED: bool = _are_known()


def interrupt_id(namespace: str, answers: int) -> str:
    """The id of the question that a task asks when it has been given so many answers."""
    id_of: Callable[[str, int], str] = importlib.import_module("langgraph.types")._interrupt_id  # noqa: SLF001  # as above
    return id_of(namespace, answers)


def scratchpad_in(configurable: Mapping[str, Any]) -> Scratchpad | None:
    """The task's scratchpad, if it is what we know it to be."""
    found: Any = configurable.get(_SCRATCHPAD)
    try:
        known = (
            type(found.resume) is list
            and callable(found.interrupt_counter)
            and _WRITES in found.get_null_resume.__code__.co_freevars
        )
    except AttributeError:
        return None
    return found if KEYED and known and _SEND in configurable and CHECKPOINT_NS in configurable else None


def pending_writes(scratchpad: Scratchpad) -> Sequence[PendingWrite]:
    """What the saver held for this step when the task was prepared."""
    return tuple(inspect.getclosurevars(scratchpad.get_null_resume).nonlocals[_WRITES])


def send_resume(configurable: Mapping[str, Any], answers: list[Any]) -> None:
    """Have the answers stored with whatever becomes of this attempt."""
    configurable[_SEND]([(_RESUME, list(answers))])


def parked_in(writes: Sequence[PendingWrite], task_id: str) -> list[Any]:
    """The interrupts that a task was last parked on."""
    found = (value for task, channel, value in writes if task == task_id and channel == _INTERRUPT)
    return [interrupt for value in found for interrupt in value]


def answers_in(writes: Sequence[PendingWrite], task_id: str) -> list[Any]:
    """The answers that a task has been given, as stored."""
    for task, channel, value in writes:
        if task == task_id and channel == _RESUME:
            return list(value)
    return []


def is_consumed(writes: Sequence[PendingWrite], task_id: str) -> bool:
    """Whether `Command(resume=value)` is one that this task has taken in an earlier run.

    LangGraph keeps it until the step is finished, and `invoke(None)` would hand it to the next question
    (https://github.com/langchain-ai/langgraph/issues/8837). A fresh one is behind all that was stored.
    """
    places = {task: place for place, (task, channel, _) in enumerate(writes) if channel == _RESUME}
    return places.get(_NULL_TASK_ID, len(writes)) < places.get(task_id, -1)


def resume_map(configurable: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the run was resumed with, by question id; empty for a run that was resumed otherwise."""
    return configurable.get(_RESUME_MAP) or {}


def task_id(configurable: Mapping[str, Any]) -> str:
    """The id of the task that runs."""
    return configurable.get(_TASK_ID, "")


def has_checkpointer(configurable: Mapping[str, Any]) -> bool:
    """Whether a run that parks can be resumed; True where that cannot be seen."""
    return bool(configurable.get(_CHECKPOINTER)) or not KEYED


def is_cached(configurable: Mapping[str, Any]) -> bool:
    """Whether the node or task that runs has a cache policy; False where that cannot be seen."""
    try:
        return configurable[_CALL].args[0]().cache_key is not None
    except (AttributeError, IndexError, KeyError, TypeError):
        return False


def strict(configurable: Mapping[str, Any]) -> dict[str, Any]:
    """The same, for a run that is refused when it answers a question that is not open."""
    return {**configurable, _STRICT_RESUME: True}
