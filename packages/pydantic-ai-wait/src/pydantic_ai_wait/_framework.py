"""Pydantic AI as agent-wait sees it."""

import inspect
import re
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ForwardRef, cast

from agent_wait import JSON, Framework, WaitError, convert_edits, schema_for
from pydantic_ai import ApprovalRequired, CallDeferred, RunContext

from pydantic_ai_wait import _results
from pydantic_ai_wait._call import ToolCall, call_of
from pydantic_ai_wait._record import NOTHING

_SPELLED = re.compile(r"\bRunContext\b")
_Kind = inspect.Parameter


class PydanticAIFramework(Framework):
    """Tools of Pydantic AI agents and toolsets.

    A run that parks raises `ApprovalRequired`, so the agent needs `DeferredToolRequests` among its output
    types; an `except Exception` around a wait swallows it. `tool_plain` cannot carry a wait, since the
    tool's context is the only way to tell which call was answered; `@agent.tool` can, whether or not the
    function has a context parameter of its own.
    """

    name = "pydantic-ai"

    def interrupt(self, value: dict[str, JSON], call_args: Mapping[str, Any]) -> Any:
        """Raise `ApprovalRequired`, or return the answer that this run of the tool call brings.

        A call that was approved without an answer of ours (`approvals={id: True}`) is an approval.

        Raises:
            WaitError: There is no tool call around it.
        """
        call = _call(call_args)
        if call is None:
            raise WaitError(
                "a wait needs a tool call of Pydantic AI around it: register the function with @agent.tool, "
                "Agent(tools=[...]) or a toolset; what a tool calls is given the tool's RunContext first"
            )
        ask = cast("dict[str, Any]", value["__ask__"])
        if ask["attempt"] == 1 and (reply := call.take(ask["fingerprint"])) is not NOTHING:
            return reply
        raise call.park(value)

    def interrupts_in(self, result: Any) -> list[tuple[str, Any]]:
        """See the module `_results`."""
        return _results.interrupts_in(result)

    def current_thread_id(self, call_args: Mapping[str, Any]) -> str:
        """`deps.thread_id`, `deps["thread_id"]`, or the conversation id, which `PydanticAIAdapter` sets.

        Raises:
            WaitError: There is no run, or none of these.
        """
        context = _context(call_args)
        if context is None:
            raise WaitError("there is no thread: the wait has no RunContext")
        deps: Any = context.deps
        named: Any = (
            cast("Mapping[str, Any]", deps).get("thread_id")
            if isinstance(deps, Mapping)
            else getattr(deps, "thread_id", None)
        )
        thread_id = named if isinstance(named, str) and named else context.conversation_id
        if not thread_id:
            raise WaitError(
                "there is no thread: run the agent with conversation_id=, or deps with a thread_id"
            )
        return thread_id

    def is_injected(self, parameter: inspect.Parameter, annotation: Any) -> bool:
        """A `RunContext`, by its annotation."""
        del parameter
        return _is_run_context(annotation)

    def added_parameter(self, signature: inspect.Signature) -> inspect.Parameter | None:
        """A `RunContext`, which Pydantic AI takes first, unless the function has one."""
        parameters = list(signature.parameters.values())
        if any(_is_run_context(p.annotation) for p in parameters):
            return None
        is_strict = any(p.kind is _Kind.POSITIONAL_ONLY for p in parameters)
        kind = _Kind.POSITIONAL_ONLY if is_strict else _Kind.POSITIONAL_OR_KEYWORD
        return _Kind("agent_wait_context", kind, annotation=RunContext[Any])

    def is_context(self, value: object) -> bool:
        """A `RunContext`; anything else in its place is an argument of a direct call."""
        return isinstance(value, RunContext)

    def call_identity(self, question: JSON, call_args: Mapping[str, Any]) -> JSON:
        """Run id and time of the response that made the call, its id, and how many equal waits it had."""
        call = _call(call_args)
        return None if call is None else call.identity(question)

    def call_failed(
        self, error: Exception, question: JSON, identity: JSON, call_args: Mapping[str, Any]
    ) -> None:
        """Let the next equal wait of this tool call be a retry of this one."""
        call = _call(call_args)
        if call is not None and not isinstance(error, (ApprovalRequired, CallDeferred)):
            call.retried(question, cast("list[Any]", identity)[-1])

    def answered(self, value: dict[str, JSON], call_args: Mapping[str, Any]) -> bool:
        """Whether this run of the tool call brings an answer for the wait."""
        call, ask = _call(call_args), cast("dict[str, Any]", value["__ask__"])
        return call is not None and call.answer(ask["fingerprint"]) is not NOTHING

    def asked_at(self, call_args: Mapping[str, Any]) -> float | None:
        """When the model made the call; for a later wait of it, when the one before was answered."""
        call = _call(call_args)
        if call is None or call.has_taken:
            return None if call is None else call.answered_at()
        return None if call.response is None else call.response.timestamp.timestamp()

    def convert_edits(self, function: Callable[..., Any], args: Mapping[str, JSON]) -> Mapping[str, Any]:
        """By pydantic, as Pydantic AI's tools are."""
        return convert_edits(function, args)

    def schema_for(self, function: Callable[..., Any]) -> JSON | None:
        """By pydantic, as Pydantic AI's tools have it."""
        return schema_for(function)


def _call(call_args: Mapping[str, Any]) -> ToolCall | None:
    return call_of(_context(call_args))


def _context(call_args: Mapping[str, Any]) -> RunContext[Any] | None:
    return next(
        (cast("RunContext[Any]", value) for value in call_args.values() if isinstance(value, RunContext)),
        None,
    )


def _is_run_context(annotation: Any) -> bool:
    if isinstance(annotation, (str, ForwardRef)):
        text = annotation if isinstance(annotation, str) else annotation.__forward_arg__
        return _SPELLED.search(text) is not None
    if typing.get_origin(annotation) in (Annotated, typing.Union, types.UnionType):
        return any(_is_run_context(part) for part in typing.get_args(annotation))
    kind: Any = typing.get_origin(annotation) or annotation
    return isinstance(kind, type) and issubclass(kind, RunContext)
