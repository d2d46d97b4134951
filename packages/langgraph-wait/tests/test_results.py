"""`interrupts_in`: what a run stopped on, from whatever LangGraph returns for it."""

import asyncio
from collections.abc import Callable
from typing import Any, TypedDict

import pytest
from agent_wait import InMemoryAnnounce
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import Command, Interrupt, Send, interrupt
from langgraph_wait import LangGraphFramework, publish_interrupts
from lg_host import config_of
from lg_shapes import Desk, Graph, build, input_of

STREAMS = ("values", "updates", "tasks", "debug")
SILENT_STREAMS = ("messages", "custom", "checkpoints")
FRAMEWORK = LangGraphFramework()


def parked(shape: str = "node") -> Graph:
    return build(shape, Desk(), InMemorySaver())


def ids(result: Any) -> list[str]:
    return [question_id for question_id, _ in FRAMEWORK.interrupts_in(result)]


def last_of(chunks: list[Any]) -> list[Any]:
    """The chunks that tell of the park, which is all that some hosts keep."""
    return [chunk for chunk in chunks if ids(chunk)]


GIVEN = input_of("node", [("o-1", "10")])


@pytest.mark.requirement("STREAM-AND-V2-SHAPES")
def test_every_way_to_run_tells_of_the_same_question() -> None:
    graph = parked()
    [expected] = ids(graph.invoke(GIVEN, config_of()))
    again: dict[str, Any] = {
        "invoke": graph.invoke(None, config_of()),
        "invoke v2": graph.invoke(None, config_of(), version="v2"),
        "updates": graph.invoke(None, config_of(), stream_mode="updates"),
        "output_keys": graph.invoke(None, config_of(), output_keys="results"),
        "get_state": graph.get_state(config_of()),
        "its interrupts": graph.get_state(config_of()).interrupts,
        "batch": graph.batch([None], config_of()),
        "batch_as_completed": list(graph.batch_as_completed([None], config_of())),
    }
    assert {name: ids(result) for name, result in again.items()} == {name: [expected] for name in again}


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("subgraphs", [False, True])
@pytest.mark.parametrize("mode", STREAMS)
@pytest.mark.requirement("STREAM-AND-V2-SHAPES")
def test_every_stream_tells_of_the_question_in_one_chunk_and_in_all_of_them(
    mode: Any, subgraphs: bool, version: Any
) -> None:
    graph = parked("subgraph")
    graph.invoke(GIVEN, config_of())
    [expected] = ids(graph.get_state(config_of()))
    chunks = list(graph.stream(None, config_of(), stream_mode=mode, subgraphs=subgraphs, version=version))
    assert ids(chunks) == [expected]
    assert ids(last_of(chunks)[-1]) == [expected]


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("subgraphs", [False, True])
@pytest.mark.requirement("STREAM-AND-V2-SHAPES")
def test_several_modes_in_one_stream_tell_of_the_question_once(subgraphs: bool, version: Any) -> None:
    graph = parked("subgraph")
    graph.invoke(GIVEN, config_of())
    modes: Any = [*STREAMS, *SILENT_STREAMS]
    chunks = list(graph.stream(None, config_of(), stream_mode=modes, subgraphs=subgraphs, version=version))
    assert len(ids(chunks)) == 1


@pytest.mark.parametrize("mode", SILENT_STREAMS)
def test_a_stream_of_messages_custom_data_or_checkpoints_alone_tells_of_no_question(mode: Any) -> None:
    graph = parked()
    assert ids(list(graph.stream(GIVEN, config_of(), stream_mode=mode))) == []
    assert len(ids(graph.get_state(config_of()))) == 1


EXPERIMENTAL = pytest.mark.filterwarnings(
    "ignore:The v3 streaming protocol:langchain_core._api.LangChainBetaWarning"
)


@EXPERIMENTAL
def test_an_event_stream_tells_of_the_question() -> None:
    graph = parked()
    run = graph.stream_events(GIVEN, config_of(), version="v3")
    assert len(ids(run)) == 1
    assert ids(run.interrupts) == ids(run)


@EXPERIMENTAL
def test_an_async_event_stream_says_how_it_is_read() -> None:
    async def check() -> None:
        graph = parked()
        run: Any = await graph.astream_events(GIVEN, config_of(), version="v3")
        with pytest.raises(TypeError, match=r"await run\.interrupts\(\)"):
            FRAMEWORK.interrupts_in(run)
        assert len(ids(await run.interrupts())) == 1

    asyncio.run(check())


@pytest.mark.parametrize("modes", ["updates", ["updates", "values"]], ids=str)
def test_the_events_of_langchain_tell_of_the_question(modes: Any) -> None:
    async def read() -> list[Any]:
        graph = parked("agent")
        given = input_of("agent", [("o-1", "10")])
        events = graph.astream_events(given, config_of(), version="v2", stream_mode=modes)
        return [event async for event in events]

    assert len(ids(asyncio.run(read()))) == 1


@pytest.mark.requirement("INTERRUPT-FIELDS-MOVED")
def test_plain_dicts_of_a_remote_graph_make_the_same_envelope() -> None:
    value: Any = {"function": "f", "args": {}}
    made: list[Any] = [Interrupt(value, "ab" * 16), {"id": "ab" * 16, "value": value}]
    envelopes: list[dict[str, Any]] = []
    for one in made:
        announced = InMemoryAnnounce()
        publish_interrupts({"__interrupt__": [one]}, "t-1", announced)
        envelopes.append(announced.last.to_dict() | {"event_id": "", "asked_at": ""})
    assert envelopes[0] == envelopes[1]
    assert envelopes[0]["question"] == value


@pytest.mark.requirement("SUBGRAPH-REPLAY")
def test_a_question_that_came_through_nested_entrypoints_is_one() -> None:
    @task
    def asks() -> Any:
        return interrupt("go on?")

    @entrypoint()
    def inner(_: Any) -> Any:
        return asks().result()

    @entrypoint(checkpointer=InMemorySaver())
    def outer(given: Any) -> Any:
        return inner.invoke(given)

    result = outer.invoke("x", config_of())
    assert len(result["__interrupt__"]) == 2
    assert len(ids(result)) == 1


@pytest.mark.requirement("STATIC-BREAKPOINT-INVISIBLE")
def test_a_static_breakpoint_stops_on_no_question() -> None:
    class Log(TypedDict, total=False):
        done: str

    builder: Any = StateGraph(Log)
    builder.add_node("n", lambda _: {})
    builder.add_edge(START, "n")
    graph = builder.compile(checkpointer=InMemorySaver(), interrupt_before=["n"])
    assert ids(graph.invoke({"done": ""}, config_of())) == []
    assert ids(graph.invoke({"done": ""}, config_of("t-2"), version="v2")) == []
    assert ids(list(graph.stream({"done": ""}, config_of("t-3"), stream_mode="updates"))) == []


@pytest.mark.parametrize(
    "finished",
    [
        None,
        "text",
        b"bytes",
        0,
        1.5,
        True,
        {},
        {"a": 1},
        [],
        [1, "two"],
        ("a", 2),
        AIMessage("hi"),
        object(),
        {1, 2},
    ],
)
def test_whatever_an_entrypoint_may_return_is_a_finished_run(finished: Any) -> None:
    assert ids(finished) == []


@pytest.mark.parametrize(
    "state",
    [
        {"type": "values", "data": {"x": 1}},
        {"event": "party", "data": {"chunk": 1}},
        {"interrupts": ["of my own"]},
        {"id": 1, "name": "n"},
        {"type": "task_result"},
        {"payload": {}, "data": None},
    ],
)
def test_a_state_with_keys_like_those_of_a_chunk_is_a_state(state: dict[str, Any]) -> None:
    assert ids(state) == []


def test_an_exception_among_the_results_of_a_batch_hides_no_question() -> None:
    graph = parked()
    result = graph.invoke(GIVEN, config_of())
    assert len(ids([ValueError("one failed"), result])) == 1


def _generator() -> Any:
    yield 1


async def _agenerator() -> Any:
    yield 1


class Future:
    """Something to await."""

    def __await__(self) -> Any:
        yield


NO_RESULTS: dict[str, tuple[Callable[[], Any], str]] = {
    "iterator": (lambda: iter([1]), "not been read"),
    "generator": (_generator, "not been read"),
    "async generator": (_agenerator, "not been read"),
    "iterator in a list": (lambda: [iter([1])], "not been read"),
    "future": (Future, "not been awaited"),
    "graph": (parked, "no result"),
    "command": (lambda: Command(resume=1), "no result"),
    "send": (lambda: Send("n", 1), "no result"),
    "function": (lambda: print, "no result"),
    "class": (lambda: StateGraph, "no result"),
    "exception": (lambda: ValueError("failed"), "no result"),
}


@pytest.mark.parametrize("name", NO_RESULTS)
def test_what_is_no_runs_result_is_refused(name: str) -> None:
    make, why = NO_RESULTS[name]
    with pytest.raises(TypeError, match=why):
        FRAMEWORK.interrupts_in(make())


def test_a_coroutine_is_refused() -> None:
    graph = parked()
    coroutine = graph.ainvoke(GIVEN, config_of())
    with pytest.raises(TypeError, match="not been awaited"):
        FRAMEWORK.interrupts_in(coroutine)
    coroutine.close()


@pytest.mark.parametrize("broken", [{"value": 1}, {"id": "", "value": 1}, {"id": 7, "value": 1}, "text"])
def test_an_interrupt_that_nothing_could_answer_is_refused(broken: Any) -> None:
    with pytest.raises(TypeError, match="interrupt"):
        FRAMEWORK.interrupts_in({"__interrupt__": [broken]})
