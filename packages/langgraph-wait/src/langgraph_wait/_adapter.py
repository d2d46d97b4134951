"""`LangGraphAdapter`: a compiled graph, as `WaitPublisher` drives it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agent_wait import JSON, Clock, Question, QuestionClosed, Taken, ThreadState
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.errors import UnknownInterruptError
from langgraph.pregel import Pregel
from langgraph.types import Command, Durability

from langgraph_wait import _private as private
from langgraph_wait._resume import command_for
from langgraph_wait._schema import violation
from langgraph_wait._state import STARTS, Suspect, suspects, thread_state


@dataclass(frozen=True, slots=True)
class _Resume:
    command: Command[Any]
    id: str
    strict: bool


class LangGraphAdapter:
    """A compiled graph, a `create_agent` agent or an entrypoint, with a checkpointer.

    Args:
        graph: What runs.
        config: Goes into every run and look: `configurable` of your own, tags, callbacks, metadata,
            `recursion_limit`.
        durability: When LangGraph stores what a step wrote. With anything but `sync` an effect behind an
            answered question can run twice under two keys when the process dies.
        context: The graph's runtime context, for every run.
        clock: For when an answer was given. None: the machine's.

    Raises:
        ValueError: The graph has no checkpointer.
    """

    name = "langgraph"

    def __init__(
        self,
        graph: Pregel[Any, Any, Any, Any],
        *,
        config: RunnableConfig | None = None,
        durability: Durability = "sync",
        context: Any = None,
        clock: Clock | None = None,
    ) -> None:
        if not graph.checkpointer:
            raise ValueError("the graph has no checkpointer, so nothing could resume it: compile it with one")
        self._graph = graph
        self._base: RunnableConfig = config or {}
        self._durability: Durability = durability
        self._context = context
        self._clock = clock

    def config_for(self, thread_id: str, starts: Sequence[str] = ()) -> RunnableConfig:
        """The config of one run of the thread; its checkpoints bear the start ids in their metadata."""
        configurable = {**self._base.get("configurable", {}), "thread_id": thread_id}
        metadata = {
            **self._base.get("metadata", {}),
            **({STARTS: json.dumps(list(starts))} if starts else {}),
        }
        return {**self._base, "configurable": configurable, "metadata": metadata}

    def state(self, thread_id: str) -> ThreadState:
        """What the thread is, from `get_state`."""
        config = self.config_for(thread_id)
        snapshot = self._graph.get_state(config)
        if next(suspects(snapshot), None) is None:
            return thread_state(self._graph, snapshot, {})
        whole = self._graph.get_state(config, subgraphs=True)
        answers: dict[Suspect, list[Any]] = {}
        for one in suspects(whole):
            for config in _configs_of(one, thread_id):
                answers[one] = answers.get(one) or _answers(one, self._saver.get_tuple(config))
        return thread_state(self._graph, whole, answers)

    async def astate(self, thread_id: str) -> ThreadState:
        """As `state`, awaited."""
        config = self.config_for(thread_id)
        snapshot = await self._graph.aget_state(config)
        if next(suspects(snapshot), None) is None:
            return thread_state(self._graph, snapshot, {})
        whole = await self._graph.aget_state(config, subgraphs=True)
        answers: dict[Suspect, list[Any]] = {}
        for one in suspects(whole):
            for config in _configs_of(one, thread_id):
                answers[one] = answers.get(one) or _answers(one, await self._saver.aget_tuple(config))
        return thread_state(self._graph, whole, answers)

    def invoke(self, value: Any, config: RunnableConfig) -> Any:
        """Run the graph; returns what `graph.invoke` does.

        Raises:
            QuestionClosed: The question is no longer open; nothing was run.
        """
        given, config = self._given(value, config)
        try:
            return self._graph.invoke(given, config, durability=self._durability, context=self._context)
        except UnknownInterruptError as error:
            raise self._closed(error, value) from error

    async def ainvoke(self, value: Any, config: RunnableConfig) -> Any:
        """As `invoke`, awaited."""
        given, config = self._given(value, config)
        try:
            return await self._graph.ainvoke(
                given, config, durability=self._durability, context=self._context
            )
        except UnknownInterruptError as error:
            raise self._closed(error, value) from error

    def resume_value(
        self, message: Mapping[str, Any], question: Question, *, taken: Taken | None = None
    ) -> Any:
        """What `invoke` takes to give the message's answer to the question."""
        target = question.id if taken is None else taken.resume_id
        command = command_for(message, target, clock=self._clock)
        # A later question of a failed task is answered under an id that LangGraph does not list.
        return _Resume(command, target, strict=target == question.id)

    def continue_value(self) -> None:
        """What `invoke` takes to go on with unfinished work: LangGraph's None."""

    def refusal(self, question: Question, answer: JSON) -> str | None:
        """Why the answer does not fit a bare interrupt's schema, or the middleware's request, if it does not.

        LangGraph stores an answer before whoever asked has looked at it, and replays it for ever.
        """
        if question.fingerprint is not None or question.answer_schema is None:
            return None
        return violation(answer, question.answer_schema)

    @property
    def _saver(self) -> Any:
        return cast("Any", self._graph.checkpointer)

    def _given(self, value: Any, config: RunnableConfig) -> tuple[Any, RunnableConfig]:
        if not isinstance(value, _Resume):
            return value, config
        if value.strict:
            config = {**config, "configurable": private.strict(config.get("configurable", {}))}
        return value.command, config

    def _closed(self, error: UnknownInterruptError, value: Any) -> Exception:
        """The error to raise; the graph's own nodes may have raised one like it, about another graph."""
        if isinstance(value, _Resume) and value.id in error.interrupt_ids:
            return QuestionClosed("the question is no longer open")
        return error


def _configs_of(suspect: Suspect, thread_id: str) -> Iterator[RunnableConfig]:
    for namespace in private.namespaces_above(suspect.namespace):
        yield {"configurable": {"thread_id": thread_id, private.CHECKPOINT_NS: namespace}}


def _answers(suspect: Suspect, saved: CheckpointTuple | None) -> list[Any]:
    return [] if saved is None else private.answers_in(saved.pending_writes or (), suspect.task_id)
