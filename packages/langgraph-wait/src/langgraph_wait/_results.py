"""What a finished run stopped on, from its return value, whatever call of LangGraph's made it."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import Runnable
from langgraph.types import Command, GraphOutput, Interrupt, Send, StateSnapshot

from langgraph_wait._interrupt import value_of

_INTERRUPT = "__interrupt__"
_TASK_KEYS = {"id", "name", "interrupts"}


def interrupts_in(result: Any) -> list[tuple[str, Any]]:
    """What a run stopped on: `(id, value)`, each id once, in order; `[]` when it ran through.

    Reads the result of `invoke`, `ainvoke` and `batch`; a chunk of a stream of any mode and version, or a
    list of them; a `GraphOutput`; a `StateSnapshot`; a finished `stream_events` run or its events;
    interrupts as plain dicts. Any other value may be what a finished entrypoint returned, and gives `[]`.

    Raises:
        TypeError: What cannot be a run's result: a coroutine, a generator that nobody has read, a graph, a
            command, a function, a class.
    """
    found: dict[str, Any] = {}
    for interrupt in _found_in(result):
        question_id, value = value_of(interrupt)
        found.setdefault(question_id, value)
    return list(found.items())


def _found_in(result: Any) -> Iterator[Any]:
    if isinstance(result, Interrupt):
        yield result
    elif isinstance(result, (GraphOutput, StateSnapshot)):
        yield from result.interrupts
    elif isinstance(result, Mapping):
        yield from _in_mapping(result)
    elif isinstance(result, (list, tuple)):
        # batch(return_exceptions=True) has exceptions among its results.
        for item in result:  # pyright: ignore[reportUnknownVariableType]  # of any type
            if not isinstance(item, Exception):
                yield from _found_in(item)
    elif hasattr(type(result), "interrupted") and hasattr(type(result), "interrupts"):
        yield from _in_event_run(result)
    else:
        _refuse_what_is_no_result(result)


def _in_mapping(result: Mapping[Any, Any]) -> Iterator[Any]:
    """A state or a chunk with `__interrupt__`, a v2 part, a task's result, or an event."""
    yield from _sequence(result.get(_INTERRUPT))
    part = result.get("data")
    if result.get("type") in ("values", "updates", "tasks", "debug") and "ns" in result:
        yield from _sequence(result.get("interrupts"))
        yield from _in_part(part)
    elif result.get("type") == "task_result" and "payload" in result:
        yield from _in_part(result["payload"])
    elif result.get("event") in ("on_chain_stream", "on_chain_end") and isinstance(part, Mapping):
        for content in (part.get("chunk"), part.get("output")):  # pyright: ignore[reportUnknownVariableType]
            yield from _in_part(content)
    elif result.keys() >= _TASK_KEYS:
        yield from _sequence(result["interrupts"])


def _in_part(part: Any) -> Iterator[Any]:
    if isinstance(part, Mapping):
        yield from _in_mapping(part)
    elif isinstance(part, tuple):
        for item in part:  # pyright: ignore[reportUnknownVariableType]
            yield from _in_part(item)


def _in_event_run(run: Any) -> Iterator[Any]:
    if inspect.iscoroutinefunction(type(run).interrupts):
        raise TypeError("an async event run is read with `await run.interrupts()`: hand that list on")
    yield from _sequence(run.interrupts)


def _sequence(interrupts: Any) -> Sequence[Any]:
    if isinstance(interrupts, Sequence) and not isinstance(interrupts, (str, bytes)):
        return interrupts  # pyright: ignore[reportUnknownVariableType]  # of any type
    return ()


def _refuse_what_is_no_result(result: Any) -> None:
    name = type(result).__name__
    if isinstance(result, Awaitable):
        raise TypeError(f"{name} has not been awaited: hand on what it returns")
    if isinstance(result, (Iterator, AsyncIterator)):
        raise TypeError(f"{name} has not been read: hand on its chunks")
    if isinstance(result, (Runnable, Command, Send, type, BaseException)) or callable(result):
        raise TypeError(f"{name} is no result of a LangGraph run")
