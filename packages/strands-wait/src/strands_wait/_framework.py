"""Strands as agent-wait sees it."""

import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ForwardRef, cast

from agent_wait import JSON, Framework, WaitError, convert_edits, schema_for
from strands import ToolContext
from strands.interrupt import InterruptException

from strands_wait import _results
from strands_wait._call import NOTHING, call_in, context_in

_SPELLED = re.compile(r"\bToolContext\b")
_CONTEXT = inspect.Parameter(
    "tool_context", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=ToolContext
)


class StrandsFramework(Framework):
    """Tools of Strands agents, alone, in a Graph or in a Swarm.

    A run that parks raises Strands' own `InterruptException`, so an `except Exception` around a wait swallows
    it. The tool decorator needs `context=True`, or `context="name"` for a context parameter of the author's.
    """

    name = "strands"
    hidden_params = ("agent", "tool_context")

    def interrupt(self, value: dict[str, JSON], call_args: Mapping[str, Any]) -> Any:
        """Raise Strands' interrupt, or return the newest answer to this wait.

        Raises:
            WaitError: There is no tool call around it.
        """
        call = call_in(call_args.values())
        if call is None:
            raise WaitError(
                "a wait needs the ToolContext of a Strands tool: put @tool(context=True) above @wait; what "
                "a tool calls is given the tool's own, tool_context=tool_context"
            )
        ask = cast("dict[str, Any]", value["__ask__"])
        if ask["attempt"] == 1 and (answer := call.take(ask["fingerprint"])) is not NOTHING:
            return answer
        return call.park(value)

    def interrupts_in(self, result: Any) -> list[tuple[str, Any]]:
        """See the module `_results`."""
        return _results.interrupts_in(result)

    def current_thread_id(self, call_args: Mapping[str, Any]) -> str:
        """`invocation_state["thread_id"]`, which `StrandsAdapter` sets, or the agent's session id.

        Strands does not keep the invocation state: whoever passes it has to pass it on every call.

        Raises:
            WaitError: There is no run.
        """
        context = context_in(call_args.values())
        if context is None:
            raise WaitError("there is no thread: the wait has no ToolContext")
        named = context.invocation_state.get("thread_id")
        return named if isinstance(named, str) and named else context.agent.session_id

    def is_injected(self, parameter: inspect.Parameter, annotation: Any) -> bool:
        """A `ToolContext` by its annotation; `tool_context` and `agent` by their names."""
        return parameter.name in self.hidden_params or _is_tool_context(annotation)

    def added_parameter(self, signature: inspect.Signature) -> inspect.Parameter | None:
        """`tool_context`, which Strands injects by its name, unless the function has a context."""
        has_one = any(
            p.name == _CONTEXT.name or _is_tool_context(p.annotation) for p in signature.parameters.values()
        )
        return None if has_one else _CONTEXT

    def is_context(self, value: object) -> bool:
        """A `ToolContext`; a model may send anything by its name."""
        return isinstance(value, ToolContext)

    def call_identity(self, question: JSON, call_args: Mapping[str, Any]) -> JSON:
        """Id of the message that holds the call, tool-use id, and how many equal waits the call had."""
        call = call_in(call_args.values())
        return None if call is None else call.identity(question)

    def call_failed(
        self, error: Exception, question: JSON, identity: JSON, call_args: Mapping[str, Any]
    ) -> None:
        """Let the next equal wait of this tool call be a retry of this one."""
        call = call_in(call_args.values())
        if call is not None and not isinstance(error, InterruptException):
            call.retried(question, cast("list[Any]", identity)[-1])

    def answered(self, value: dict[str, JSON], call_args: Mapping[str, Any]) -> bool:
        """Whether Strands has an answer to this wait."""
        call, ask = call_in(call_args.values()), cast("dict[str, Any]", value["__ask__"])
        return call is not None and call.answer(ask["fingerprint"]) is not NOTHING

    def convert_edits(self, function: Callable[..., Any], args: Mapping[str, JSON]) -> Mapping[str, Any]:
        """By pydantic, as Strands' tools are."""
        return convert_edits(function, args)

    def schema_for(self, function: Callable[..., Any]) -> JSON | None:
        """By pydantic, as Strands' tools have it."""
        return schema_for(function)


def _is_tool_context(annotation: Any) -> bool:
    if isinstance(annotation, (str, ForwardRef)):
        text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        return _SPELLED.search(text) is not None
    if typing.get_origin(annotation) in (Annotated, typing.Union, types.UnionType):
        return any(_is_tool_context(part) for part in typing.get_args(annotation))
    kind: Any = typing.get_origin(annotation) or annotation
    return isinstance(kind, type) and issubclass(kind, ToolContext)
