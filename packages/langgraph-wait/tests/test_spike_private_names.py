"""The private names of LangGraph that keyed answers lean on: a release that moves one fails here.

There is no public way to a task's answers, and LangGraph routes them by call order alone
(https://github.com/langchain-ai/langgraph/issues/6533).
"""

import inspect
import weakref
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph._internal import _constants as constants
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import CachePolicy, Command, RetryPolicy, _interrupt_id, interrupt
from langgraph_wait import _private as private
from lg_host import config_of
from lg_shapes import Chat, Graph


class Log(TypedDict, total=False):
    done: str


def one_node(work: Any, *, cache: Any = None, **options: Any) -> Graph:
    builder: Any = StateGraph(Log)
    builder.add_node("work", work, **options)
    builder.add_edge(START, "work")
    return builder.compile(checkpointer=InMemorySaver(), cache=cache)


def configurable() -> dict[str, Any]:
    return get_config().get("configurable", {})


def scratchpad() -> Any:
    return configurable()["__pregel_scratchpad"]


@pytest.mark.parametrize("name", private.THEIR_NAMES)
def test_langgraph_still_calls_it_that(name: str) -> None:
    assert getattr(constants, name) == private.THEIR_NAMES[name]


def test_all_of_them_are_there() -> None:
    assert private.KEYED
    assert list(inspect.signature(_interrupt_id).parameters) == ["ns", "answered"]


def test_a_task_has_a_scratchpad_with_its_answers_its_counter_and_its_writes() -> None:
    seen: list[Any] = []

    def work(_: Log) -> Log:
        pad = private.scratchpad_in(configurable())
        assert pad is not None
        seen.append((list(pad.resume), pad.get_null_resume(False), private.pending_writes(pad)))
        assert weakref.ref(pad.get_null_resume)() is pad.get_null_resume
        interrupt("go on?")
        return {}

    graph = one_node(work)
    [asked] = graph.invoke({}, config_of())["__interrupt__"]
    graph.invoke(Command(resume={asked.id: "yes"}), config_of())
    assert seen[0] == ([], None, ())
    assert seen[1][:2] == (["yes"], None)
    [(_, channel, parked)] = seen[1][2]
    assert (channel, [one.id for one in parked]) == ("__interrupt__", [asked.id])


def test_the_writes_of_a_step_are_in_a_closure() -> None:
    seen: list[Any] = []

    def work(_: Log) -> Log:
        seen.append(scratchpad().get_null_resume.__code__.co_freevars)
        return {}

    one_node(work).invoke({}, config_of())
    assert "pending_writes" in seen[0]


def test_the_id_of_a_question_is_made_of_the_tasks_namespace_and_its_answers() -> None:
    names: list[str] = []

    def work(_: Log) -> Log:
        names.append(configurable()["checkpoint_ns"])
        interrupt("first?")
        interrupt("second?")
        return {}

    graph = one_node(work)
    [first] = graph.invoke({}, config_of())["__interrupt__"]
    [second] = graph.invoke(Command(resume={first.id: 1}), config_of())["__interrupt__"]
    assert [first.id, second.id] == [_interrupt_id(names[0], 0), _interrupt_id(names[0], 1)]


def test_the_tools_of_one_tool_node_share_their_answers() -> None:
    seen: list[Any] = []

    @tool
    def look(number: int) -> str:
        """Look."""
        seen.append((scratchpad().resume, scratchpad().get_null_resume))
        return ""

    calls: Any = [{"name": "look", "args": {"number": n}, "id": f"call_{n}"} for n in range(2)]
    builder: Any = StateGraph(Chat)
    builder.add_node("tools", ToolNode([look]))
    builder.add_edge(START, "tools")
    builder.compile(checkpointer=InMemorySaver()).invoke(
        {"messages": [AIMessage("", tool_calls=calls)]}, config_of()
    )
    assert seen[0][0] is seen[1][0]
    assert seen[0][1] is seen[1][1]


def test_a_retry_of_a_node_keeps_the_answers_and_counts_afresh() -> None:
    seen: list[Any] = []

    def work(_: Log) -> Log:
        seen.append((scratchpad().resume, scratchpad().get_null_resume, scratchpad().interrupt_counter))
        if len(seen) < 2:
            raise ConnectionError
        return {}

    policy = RetryPolicy(initial_interval=0, jitter=False, max_attempts=2)
    one_node(work, retry_policy=policy).invoke({}, config_of())
    assert seen[0][0] is seen[1][0]
    assert seen[0][1] is seen[1][1]
    assert seen[0][2] is not seen[1][2]


def test_a_run_is_told_what_it_was_resumed_with_by_id() -> None:
    seen: list[Any] = []

    def work(_: Log) -> Log:
        seen.append(dict(private.resume_map(configurable())))
        interrupt("go on?")
        return {}

    graph = one_node(work)
    [asked] = graph.invoke({}, config_of())["__interrupt__"]
    graph.invoke(Command(resume={asked.id: "yes"}), config_of())
    assert seen == [{}, {asked.id: "yes"}]


@pytest.mark.parametrize("cached", [False, True])
def test_a_node_can_be_seen_to_be_cached(cached: bool) -> None:
    seen: list[bool] = []

    def work(_: Log) -> Log:
        seen.append(private.is_cached(configurable()))
        return {}

    policy = CachePolicy() if cached else None
    one_node(work, cache=InMemoryCache(), cache_policy=policy).invoke({}, config_of())
    assert seen == [cached]


def test_what_is_not_called_by_a_graph_is_not_cached() -> None:
    assert private.is_cached({}) is False


def test_what_has_no_checkpointer_can_be_seen() -> None:
    seen: list[bool] = []

    def work(_: Log) -> Log:
        seen.append(private.has_checkpointer(configurable()))
        return {}

    builder: Any = StateGraph(Log)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    builder.compile().invoke({})
    builder.compile(checkpointer=InMemorySaver()).invoke({}, config_of())
    assert seen == [False, True]
