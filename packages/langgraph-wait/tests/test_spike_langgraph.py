"""What LangGraph itself does, where the package leans on it or guards against it.

Each names the upstream thread where there is one. A test that fails here says that LangGraph has changed, and
that the guard may be simplified or must be looked at.
"""

import threading
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import UnknownInterruptError
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import CachePolicy, Command, interrupt
from langgraph_wait import wait
from lg_host import APPROVE, Host, config_of
from lg_shapes import Chat, Graph, Saver


def keep(left: list[Any], right: list[Any]) -> list[Any]:
    return left + right


class Log(TypedDict, total=False):
    got: Annotated[list[Any], keep]


def one_node(work: Any, saver: Saver | None = None, *, cache: Any = None, **options: Any) -> Graph:
    builder: Any = StateGraph(Log)
    builder.add_node("work", work, **options)
    builder.add_edge(START, "work")
    return builder.compile(checkpointer=saver or InMemorySaver(), cache=cache)


def two_questions(_: Log) -> Log:
    return {"got": [interrupt("first?"), interrupt("second?")]}


def ask_of(result: Any) -> Any:
    [asked] = result["__interrupt__"]
    return asked


STRICT: Any = {"configurable": {"thread_id": "thread-1", "__pregel_strict_resume": True}}


def test_plain_interrupts_of_one_tool_node_are_answered_by_call_order() -> None:
    # https://github.com/langchain-ai/langgraph/issues/6533
    resumed, second_was_there = threading.Event(), threading.Event()

    @tool
    def asks(name: str) -> str:
        """Ask."""
        if name == "one" and resumed.is_set():
            assert second_was_there.wait(10)
        try:
            return f"{name}={interrupt(name)}"
        finally:
            if name == "two" and resumed.is_set():
                second_was_there.set()

    calls: Any = [{"name": "asks", "args": {"name": name}, "id": name} for name in ("one", "two")]
    builder: Any = StateGraph(Chat)
    builder.add_node("tools", ToolNode([asks]))
    builder.add_edge(START, "tools")
    graph = builder.compile(checkpointer=InMemorySaver())
    asked = ask_of(graph.invoke({"messages": [AIMessage("", tool_calls=calls)]}, config_of()))
    assert asked.value == "one"
    resumed.set()
    still = ask_of(graph.invoke(Command(resume={asked.id: "for one"}), config_of()))
    # "two" has taken the answer to "one", which is asked again.
    assert still.value == "one"


def test_a_node_runs_again_from_its_start_for_each_answer() -> None:
    # https://github.com/langchain-ai/langgraph/issues/6208
    runs: list[int] = []

    def work(_: Log) -> Log:
        runs.append(1)
        return two_questions({})

    graph = one_node(work)
    asked = ask_of(graph.invoke({"got": []}, config_of()))
    asked = ask_of(graph.invoke(Command(resume={asked.id: 1}), config_of()))
    graph.invoke(Command(resume={asked.id: 2}), config_of())
    assert len(runs) == 3


def test_a_value_without_an_id_answers_the_next_question_too() -> None:
    # https://github.com/langchain-ai/langgraph/issues/8837
    graph = one_node(two_questions)
    graph.invoke({"got": []}, config_of())
    graph.invoke(Command(resume="for the first"), config_of())
    assert graph.invoke(None, config_of())["got"] == ["for the first", "for the first"]


def test_a_value_without_an_id_may_serve_a_wait_of_a_subgraphs_next_node() -> None:
    # https://github.com/langchain-ai/langgraph/issues/8837: the value is kept above the subgraph, and there a
    # value that was taken looks like a fresh one. `resume_command` never sends such a value.
    ran: list[int] = []
    pay = wait(ran.append)
    inner: Any = StateGraph(Log)
    inner.add_node("a", lambda _: {"got": [pay(1)]})
    inner.add_node("b", lambda _: {"got": [pay(2)]})
    inner.add_edge(START, "a")
    inner.add_edge("a", "b")
    graph = one_node(inner.compile())
    graph.invoke({"got": []}, config_of())
    graph.invoke(Command(resume=APPROVE), config_of())
    assert ran == [1]
    graph.invoke(None, config_of())
    assert ran == [1, 2]


def test_an_unknown_id_runs_the_node_again_and_is_told_of_only_under_strict() -> None:
    # https://github.com/langchain-ai/langgraph/issues/8836
    runs: list[int] = []

    def work(_: Log) -> Log:
        runs.append(1)
        return {"got": [interrupt("?")]}

    graph = one_node(work)
    graph.invoke({"got": []}, config_of())
    graph.invoke(Command(resume={"ab" * 16: 1}), config_of())
    assert len(runs) == 2
    with pytest.raises(UnknownInterruptError) as raised:
        graph.invoke(Command(resume={"ab" * 16: 1}), STRICT)
    assert (raised.value.reason, raised.value.interrupt_ids) == ("not_pending", ("ab" * 16,))
    assert len(runs) == 2


def test_an_answer_to_a_thread_that_never_existed_starts_the_graph_unless_strict() -> None:
    # https://github.com/langchain-ai/agent-chat-ui/issues/85
    runs: list[int] = []

    def work(_: Log) -> Log:
        runs.append(1)
        return {}

    graph = one_node(work)
    with pytest.raises(UnknownInterruptError):
        graph.invoke(Command(resume={"ab" * 16: 1}), STRICT)
    assert runs == []
    assert graph.get_state(config_of()).created_at is None
    graph.invoke(Command(resume={"ab" * 16: 1}), config_of())
    assert graph.get_state(config_of()).created_at is not None


def test_the_first_questions_answer_sent_again_answers_the_second_unless_strict() -> None:
    # https://github.com/langchain-ai/langgraph/issues/7780
    graph = one_node(two_questions)
    first = ask_of(graph.invoke({"got": []}, config_of()))
    graph.invoke(Command(resume={first.id: "A"}), config_of())
    with pytest.raises(UnknownInterruptError):
        graph.invoke(Command(resume={first.id: "A"}), STRICT)
    assert graph.invoke(Command(resume={first.id: "A"}), config_of())["got"] == ["A", "A"]


def test_an_answer_whose_node_raised_is_replayed_for_ever() -> None:
    # https://github.com/langchain-ai/langgraph/issues/6663
    def work(_: Log) -> Log:
        return {"got": [int(interrupt("a number?"))]}

    graph = one_node(work)
    asked = ask_of(graph.invoke({"got": []}, config_of()))
    for answer in ("abc", "5"):
        with pytest.raises(ValueError, match="abc"):
            graph.invoke(Command(resume={asked.id: answer}), config_of())
    assert [one.id for one in graph.get_state(config_of()).interrupts] == [asked.id]


def test_after_a_failure_at_a_later_question_its_listed_id_takes_no_answer() -> None:
    # The scratchpad takes an answer under the id of the task's first question or of its next one.
    failures = [RuntimeError("after the second")]

    def work(_: Log) -> Log:
        interrupt("first?")
        second = interrupt("second?")
        if failures:
            raise failures.pop()
        return {"got": [second]}

    graph = one_node(work)
    first = ask_of(graph.invoke({"got": []}, config_of()))
    second = ask_of(graph.invoke(Command(resume={first.id: 1}), config_of()))
    with pytest.raises(RuntimeError):
        graph.invoke(Command(resume={second.id: "old"}), config_of())
    assert [one.id for one in graph.get_state(config_of()).interrupts] == [second.id]
    assert graph.invoke(Command(resume={second.id: "new"}), config_of())["got"] == ["old"]


def test_an_input_for_a_parked_thread_throws_its_question_away() -> None:
    # https://github.com/langchain-ai/agent-chat-ui/issues/287
    graph = one_node(two_questions)
    asked = ask_of(graph.invoke({"got": []}, config_of()))
    again = ask_of(graph.invoke({"got": []}, config_of()))
    assert asked.id != again.id


def test_state_changed_past_a_parked_thread_hides_its_question() -> None:
    graph = one_node(two_questions)
    graph.invoke({"got": []}, config_of())
    graph.update_state(config_of(), {"got": ["edited"]})
    snapshot = graph.get_state(config_of())
    assert snapshot.interrupts == ()
    assert "work" not in {task.name for task in snapshot.tasks if task.interrupts}


@pytest.mark.parametrize("lost", [{}])
def test_an_empty_object_without_an_id_is_lost(lost: dict[str, Any]) -> None:
    # https://github.com/langchain-ai/langgraph/issues/7034
    graph = one_node(lambda _: {"got": [interrupt("?")]})
    asked = ask_of(graph.invoke({"got": []}, config_of()))
    assert ask_of(graph.invoke(Command(resume=lost), config_of())).id == asked.id
    assert graph.invoke(Command(resume={asked.id: lost}), config_of())["got"] == [lost]


def test_a_subgraph_without_checkpoints_fails_under_durability_sync_and_keeps_no_question() -> None:
    # No upstream thread. Without a checkpoint a question's id differs from run to run, so no answer by it
    # ever arrives, and durability="sync" waits for a checkpoint that is never made.
    inner: Any = StateGraph(Log)
    inner.add_node("work", lambda _: {"got": [interrupt("?")]})
    inner.add_edge(START, "work")
    graph = one_node(inner.compile(checkpointer=False))
    asked = ask_of(graph.invoke({"got": []}, config_of(), durability="async"))
    again = ask_of(graph.invoke(Command(resume={asked.id: 1}), config_of(), durability="async"))
    assert asked.id != again.id
    with pytest.raises(AttributeError, match="_put_checkpoint_fut"):
        graph.invoke({"got": []}, config_of("t-2"), durability="sync")


@pytest.mark.requirement("CACHED-APPROVAL")
def test_a_cached_nodes_answer_is_served_to_other_threads() -> None:
    # https://github.com/langchain-ai/langgraph/issues/7605
    graph = one_node(lambda _: {"got": [interrupt("?")]}, cache=InMemoryCache(), cache_policy=CachePolicy())
    asked = ask_of(graph.invoke({"got": []}, config_of("t-1")))
    graph.invoke(Command(resume={asked.id: "approved"}), config_of("t-1"))
    assert graph.invoke({"got": []}, config_of("t-2"))["got"] == ["approved"]


@pytest.mark.requirement("NEXT-IS-EMPTY")
def test_a_thread_that_waits_on_its_second_question_names_its_node() -> None:
    # https://github.com/langchain-ai/langgraph/issues/6956, which is fixed since 1.2.14
    graph = one_node(two_questions)
    first = ask_of(graph.invoke({"got": []}, config_of()))
    graph.invoke(Command(resume={first.id: 1}), config_of())
    snapshot = graph.get_state(config_of())
    assert snapshot.next == ("work",)
    assert [one.value for one in snapshot.interrupts] == ["second?"]


def test_a_finished_thread_has_no_tasks(mode: str, saver: Saver, host: Host) -> None:
    graph = one_node(lambda _: {}, saver)
    host.invoke(graph, {"got": []})
    snapshot = host.run(graph.aget_state(config_of())) if host.is_async else graph.get_state(config_of())
    assert (snapshot.tasks, snapshot.next) == ((), ())


def test_what_a_run_has_in_its_metadata_is_read_back_while_parked_and_after(
    mode: str, saver: Saver, host: Host
) -> None:
    graph = one_node(lambda _: {"got": [interrupt("?")]}, saver)
    marked: Any = {**config_of(), "metadata": {"agent_wait_starts": '["s-1"]'}}

    def run(value: Any) -> Any:
        return host.run(graph.ainvoke(value, marked)) if host.is_async else graph.invoke(value, marked)

    def read() -> Any:
        state = host.run(graph.aget_state(config_of())) if host.is_async else graph.get_state(config_of())
        return (state.metadata or {}).get("agent_wait_starts")

    asked = ask_of(run({"got": []}))
    assert read() == '["s-1"]'
    run(Command(resume={asked.id: 1}))
    assert read() == '["s-1"]'
