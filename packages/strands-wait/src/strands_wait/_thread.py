"""What a thread is, read from its agent, and what is written so that it can be."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from agent_wait import Question, ThreadState
from strands import Agent
from strands.interrupt import Interrupt

from strands_wait._call import interrupt_state
from strands_wait._results import interrupts_in

KEY = "agent_wait"
"""Where our own state stands in `agent.state`, and a start's id in its message's `metadata.custom`."""

_STARTS_KEPT = 16


def thread_state(agent: Agent | None) -> ThreadState:
    """What the thread is."""
    if agent is None or not (agent.messages or _own(agent)):
        return ThreadState(known=False)
    pending = questions_of(agent)
    known = kept_starts(agent)
    late = [start for start in _starts_in(agent.messages)[-1:] if start not in known]
    is_parked = interrupt_state(agent)["activated"]
    is_broken = bool(late) or _own(agent).get("running", True)
    return ThreadState(
        known=True,
        pending=tuple(pending),
        unfinished=not pending and (is_parked or (is_broken and _is_open(agent.messages))),
        starts=(*known, *late)[-_STARTS_KEPT:],
    )


def questions_of(agent: Agent) -> list[Question]:
    """The agent's open questions."""
    state = interrupt_state(agent)
    if not state["activated"]:
        return []
    interrupts = [Interrupt(**one) for one in state["interrupts"].values()]
    open_ones = [one for one in interrupts if one.response is None]
    return [Question.unpack(*found) for found in interrupts_in(open_ones)]


def mark(agent: Agent, starts: Sequence[str], *, running: bool) -> None:
    """Put our state into the agent's; it is stored with the next message, or when the run ends."""
    agent.state.set(KEY, {"v": 1, "starts": list(starts), "running": running})


def marked_input(value: Any, start_id: str | None) -> Any:
    """The input as messages, of which the last bears the start's id.

    Strands stores a message and then, apart, the agent's state. A run that dies between the two has stored
    the start with its id all the same, in one write; one that dies before has stored neither.
    """
    messages = _as_messages(value)
    if messages is None or start_id is None:
        return value
    *before, last = messages
    metadata: dict[str, Any] = last.get("metadata") or {}
    custom: dict[str, Any] = {**metadata.get("custom", {}), KEY: {"start_id": start_id}}
    return [*before, {**last, "metadata": {**metadata, "custom": custom}}]


def _as_messages(value: Any) -> list[dict[str, Any]] | None:
    if isinstance(value, str):
        return [{"role": "user", "content": [{"text": value}]}]
    if not isinstance(value, list) or not value:
        return None
    blocks = cast("list[Any]", value)
    if not all(isinstance(block, Mapping) for block in blocks):
        return None
    if all("role" in block and "content" in block for block in blocks):
        return blocks
    return None if any("role" in block for block in blocks) else [{"role": "user", "content": blocks}]


def kept_starts(agent: Agent) -> list[str]:
    """The start ids that the agent's state has."""
    return [start for start in _own(agent).get("starts", ()) if isinstance(start, str)]


def _own(agent: Agent) -> Mapping[str, Any]:
    kept: Any = agent.state.get(KEY)
    return cast("Mapping[str, Any]", kept) if isinstance(kept, Mapping) else {}


def _starts_in(messages: Sequence[Any]) -> list[str]:
    found: list[str] = []
    for message in messages:
        metadata: dict[str, Any] = message.get("metadata") or {}
        own: dict[str, Any] = metadata.get("custom", {}).get(KEY) or {}
        if isinstance(own.get("start_id"), str):
            found.append(own["start_id"])
    return found


def _is_open(messages: Sequence[Any]) -> bool:
    """Whether the model's turn is not over: nobody replied yet, or its calls have no results."""
    if not messages:
        return False  # a server keeps them
    last = messages[-1]
    return last["role"] == "user" or any("toolUse" in block for block in last["content"])
