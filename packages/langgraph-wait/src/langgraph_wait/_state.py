"""What a thread is, read from LangGraph's own snapshot of it."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, cast

from agent_wait import Question, Taken, ThreadState, unwrap_answer
from langgraph.pregel.protocol import PregelProtocol
from langgraph.types import StateSnapshot

from langgraph_wait import _private as private
from langgraph_wait._interrupt import TASK, as_mapping, parts_of, value_of

STARTS = "agent_wait_starts"
"""Where the metadata of a thread's checkpoints has its start ids: one JSON list, since only text is kept."""


@dataclass(frozen=True, slots=True)
class Suspect:
    """A question that is listed as open although its task raised; it may have been given an answer before.

    Attributes:
        question_id: Its id.
        namespace: The task's.
    """

    question_id: str
    namespace: str

    @property
    def task_id(self) -> str:
        """The task's id."""
        return self.namespace.rpartition(":")[2]


def thread_state(
    graph: PregelProtocol[Any, Any, Any, Any],
    snapshot: StateSnapshot,
    answers: Mapping[Suspect, Sequence[Any]],
) -> ThreadState:
    """What the thread is.

    Args:
        graph: The root graph.
        snapshot: Its newest state.
        answers: What the tasks of `suspects(snapshot)` were given, in order.
    """
    if snapshot.created_at is None:
        return ThreadState(known=False)
    # A bare interrupt is dated by the step's start, which does not move between two looks.
    asked_at = datetime.fromisoformat(snapshot.created_at).timestamp()
    pending = {
        question_id: _dated(Question.unpack(question_id, value), asked_at)
        for question_id, value in map(value_of, snapshot.interrupts)
    }
    unfinished = bool(snapshot.tasks) and (not pending or _has_dead_task(snapshot))
    held = unfinished and _is_held(graph, snapshot)
    return ThreadState(
        known=True,
        pending=tuple(pending.values()),
        unfinished=unfinished and not held,
        held=held,
        starts=_starts(snapshot),
        taken=dict(_taken(answers)),
    )


def suspects(snapshot: StateSnapshot, above: str = "") -> Iterator[Suspect]:
    """The questions of tasks that raised, of subgraphs too where the snapshot has them.

    A task of the functional API is not in a snapshot: there only a question of ours says whose it is.
    """
    for task in snapshot.tasks:
        if task.error is None:
            continue
        namespace = f"{above}{task.name}:{task.id}"
        for question_id, value, _ in map(parts_of, task.interrupts):
            asked_in = as_mapping(as_mapping(value).get("__ask__")).get(TASK)
            yield Suspect(question_id, asked_in if isinstance(asked_in, str) else namespace)
        if isinstance(task.state, StateSnapshot):
            yield from suspects(task.state, f"{namespace}|")


def _dated(question: Question, asked_at: float) -> Question:
    return question if question.asked_at is not None else replace(question, asked_at=asked_at)


def _has_dead_task(snapshot: StateSnapshot) -> bool:
    """Whether some task has neither an open question nor a result.

    `next` has the name of each task without a result. (A task's own `result` may be None all the same.)
    """
    parked = Counter(task.name for task in snapshot.tasks if task.interrupts)
    return any(number > parked[name] for name, number in Counter(snapshot.next).items())


def _is_held(graph: PregelProtocol[Any, Any, Any, Any], snapshot: StateSnapshot) -> bool:
    """Whether the thread stands at a static breakpoint, of the graph or of a subgraph that runs now.

    Nothing of the step has begun then. A process that died before the first task of the step wrote anything
    left the same behind: that cannot be told, and on such a graph only its host goes on.
    """
    if snapshot.interrupts or any(task.error is not None for task in snapshot.tasks):
        return False
    if len(snapshot.next) < len(snapshot.tasks):
        return False
    before: Any = getattr(graph, "interrupt_before_nodes", ())
    after: Any = getattr(graph, "interrupt_after_nodes", ())
    if after or before == "*" or any(task.name in before for task in snapshot.tasks):
        return True
    running = {task.name for task in snapshot.tasks}
    return any(
        _has_breakpoints(inner) for name, inner in _subgraphs(graph) if name.partition("|")[0] in running
    )


def _subgraphs(graph: PregelProtocol[Any, Any, Any, Any]) -> Iterator[tuple[str, Any]]:
    find: Any = getattr(graph, "get_subgraphs", None)
    return iter(()) if find is None else find(recurse=True)


def _has_breakpoints(graph: Any) -> bool:
    return bool(getattr(graph, "interrupt_before_nodes", ()) or getattr(graph, "interrupt_after_nodes", ()))


def _starts(snapshot: StateSnapshot) -> tuple[str, ...]:
    try:
        stored: Any = json.loads((snapshot.metadata or {}).get(STARTS, "[]"))
    except (TypeError, ValueError):
        return ()
    return tuple(map(str, cast("list[Any]", stored))) if isinstance(stored, list) else ()


def _taken(answers: Mapping[Suspect, Sequence[Any]]) -> Iterator[tuple[str, Taken]]:
    for suspect, given in answers.items() if private.KEYED else ():
        ids = [private.interrupt_id(suspect.namespace, place) for place in range(len(given))]
        if suspect.question_id not in ids:
            continue
        newest = given[-1]
        wrapped = unwrap_answer(newest)
        # LangGraph takes an answer under the id of the task's first question, or of its next one.
        first = suspect.question_id == ids[0]
        resume_id = suspect.question_id if first else private.interrupt_id(suspect.namespace, len(given))
        answer = newest if wrapped is None else wrapped.answer
        yield suspect.question_id, Taken(answer=answer, resume_id=resume_id)
