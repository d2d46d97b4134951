"""LangGraph as agent-wait sees it."""

import inspect
import json
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from agent_wait import JSON, Clock, Framework, SystemClock, WaitError, convert_edits, schema_for
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt import ToolRuntime
from langgraph.types import interrupt

from langgraph_wait import _injected, _private, _results
from langgraph_wait._task import NOTHING, current_task, run_config

_log = logging.getLogger("langgraph_wait")
_UUID_EPOCH = datetime(1582, 10, 15, tzinfo=UTC)


class LangGraphFramework(Framework):
    """Nodes, tools, `create_agent`, subgraphs and entrypoints of LangGraph 1.2.

    A run that parks raises LangGraph's own interrupt, so the graph needs a checkpointer; an `except
    Exception` around a wait swallows it.

    Args:
        clock: For answers that LangGraph was given without a time.
    """

    name = "langgraph"
    hidden_params = _injected.ALWAYS_HIDDEN

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self._warned: set[str] = set()

    def interrupt(self, value: dict[str, JSON], call_args: Mapping[str, Any]) -> Any:
        """Raise LangGraph's interrupt, or return the newest answer that names this call.

        Raises:
            WaitError: There is no run, nothing could resume it, or its node is cached.
        """
        task = current_task(self._clock)
        self._refuse_what_cannot_wait()
        if task is None:
            return interrupt(value)
        ask: Any = value["__ask__"]
        source: Any = value["__source__"]
        function: str | None = source and source.get("function")
        if function is not None and task.shared(_tool_call_id(call_args)):
            self._warn_once(function, "it waits beside other calls of one ToolNode task")
        answer = task.answer(ask)
        if answer is NOTHING:
            raise task.park(value)
        if function is not None and task.is_old(ask["fingerprint"]):
            self._warn_once(function, "a later question of its task was answered")
        return answer

    def interrupts_in(self, result: Any) -> list[tuple[str, Any]]:
        """See the module `_results`."""
        return _results.interrupts_in(result)

    def current_thread_id(self, call_args: Mapping[str, Any]) -> str:
        """`configurable.thread_id` of the run.

        Raises:
            WaitError: There is no run, or it has no thread.
        """
        del call_args
        thread_id = run_config().get("thread_id")
        if thread_id is None:
            raise WaitError('there is no thread: run the graph with {"configurable": {"thread_id": ...}}')
        return str(thread_id)

    def is_injected(self, parameter: inspect.Parameter, annotation: Any) -> bool:
        """By annotation, then by name: what tools, nodes and entrypoints are given."""
        return _injected.is_injected(parameter, annotation)

    def added_parameter(self, signature: inspect.Signature) -> inspect.Parameter | None:
        """A keyword for the `ToolRuntime`, which nodes ignore, unless the function has one."""
        has_one = any(_injected.is_tool_runtime(p.annotation) for p in signature.parameters.values())
        return None if has_one else _injected.RUNTIME

    def is_context(self, value: object) -> bool:
        """A `ToolRuntime`; a model may send anything by its name."""
        return isinstance(value, ToolRuntime)

    def call_identity(self, question: JSON, call_args: Mapping[str, Any]) -> JSON:
        """Tool-call id or null, and how many equal calls this attempt of the task has had before."""
        task, tool_call_id = current_task(self._clock), _tool_call_id(call_args)
        return [
            tool_call_id,
            0 if task is None else task.count((tool_call_id, json.dumps(question, sort_keys=True))),
        ]

    def call_failed(
        self, error: Exception, question: JSON, identity: JSON, call_args: Mapping[str, Any]
    ) -> None:
        """Let the next equal call of this attempt be a retry of this one."""
        task = current_task(self._clock)
        if task is None or isinstance(error, GraphBubbleUp) or not isinstance(identity, list):
            return
        number: Any = identity[1]
        task.retried((_tool_call_id(call_args), json.dumps(question, sort_keys=True)), number)

    def answered(self, value: dict[str, JSON], call_args: Mapping[str, Any]) -> bool:
        """Whether the task holds an answer that names this call."""
        del call_args
        task, ask = current_task(self._clock), value["__ask__"]
        return task is not None and isinstance(ask, dict) and task.has_answers() and task.is_answered(ask)

    def call_scope(self, call_args: Mapping[str, Any]) -> JSON:
        """The checkpoint namespace, which names the task."""
        del call_args
        return run_config().get(_private.CHECKPOINT_NS)

    def asked_at(self, call_args: Mapping[str, Any]) -> float | None:
        """When the task was given its newest answer, else when its step began; the same on every re-run."""
        del call_args
        task = current_task(self._clock)
        if task is not None and task.has_answers():
            return task.newest_answer_at()
        configurable = run_config()
        checkpoints: Mapping[str, str] = configurable.get(_private.CHECKPOINT_MAP) or {}
        above = _private.namespaces_above(str(configurable.get(_private.CHECKPOINT_NS)))
        nearest = next((checkpoints[namespace] for namespace in above if namespace in checkpoints), None)
        return None if nearest is None else _time_of(nearest)

    def convert_edits(self, function: Callable[..., Any], args: Mapping[str, JSON]) -> Mapping[str, Any]:
        """By pydantic, as LangChain's tools are."""
        return convert_edits(function, args)

    def schema_for(self, function: Callable[..., Any]) -> JSON | None:
        """By pydantic, as LangChain's tools have it."""
        return schema_for(function)

    def _refuse_what_cannot_wait(self) -> None:
        configurable = run_config()
        if not configurable:
            raise WaitError(
                "a wait needs a LangGraph run around it; a thread of your own is started with "
                "contextvars.copy_context().run"
            )
        if not _private.has_checkpointer(configurable):
            raise WaitError("nothing could resume this wait: compile the graph with a checkpointer")
        if _private.is_cached(configurable):
            raise WaitError(
                "the node or task has a cache_policy, so that one approval would serve every thread "
                "(https://github.com/langchain-ai/langgraph/issues/7605): take it off"
            )

    def _warn_once(self, function: str, why: str) -> None:
        if function not in self._warned:
            self._warned.add(function)
            _log.warning(
                "%s: %s. Whatever ran in the task before runs again, approved bodies included, with the same "
                "idempotency_key. Give each waiting call its own task: create_agent does, or one Send each.",
                function,
                why,
            )


def _tool_call_id(call_args: Mapping[str, Any]) -> str | None:
    return next((value.tool_call_id for value in call_args.values() if isinstance(value, ToolRuntime)), None)


def _time_of(checkpoint_id: str) -> float | None:
    """Seconds since the epoch at which a checkpoint was made; its id is a UUIDv6."""
    try:
        uuid = UUID(checkpoint_id)
    except ValueError:
        return None
    if uuid.version != 6:
        return None
    ticks = (uuid.time_low << 28) | (uuid.time_mid << 12) | (uuid.time_hi_version & 0x0FFF)
    return (_UUID_EPOCH + timedelta(microseconds=ticks // 10)).timestamp()
