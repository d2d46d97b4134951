"""Which parameters are taken for LangGraph's own, under annotations of every form."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Annotated, Any, Optional, Union

import pytest
from agent_wait import WaitPolicy
from langchain_core.callbacks import AsyncCallbackManagerForToolRun, CallbackManagerForToolRun, Callbacks
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import InjectedToolArg, InjectedToolCallId
from langgraph.errors import NodeError
from langgraph.prebuilt import InjectedState, InjectedStore, ToolRuntime
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from langgraph.types import StreamWriter
from langgraph_wait import LangGraphFramework, wait

if TYPE_CHECKING:
    from collections.abc import Callable

    class Elsewhere: ...


class Mine(InjectedToolArg):
    """A user's own kind."""


class MyRuntime(ToolRuntime[Any, Any]):
    """A user's own runtime."""


FRAMEWORK = LangGraphFramework()
INJECTED: list[Any] = [
    ToolRuntime,
    ToolRuntime[dict[str, Any], Any],
    MyRuntime,
    Annotated[ToolRuntime, "said"],
    Optional[ToolRuntime],  # noqa: UP045  # as some write it
    Runtime,
    Runtime[None],
    Runtime[Any] | None,
    RunnableConfig,
    Optional[RunnableConfig],  # noqa: UP045  # as above
    BaseStore,
    InMemoryStore,
    BaseStore | None,
    StreamWriter,
    NodeError,
    Callbacks,
    CallbackManagerForToolRun,
    AsyncCallbackManagerForToolRun | None,
    Annotated[dict[str, Any], InjectedState],
    Annotated[dict[str, Any], InjectedState("messages")],
    Annotated[Any, InjectedStore()],
    Annotated[str, InjectedToolCallId],
    Annotated[str, InjectedToolCallId()],
    Annotated[int, Mine],
    Annotated[int, Mine()],
    Union[Annotated[str, InjectedToolCallId], None],  # noqa: UP007  # as above
    "ToolRuntime",
    "ToolRuntime[Elsewhere, Any] | None",
    "Annotated[Elsewhere, InjectedState]",
    "langgraph.runtime.Runtime[Elsewhere]",
    "Optional[RunnableConfig]",
    "StreamWriter",
]
PUBLISHED: list[Any] = [
    int,
    str | None,
    dict[str, Any],
    Annotated[int, "units"],
    WaitPolicy,
    "Elsewhere",
    "RuntimeKind",
    "MyBaseStoreName",
    list["str"],
    None,
]


def is_injected(annotation: Any, name: str = "anything", *, keyword: bool = False) -> bool:
    kind = inspect.Parameter.KEYWORD_ONLY if keyword else inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameter = inspect.Parameter(name, kind, annotation=annotation)
    return FRAMEWORK.is_injected(parameter, annotation)


@pytest.mark.parametrize("annotation", INJECTED, ids=repr)
@pytest.mark.requirement("INJECTED-IN-PAYLOAD")
def test_an_annotation_of_langgraphs_hides_a_parameter(annotation: Any) -> None:
    assert is_injected(annotation)


@pytest.mark.parametrize("annotation", PUBLISHED, ids=repr)
def test_any_other_annotation_is_an_argument(annotation: Any) -> None:
    assert not is_injected(annotation)
    assert not is_injected(annotation, "runtime")
    assert not is_injected(annotation, "store")
    assert not is_injected(annotation, "config")


@pytest.mark.parametrize("name", ["config", "previous", "runtime", "store", "writer"])
def test_without_an_annotation_the_name_tells(name: str) -> None:
    assert is_injected(inspect.Parameter.empty, name)
    assert not is_injected(inspect.Parameter.empty, f"{name}s")
    assert is_injected(Any, name) is (name in ("previous", "runtime"))


@pytest.mark.parametrize("name", ["run_manager", "callbacks"])
def test_what_langchain_takes_out_of_every_schema_is_hidden(name: str) -> None:
    assert is_injected(int, name)


def test_an_entrypoints_previous_value_is_hidden_and_a_tools_argument_of_that_name_is_not() -> None:
    assert is_injected(dict[str, Any], "previous", keyword=True)
    assert not is_injected(dict[str, Any], "previous")


def added_to(function: Callable[..., Any]) -> inspect.Parameter | None:
    return FRAMEWORK.added_parameter(inspect.signature(function, eval_str=True))


def test_the_runtime_is_asked_for_once() -> None:
    def without(amount: int) -> None: ...

    def has_one(amount: int, rt: ToolRuntime[None, Any]) -> None: ...

    def has_one_of_some_kind(amount: int, rt: ToolRuntime[Any, Any] | None = None) -> None: ...

    added = added_to(without)
    assert added is not None
    assert (added.name, added.annotation, added.default) == ("agent_wait_runtime", ToolRuntime, None)
    assert added.kind is inspect.Parameter.KEYWORD_ONLY
    assert added_to(has_one) is None
    assert added_to(has_one_of_some_kind) is None
    assert FRAMEWORK.added_parameter(inspect.signature(has_one)) is None


@pytest.mark.requirement("WRAPPER-HIDES-SIGNATURE")
def test_a_waiting_function_has_its_own_signature_and_one_keyword_more() -> None:
    @wait
    def pay(amount: int, runtime: Runtime[None], *args: str, note: str = "", **rest: int) -> str:
        """Pay."""
        return ""

    signature = inspect.signature(pay)
    assert list(signature.parameters) == ["amount", "runtime", "args", "note", "agent_wait_runtime", "rest"]
    assert signature.return_annotation is str
    assert signature.parameters["runtime"].annotation == Runtime[None]
    assert (pay.__name__, pay.__doc__) == ("pay", "Pay.")
