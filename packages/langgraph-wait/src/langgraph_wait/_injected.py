"""Which parameters LangGraph and LangChain fill themselves, in tools, nodes and entrypoints."""

import inspect
import re
import types
import typing
from typing import Annotated, Any, ForwardRef

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager, Callbacks
from langchain_core.callbacks.manager import BaseRunManager
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolArg
from langgraph.errors import NodeError
from langgraph.prebuilt import ToolRuntime
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import StreamWriter

_CLASSES = (
    ToolRuntime,
    Runtime,
    BaseStore,
    BaseCallbackHandler,
    BaseCallbackManager,
    BaseRunManager,
    InjectedToolArg,
    NodeError,
)
_UNANNOTATED = ("config", "previous", "runtime", "store", "writer")
_WHATEVER = ("previous", "runtime")
_SPELLED = re.compile(
    r"\b(RunnableConfig|StreamWriter|ToolRuntime|Runtime|BaseStore|Injected\w+|NodeError|Callbacks|\w*CallbackManager\w*|\w*RunManager)\b"
)

ALWAYS_HIDDEN = ("run_manager", "callbacks")
"""LangChain takes these two out of every tool's schema, whatever their annotation."""

RUNTIME = inspect.Parameter(
    "agent_wait_runtime", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=ToolRuntime
)
"""The one way in which a tool learns the id of its call."""


def is_injected(parameter: inspect.Parameter, annotation: Any) -> bool:
    """Whether the parameter is filled by its annotation or, without one, by its name.

    `previous`, which an entrypoint is given whatever its annotation, counts when it is keyword-only, as
    entrypoints have it; a tool may well have an argument of its own by that name.
    """
    if parameter.name in ALWAYS_HIDDEN:
        return True
    if annotation is inspect.Parameter.empty:
        return parameter.name in _UNANNOTATED
    if annotation is Any:
        return parameter.name in _WHATEVER
    if parameter.name == "previous" and parameter.kind is inspect.Parameter.KEYWORD_ONLY:
        return True
    return _is_injected_type(annotation)


def is_tool_runtime(annotation: Any) -> bool:
    """Whether a parameter so annotated is given a `ToolRuntime`."""
    if isinstance(annotation, (str, ForwardRef)):
        return re.search(r"\bToolRuntime\b", _text(annotation)) is not None
    if typing.get_origin(annotation) in (Annotated, typing.Union, types.UnionType):
        return any(is_tool_runtime(part) for part in typing.get_args(annotation))
    origin = typing.get_origin(annotation) or annotation
    return isinstance(origin, type) and issubclass(origin, ToolRuntime)


def _is_injected_type(annotation: Any) -> bool:
    if isinstance(annotation, (str, ForwardRef)):
        return _SPELLED.search(_text(annotation)) is not None
    if annotation is RunnableConfig or annotation in (StreamWriter, Callbacks):
        return True
    origin: Any = typing.get_origin(annotation)
    if origin is Annotated:
        base, *marks = typing.get_args(annotation)
        return _is_injected_type(base) or any(_is_mark(mark) for mark in marks)
    if origin in (typing.Union, types.UnionType):
        return any(_is_injected_type(member) for member in typing.get_args(annotation))
    kind: Any = origin or annotation
    return isinstance(kind, type) and issubclass(kind, _CLASSES)


def _is_mark(mark: Any) -> bool:
    return isinstance(mark, InjectedToolArg) or (isinstance(mark, type) and issubclass(mark, InjectedToolArg))


def _text(annotation: str | ForwardRef) -> str:
    return annotation if isinstance(annotation, str) else annotation.__forward_arg__
