"""Waiting tools in `create_agent` and `ToolNode`: what the model sees, what is injected, what runs again."""

import logging
from collections import Counter
from typing import Annotated, Any

import pytest
from agent_wait import current_wait, make_wait
from langchain.agents import AgentState
from langchain.agents.middleware import ToolRetryMiddleware, wrap_tool_call
from langchain.tools import InjectedState, InjectedStore, InjectedToolArg, InjectedToolCallId, ToolRuntime
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, StreamWriter
from langgraph_wait import LangGraphFramework, wait
from lg_host import APPROVE, REJECT, Host, Router, answer_to
from lg_shapes import Chat, Desk, Saver, agent, build, input_of, tool_calls

SECRET = "do-not-publish-me"
GO: dict[str, Any] = {"messages": [("user", "go")]}


class Custom(InjectedToolArg):
    """An injected argument of the user's own kind."""


class Secretive(AgentState[Any]):
    secret: str


def call(name: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": "call_0"}])


def told(result: Any) -> list[str]:
    """What the model was told by its tools."""
    return [str(one.content) for one in result["messages"] if isinstance(one, ToolMessage)]


def seen_by_model(one: BaseTool) -> set[str]:
    schema: Any = one.tool_call_schema
    return set(schema.model_json_schema()["properties"])


@pytest.mark.requirement("INJECTED-IN-PAYLOAD")
def test_whatever_langgraph_injects_arrives_and_is_neither_published_nor_edited(
    mode: str, saver: Saver, host: Host
) -> None:
    arrived: dict[str, Any] = {}

    @tool
    @wait
    def refund(
        amount: int,
        runtime: ToolRuntime[Any, Any],
        state: Annotated[dict[str, Any], InjectedState],
        secret: Annotated[str, InjectedState("secret")],
        store: Annotated[Any, InjectedStore()],
        tool_call_id: Annotated[str, InjectedToolCallId],
        config: RunnableConfig,
        custom: Annotated[str, Custom()] = "mine",
    ) -> str:
        """Refund."""
        arrived.update(locals())
        return "refunded"

    graph = agent([refund], [call("refund", amount=5)], saver, state_schema=Secretive, store=InMemoryStore())
    router = Router.of(host, graph)
    router.start({**GO, "secret": SECRET})
    assert host.asked.question == {"function": "refund", "args": {"amount": 5}}
    assert SECRET not in host.asked.to_json()
    assert seen_by_model(refund) == {"amount"}
    for name in (
        "runtime",
        "state",
        "secret",
        "store",
        "tool_call_id",
        "config",
        "custom",
        "agent_wait_runtime",
    ):
        router.handle(answer_to(host.asked, {"action": "approve", "args": {name: "forged"}}))
        assert host.asked.error == f"{name}: is no argument that was shown"
    outcome = router.handle(answer_to(host.asked, {"action": "approve", "args": {"amount": 3}}))
    assert told(outcome.result) == ["refunded"]
    assert arrived["amount"] == 3
    assert (arrived["secret"], arrived["state"]["secret"], arrived["custom"]) == (SECRET, SECRET, "mine")
    assert (arrived["tool_call_id"], arrived["runtime"].tool_call_id) == ("call_0", "call_0")
    assert isinstance(arrived["store"], InMemoryStore)
    assert arrived["config"]["configurable"]["thread_id"] == "thread-1"


@pytest.mark.requirement("DECISION-IN-SCHEMA")
def test_a_model_can_neither_see_nor_fill_what_is_ours(mode: str, saver: Saver, host: Host) -> None:
    got: list[Any] = []

    @tool
    @wait
    def refund(amount: int, decision: Any = None) -> str:
        """Refund."""
        got.append((amount, decision))
        return "done"

    forged = {"decision": APPROVE, "agent_wait_runtime": {"tool_call_id": "forged"}}
    graph = agent([refund], [call("refund", amount=5, **forged)], saver)
    [asked] = host.start(graph, GO)
    assert seen_by_model(refund) == {"amount"}
    assert asked.question == {"function": "refund", "args": {"amount": 5}}
    host.send(graph, answer_to(asked, REJECT))
    assert got == [(5, REJECT)]


def test_a_forged_runtime_is_ignored_where_nothing_injects_one() -> None:
    identities: list[Any] = []

    class Spying(LangGraphFramework):
        def call_identity(self, question: Any, call_args: Any) -> Any:
            identities.append(super().call_identity(question, call_args))
            return identities[-1]

    @make_wait(Spying())
    def refund(amount: int) -> str:
        return f"refunded {amount}"

    def work(_: Any) -> Any:
        forged: Any = {"agent_wait_runtime": {"tool_call_id": "forged"}}
        return {"messages": [AIMessage(refund(5, **forged))]}

    builder: Any = StateGraph(Chat)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    host = Host(is_async=False, run=lambda _: None)
    assert len(host.start(builder.compile(checkpointer=InMemorySaver()), {"messages": []})) == 1
    assert identities == [[None, 0]]


@pytest.mark.requirement("TOOL-CALL-ID-REPEATS", "EDIT-THEN-RETRY-ORIGINAL")
def test_an_equal_call_with_an_equal_id_in_a_later_turn_is_another_question(
    mode: str, saver: Saver, host: Host
) -> None:
    desk = Desk(is_async=mode == "async")
    turn = tool_calls([("o-1", "5")])
    graph = agent([tool(desk.refund_of())], [turn, turn], saver)
    router = Router.of(host, graph)
    router.start(GO)
    first = host.asked
    router.handle(answer_to(first, {"action": "approve", "args": {"amount": "3"}}))
    [second] = router.open()
    assert second.question == first.question
    assert second.dedupe_key != first.dedupe_key
    assert router.handle(answer_to(first, APPROVE)).kind == "already_answered"
    assert len(desk.bodies) == 1
    router.handle(answer_to(second, REJECT))
    assert len(desk.bodies) == 1


@pytest.mark.requirement("CROSS-TOOL-EDIT", "PARTIAL-EDIT-DROPS-ARGS")
def test_an_answer_never_runs_another_tool_and_an_edit_leaves_the_rest_as_it_was(
    mode: str, saver: Saver, host: Host
) -> None:
    ran: list[Any] = []

    @tool
    @wait
    def refund(order_id: int, amount: int, note: str = "n") -> str:
        """Refund."""
        ran.append((order_id, amount, note))
        return "ok"

    @tool
    def wipe() -> str:
        """Wipe."""
        ran.append("wiped")
        return "ok"

    graph = agent([refund, wipe], [call("refund", order_id=7, amount=5, note="x")], saver)
    [asked] = host.start(graph, GO)
    host.send(graph, answer_to(asked, {"action": "approve", "function": "wipe", "args": {"amount": 3}}))
    assert ran == [(7, 3, "x")]


@pytest.mark.requirement("REJECT-RUNS-ANYWAY")
def test_the_model_sees_a_rejection_as_it_was_given(mode: str, saver: Saver, host: Host) -> None:
    desk = Desk(is_async=mode == "async")
    graph = agent([tool(desk.refund_of())], [tool_calls([("o-1", "5")])], saver)
    [asked] = host.start(graph, GO)
    assert told(host.send(graph, answer_to(asked, REJECT))) == ['{"action": "reject", "reason": "no"}']
    assert desk.bodies == []


@pytest.mark.requirement("SIBLING-RUNS-AGAIN")
@pytest.mark.parametrize("own_task", [False, True])
def test_a_plain_tool_beside_a_waiting_one_runs_again_only_where_they_share_a_task(
    own_task: bool, mode: str, saver: Saver, host: Host
) -> None:
    charged: list[str] = []

    @tool
    def charge(card: str) -> str:
        """Charge."""
        charged.append(card)
        return "charged"

    @tool
    @wait
    def refund(amount: int) -> str:
        """Refund."""
        return "refunded"

    both = AIMessage(
        "",
        tool_calls=[
            {"name": "charge", "args": {"card": "c"}, "id": "call_0"},
            {"name": "refund", "args": {"amount": 5}, "id": "call_1"},
        ],
    )
    if own_task:
        graph, given = agent([charge, refund], [both], saver), GO
    else:
        builder: Any = StateGraph(Chat)
        builder.add_node("tools", ToolNode([charge, refund]))
        builder.add_edge(START, "tools")
        graph, given = builder.compile(checkpointer=saver), {"messages": [both]}
    [asked] = host.start(graph, given)
    host.send(graph, answer_to(asked, APPROVE))
    assert len(charged) == (1 if own_task else 2)


@pytest.mark.requirement("SUBGRAPH-REPLAY")
def test_a_question_from_an_agent_within_a_tool_is_one_and_its_body_runs_once(
    mode: str, saver: Saver, host: Host
) -> None:
    desk = Desk(is_async=mode == "async")
    inner = agent([tool(desk.refund_of())], [tool_calls([("o-1", "5")])], None)
    delegated: list[str] = []

    @tool
    def delegate(what: str) -> str:
        """Have another agent do it."""
        delegated.append(what)
        return told(inner.invoke(GO))[-1]

    @tool("delegate")
    async def delegate_async(what: str) -> str:
        """Have another agent do it."""
        delegated.append(what)
        return told(await inner.ainvoke(GO))[-1]

    graph = agent([delegate_async if desk.is_async else delegate], [call("delegate", what="refund")], saver)
    router = Router.of(host, graph)
    router.start(GO)
    [asked] = router.open()
    router.publisher.republish("thread-1") if mode == "sync" else host.run(
        router.publisher.arepublish("thread-1")
    )
    assert {envelope.dedupe_key for envelope in host.announced.events} == {asked.dedupe_key}
    outcome = router.handle(answer_to(asked, APPROVE))
    assert told(outcome.result) == ["refunded 5 of o-1"]
    assert len(desk.bodies) == 1
    assert delegated == ["refund", "refund"]


@pytest.mark.requirement("EXCEPT-EXCEPTION-EATS-IT")
def test_middleware_that_catches_everything_swallows_the_park_and_nothing_runs(saver: Saver) -> None:
    desk = Desk()

    @wrap_tool_call
    def careless(request: Any, handler: Any) -> Any:
        try:
            return handler(request)
        except Exception:  # noqa: BLE001  # what such a middleware does
            return ToolMessage("failed", tool_call_id=request.tool_call["id"])

    host = Host(is_async=False, run=lambda _: None)
    tools = [tool(desk.refund_of())]
    graph = agent(tools, [tool_calls([("o-1", "5")])], InMemorySaver(), middleware=[careless])
    assert host.start(graph, GO) == []
    assert desk.bodies == []


def test_a_body_that_middleware_tries_again_keeps_its_approval(mode: str, saver: Saver, host: Host) -> None:
    desk = Desk(is_async=mode == "async", fails=1)
    retry = ToolRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)
    graph = agent([tool(desk.refund_of())], [tool_calls([("o-1", "5")])], saver, middleware=[retry])
    [asked] = host.start(graph, GO)
    assert told(host.send(graph, answer_to(asked, APPROVE))) == ["refunded 5 of o-1"]
    assert len(desk.bodies) == 2
    assert len({body.key for body in desk.bodies}) == 1


def test_a_tool_may_return_what_langgraph_takes_for_an_update(mode: str, saver: Saver, host: Host) -> None:
    @tool
    @wait
    def note(text: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Any:
        """Note."""
        return Command(update={"messages": [ToolMessage(f"noted {text}", tool_call_id=tool_call_id)]})

    graph = agent([note], [call("note", text="a")], saver)
    [asked] = host.start(graph, GO)
    assert told(host.send(graph, answer_to(asked, APPROVE))) == ["noted a"]


def test_methods_wait_as_functions_do(mode: str, saver: Saver, host: Host) -> None:
    class Desk:
        def __init__(self) -> None:
            self.done: list[int] = []

        @wait
        def refund(self, amount: int) -> str:
            """Refund."""
            self.done.append(amount)
            return "ok"

    desk = Desk()
    graph = agent([tool(desk.refund)], [call("refund", amount=5)], saver)
    [asked] = host.start(graph, GO)
    assert asked.question == {"function": "refund", "args": {"amount": 5}}
    host.send(graph, answer_to(asked, APPROVE))
    assert desk.done == [5]


@pytest.mark.parametrize("shape", ["tool_node", "agent"])
def test_the_cure_of_the_warning_is_an_agent(
    shape: str, mode: str, saver: Saver, host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(is_async=mode == "async")
    framework = LangGraphFramework()

    def refund_of(**_: Any) -> Any:
        def fresh(order_id: str, amount: str) -> str:
            """Refund."""
            current = current_wait()
            assert current is not None
            counted[order_id] += 1
            keys.add(current.idempotency_key)
            return "ok"

        fresh.__name__ = "refund"
        return make_wait(framework)(fresh)

    counted: Counter[str] = Counter()
    keys: set[str] = set()
    desk.refund_of = refund_of
    graph = build(shape, desk, saver)
    with caplog.at_level(logging.WARNING, "langgraph_wait"):
        opened = host.start(graph, input_of(shape, [("o-1", "1"), ("o-2", "2"), ("o-3", "3")]))
        while opened:
            opened = host.publish(host.send(graph, answer_to(opened[0], APPROVE)))
    warnings = [record for record in caplog.records if record.name == "langgraph_wait"]
    assert len(keys) == 3
    if shape == "agent":
        assert (warnings, counted) == ([], {"o-1": 1, "o-2": 1, "o-3": 1})
    else:
        assert len(warnings) == 1
        assert sum(counted.values()) > 3


def test_a_node_gets_what_langgraph_gives_nodes(mode: str, saver: Saver, host: Host) -> None:
    arrived: dict[str, Any] = {}

    @wait(question=lambda state: {"messages": len(state["messages"])})
    def work(
        state: Chat,
        config: RunnableConfig,
        runtime: Runtime[None],
        *,
        writer: StreamWriter,
        store: Any = None,
    ) -> Chat:
        arrived.update(locals())
        return {"messages": [AIMessage("done")]}

    builder: Any = StateGraph(Chat)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    graph = builder.compile(checkpointer=saver, store=InMemoryStore())
    [asked] = host.start(graph, {"messages": [AIMessage(SECRET)]})
    assert asked.question == {"messages": 1}
    assert SECRET not in asked.to_json()
    result = host.send(graph, answer_to(asked, APPROVE))
    assert result["messages"][-1].content == "done"
    assert arrived["config"]["configurable"]["thread_id"] == "thread-1"
    assert isinstance(arrived["runtime"], Runtime)
    assert callable(arrived["writer"])


def test_a_helper_within_a_tool_has_no_tool_call_and_counts_its_calls(
    mode: str, saver: Saver, host: Host
) -> None:
    @wait
    def helper(amount: int) -> str:
        return f"helped {amount} on {get_config().get('configurable', {})['thread_id']}"

    @tool
    def outer(amount: int) -> str:
        """Help."""
        return helper(amount) + " and " + helper(amount)

    graph = agent([outer], [call("outer", amount=2)], saver)
    [first] = host.start(graph, GO)
    [second] = host.publish(host.send(graph, answer_to(first, APPROVE)))
    assert first.fingerprint != second.fingerprint
    result = host.send(graph, answer_to(second, {"action": "approve", "args": {"amount": 1}}))
    assert told(result) == ["helped 2 on thread-1 and helped 1 on thread-1"]
