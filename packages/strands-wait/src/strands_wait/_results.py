"""What a finished run stopped on, from its return value, whatever call of Strands' made it."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from strands.agent import AgentResult
from strands.interrupt import Interrupt
from strands.multiagent.base import MultiAgentResult


def interrupts_in(result: Any) -> list[tuple[str, Any]]:
    """What a run stopped on: `(id, value)`, each id once, in order; `[]` when it ran through.

    Reads the result of an agent, a Graph or a Swarm; the last event of `stream_async`, or a list of its
    events; and interrupts, alone or in a list. An interrupt of a hook, or of a tool that never heard of us,
    is a bare question: its `reason`, or its name where it has none.

    Raises:
        TypeError: It is no result: a coroutine, a stream, an agent, or something else.
    """
    found: dict[str, Any] = {}
    for interrupt in _found_in(result):
        found.setdefault(interrupt.id, interrupt.name if interrupt.reason is None else interrupt.reason)
    return list(found.items())


def _found_in(result: Any) -> Sequence[Interrupt]:
    match result:
        case Interrupt():
            return [result]
        case AgentResult() | MultiAgentResult():
            return result.interrupts or []
        case {"result": AgentResult() | MultiAgentResult() as ended}:
            return ended.interrupts or []
        case list() | tuple():
            return _in_sequence(cast("Sequence[Any]", result))
        case _:
            raise TypeError(f"{type(result).__name__} is no result of a Strands run")


def _in_sequence(items: Sequence[Any]) -> Sequence[Interrupt]:
    if all(isinstance(item, Interrupt) for item in items):
        return items
    for item in reversed(items):
        if isinstance(item, Mapping) and isinstance(
            cast("Mapping[str, Any]", item).get("result"), AgentResult | MultiAgentResult
        ):
            return _found_in(item)
    raise TypeError("the list has neither interrupts nor the last event of a run")
