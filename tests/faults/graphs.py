"""The agents: LangGraph graphs of every kind in which a call can wait. Each ends by telling its customer.

An item is something to be paid for; who looks from outside knows it by the run's label and the item's name.
Graphs are built once, since tools are slow to build; what they do goes to the `OUTSIDE` of whoever runs them.
"""

import asyncio
import copy
import functools
import json
import operator
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Annotated, Any, NotRequired, Protocol, TypedDict

from agent_wait import WaitPolicy
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]  # of any saver
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.types import Send, interrupt
from langgraph_wait import wait

from faults.saver import Saver

Graph = Pregel[Any, Any, Any, Any]
AMOUNT = 10
POLICY = WaitPolicy(timeout="PT1H", default={"action": "reject", "reason": "nobody answered"})


class Outside(Protocol):
    """What the agents do to the outside; each may be the last thing that their process does."""

    def pay(self, run: str, item: str, amount: int) -> str:
        """Pay for an item, under the wait's idempotency key."""
        ...

    def work(self, item: str) -> None:
        """Do something that nobody sees and that may raise."""
        ...

    def take(self, run: str, item: str, answer: Any) -> str:
        """Act on the answer to a bare interrupt, under a key of the node's own."""
        ...

    def tell(self, run: str, results: dict[str, Any]) -> None:
        """Tell the customer what became of each item, under a key of the run's own."""
        ...


OUTSIDE: ContextVar[Outside] = ContextVar("outside")


class State(TypedDict):
    run: str
    item: NotRequired[str]
    log: Annotated[list[tuple[str, str, Any]], operator.add]


class Chat(TypedDict):
    run: str
    messages: Annotated[list[BaseMessage], add_messages]


class Agents:
    """The graphs, plain or with `async` functions throughout."""

    def __init__(self, *, is_async: bool) -> None:
        self.is_async = is_async
        self.refund: Any = self._waiting()
        self.small: Any = self._waiting(when=lambda **_: False)

    def _waiting(self, **options: Any) -> Any:
        def refund(run: str, item: str, amount: int) -> str:
            """Refund an item."""
            return OUTSIDE.get().pay(run, item, amount)

        async def refund_async(run: str, item: str, amount: int) -> str:
            """Refund an item."""
            return OUTSIDE.get().pay(run, item, amount)

        refund_async.__name__ = "refund"
        return wait(POLICY, **options)(refund_async if self.is_async else refund)

    def asking(self, *items: str, before: Callable[[], None] = lambda: None) -> Any:
        """A node that asks for each of the items, or for the state's."""

        def node(state: State) -> Any:
            before()
            return {
                "log": [
                    (state["run"], item, self.refund(state["run"], item, AMOUNT))
                    for item in items or (state.get("item", ""),)
                ]
            }

        async def node_async(state: State) -> Any:
            before()
            return {
                "log": [
                    (state["run"], item, await self.refund(state["run"], item, AMOUNT))
                    for item in items or (state.get("item", ""),)
                ]
            }

        return node_async if self.is_async else node

    def telling(self, state: State) -> Any:
        results = {item: result for run, item, result in state["log"] if run == state["run"]}
        OUTSIDE.get().tell(state["run"], results)
        return {}

    def one(self) -> Graph:
        return _chain(ask=self.asking("A"), tell=self.telling)

    def two(self) -> Graph:
        return _chain(ask=self.asking("A", "B"), tell=self.telling)

    def after(self) -> Graph:
        """An effect of its own node after the answered one, and another question behind it."""

        def small(state: State) -> Any:
            return {"log": [(state["run"], "S", self.small(state["run"], "S", 1))]}

        async def small_async(state: State) -> Any:
            return {"log": [(state["run"], "S", await self.small(state["run"], "S", 1))]}

        return _chain(
            look=lambda state: {"log": []},
            ask=self.asking("A"),
            small=small_async if self.is_async else small,
            ask_again=self.asking("B"),
            tell=self.telling,
        )

    def fan(self) -> Graph:
        return self._fan(ask="ABC")

    def fan_with_work(self) -> Graph:
        """One branch asks at once, the other has to do something first, which may raise."""
        return self._fan(ask="A", work="B")

    def _fan(self, **branches: str) -> Graph:
        builder: Any = StateGraph(State)
        builder.add_node("ask", self.asking())
        builder.add_node("work", self.asking(before=lambda: OUTSIDE.get().work("work")))
        builder.add_node("tell", self.telling)
        builder.add_conditional_edges(
            START,
            lambda state: [
                Send(node, {"run": state["run"], "item": item})
                for node in branches
                for item in branches[node]
            ],
            [*branches],
        )
        for node in branches:
            builder.add_edge(node, "tell")
        return builder.compile()

    def subgraph(self) -> Graph:
        builder: Any = StateGraph(State)
        builder.add_node("inner", self._fan(ask="A", work="B"))
        builder.add_edge(START, "inner")
        return builder.compile()

    def bare(self) -> Graph:
        """Two interrupts of LangGraph's own in one node, which may raise between the two."""

        def ask(state: State) -> Any:
            run = state["run"]
            first = interrupt({"run": run, "item": "A"})
            OUTSIDE.get().work("work")
            second = interrupt({"run": run, "item": "B"})
            answers = {"A": first, "B": second}
            return {"log": [(run, item, OUTSIDE.get().take(run, item, answers[item])) for item in answers]}

        return _chain(ask=ask, tell=self.telling)

    def tools(self) -> Graph:
        """Three calls in one task of a hand-built ToolNode."""

        def call(state: Chat) -> Any:
            return {"messages": [_calls(state["run"])]}

        def tell(state: Chat) -> Any:
            OUTSIDE.get().tell(state["run"], _results(state["messages"], state["run"]))

        builder: Any = StateGraph(Chat)
        builder.add_node("call", call)
        builder.add_node("tools", ToolNode([tool(self.refund)]))
        builder.add_node("tell", tell)
        builder.add_edge(START, "call")
        builder.add_edge("call", "tools")
        builder.add_edge("tools", "tell")
        return builder.compile()

    def agent(self) -> Graph:
        """An agent of `create_agent`: a model asks for three refunds, and then tells the customer."""

        class Model(BaseChatModel):
            @property
            def _llm_type(self) -> str:
                return "scripted"

            def bind_tools(self, tools: Sequence[Any], **_: Any) -> "Model":
                return self

            def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
                place = max(n for n, message in enumerate(messages) if isinstance(message, HumanMessage))
                run = str(messages[place].content)
                turn = _calls(run)
                if len(messages) > place + 1:
                    OUTSIDE.get().tell(run, _results(messages, run))
                    turn = AIMessage("done")
                return ChatResult(generations=[ChatGeneration(message=turn)])

        return create_agent(Model(), [tool(self.refund)])

    def functional(self) -> Graph:
        """An entrypoint with a task for each of three calls."""

        def one(run: str, item: str) -> Any:
            return self.refund(run, item, AMOUNT)

        async def one_async(run: str, item: str) -> Any:
            return await self.refund(run, item, AMOUNT)

        def work(given: State) -> None:
            run = given["run"]
            futures = {item: task(one)(run, item) for item in "ABC"}
            OUTSIDE.get().tell(run, {item: future.result() for item, future in futures.items()})

        async def work_async(given: State) -> None:
            run = given["run"]
            results = await asyncio.gather(*(task(one_async)(run, item) for item in "ABC"))
            OUTSIDE.get().tell(run, dict(zip("ABC", results, strict=True)))

        decorate: Any = entrypoint()
        return decorate(work_async if self.is_async else work)


def _chain(**nodes: Any) -> Graph:
    builder: Any = StateGraph(State)
    before = START
    for name, node in nodes.items():
        builder.add_node(name, node)
        builder.add_edge(before, name)
        before = name
    return builder.compile()


def _calls(run: str) -> AIMessage:
    """A model's message that asks for three refunds; servers number their calls afresh in every turn."""
    calls = [
        {"name": "refund", "args": {"run": run, "item": item, "amount": AMOUNT}, "id": f"call_{item}"}
        for item in "ABC"
    ]
    return AIMessage("", id=f"calls of {run}", tool_calls=calls)


def _results(messages: Sequence[BaseMessage], run: str) -> dict[str, Any]:
    place = next(n for n, message in enumerate(messages) if message.id == f"calls of {run}")
    return {
        message.tool_call_id.removeprefix("call_"): as_result(str(message.content))
        for message in messages[place + 1 :]
        if isinstance(message, ToolMessage)
    }


def as_result(content: str) -> Any:
    """What a call returned, of what its model reads."""
    try:
        return json.loads(content)
    except ValueError:
        return content


@functools.cache
def _built(kind: str, is_async: bool) -> Graph:
    return getattr(Agents(is_async=is_async), kind)()


def build(kind: str, saver: Saver, *, is_async: bool) -> Graph:
    """A graph of this kind, whose threads are in the saver."""
    graph = copy.copy(_built(kind, is_async))
    graph.checkpointer = saver
    return graph


ITEMS = {
    "one": "A",
    "two": "AB",
    "after": "ASB",
    "fan": "ABC",
    "fan_with_work": "AB",
    "bare": "AB",
    "tools": "ABC",
    "subgraph": "AB",
    "agent": "ABC",
    "functional": "ABC",
}
"""What each of the graphs is to pay for, by the name of the method that builds it."""


def input_of(kind: str, run: str) -> Any:
    """What a start of such a graph says."""
    if kind in ("pydantic_ai", "strands"):
        return run
    return {"messages": [HumanMessage(run)]} if kind == "agent" else {"run": run}
