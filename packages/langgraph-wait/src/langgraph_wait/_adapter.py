"""`LangGraphAdapter`: a compiled graph, as `WaitPublisher` drives it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent_wait import JSON, Clock, Question, QuestionClosed, Taken, ThreadState
from langchain_core.runnables import RunnableConfig
from langgraph.errors import UnknownInterruptError
from langgraph.pregel import Pregel
from langgraph.types import Command, Durability, StateSnapshot

from langgraph_wait import _private as private
from langgraph_wait._resume import command_for
from langgraph_wait._schema import violation
from langgraph_wait._state import STARTS, FailedTask, failed_tasks, thread_state


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
        if next(failed_tasks(snapshot), None) is None:
            return thread_state(self._graph, snapshot, {})
        snapshot = self._graph.get_state(config, subgraphs=True)
        answers = {
            failed.task.id: _answers(failed, self._saver.get_tuple(_config_of(failed, snapshot)))
            for failed in failed_tasks(snapshot)
        }
        return thread_state(self._graph, snapshot, answers)

    async def astate(self, thread_id: str) -> ThreadState:
        """As `state`, awaited."""
        config = self.config_for(thread_id)
        snapshot = await self._graph.aget_state(config)
        if next(failed_tasks(snapshot), None) is None:
            return thread_state(self._graph, snapshot, {})
        snapshot = await self._graph.aget_state(config, subgraphs=True)
        answers = {
            failed.task.id: _answers(failed, await self._saver.aget_tuple(_config_of(failed, snapshot)))
            for failed in failed_tasks(snapshot)
        }
        return thread_state(self._graph, snapshot, answers)

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
        return self._graph.checkpointer

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


def _config_of(failed: FailedTask, snapshot: StateSnapshot) -> RunnableConfig:
    thread_id = snapshot.config.get("configurable", {})["thread_id"]
    return RunnableConfig(
        configurable={"thread_id": thread_id, private.CHECKPOINT_NS: failed.graph_namespace}
    )


def _answers(failed: FailedTask, saved: Any) -> list[Any]:
    return [] if saved is None else private.answers_in(saved.pending_writes or (), failed.task.id)
