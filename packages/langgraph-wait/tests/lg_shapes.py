"""Real graphs of every shape in which a call can wait, and what their bodies did.

Each is made by `build(shape, desk, saver)` and asks for the refund of each item of its input.
"""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from operator import add
from typing import Annotated, Any, TypedDict

from agent_wait import current_wait
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]  # of any saver
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.func import entrypoint, task
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.pregel import Pregel
from langgraph.types import Send
from langgraph_wait import wait

Saver = BaseCheckpointSaver[Any]
Graph = Pregel[Any, Any, Any, Any]
Item = tuple[str, str]
"""Order id and amount."""


@dataclass(frozen=True)
class Body:
    """One time that the body of a refund ran."""

    order_id: str
    amount: Decimal
    key: str


@dataclass
class Desk:
    """Where refunds are made: the waiting function, plain and `async`, and what its bodies did."""

    is_async: bool = False
    fails: int = 0
    bodies: list[Body] = field(default_factory=list[Body])
    yields: Callable[[], int] = lambda: 0
    """How many times a call gives way to others before it asks."""

    _lock: threading.Lock = field(default_factory=threading.Lock)

    def refund_of(self, **options: Any) -> Callable[..., Any]:
        """`refund(order_id, amount)`, waiting under these options."""

        def refund(order_id: str, amount: Decimal) -> str:
            """Refund an order."""
            return self._pay(order_id, amount)

        async def refund_async(order_id: str, amount: Decimal) -> str:
            """Refund an order."""
            return self._pay(order_id, amount)

        refund_async.__name__ = "refund"
        options.setdefault("when", self._when_async if self.is_async else self._when)
        return wait(**options)(refund_async if self.is_async else refund)

    def _pay(self, order_id: str, amount: Decimal) -> str:
        current = current_wait()
        assert current is not None
        with self._lock:
            self.bodies.append(Body(order_id, amount, current.idempotency_key))
            if self.fails:
                self.fails -= 1
                raise RuntimeError("the payment service is down")
        return f"refunded {amount} of {order_id}"

    def _when(self) -> bool:
        for _ in range(self.yields()):
            time.sleep(0)
        return True

    async def _when_async(self) -> bool:
        for _ in range(self.yields()):
            await asyncio.sleep(0)
        return True

    @property
    def paid(self) -> list[tuple[str, Decimal]]:
        """What a payment service that takes an idempotency key would have paid, by order id."""
        once = {body.key: (body.order_id, body.amount) for body in self.bodies}
        return sorted(once.values())


class ScriptedModel(BaseChatModel):
    """A chat model that says the next of its turns, by how often it has spoken in the history."""

    turns: list[AIMessage]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        spoken = sum(isinstance(message, AIMessage) for message in messages)
        turn = self.turns[min(spoken, len(self.turns) - 1)]
        return ChatResult(generations=[ChatGeneration(message=turn.model_copy())])

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> "ScriptedModel":
        """Itself: the script is written for the tools at hand."""
        return self


def tool_calls(items: Iterable[Item], name: str = "refund") -> AIMessage:
    """A model's message that asks for all of them, with ids that start afresh in every turn."""
    return AIMessage(
        "",
        tool_calls=[
            {"name": name, "args": {"order_id": order_id, "amount": amount}, "id": f"call_{n}"}
            for n, (order_id, amount) in enumerate(items)
        ],
    )


def agent(tools: Sequence[BaseTool], turns: list[AIMessage], saver: Saver | None, **options: Any) -> Graph:
    """A `create_agent` agent on a scripted model, which ends with "done"."""
    return create_agent(
        ScriptedModel(turns=[*turns, AIMessage("done")]), tools, checkpointer=saver, **options
    )


class Items(TypedDict, total=False):
    """The state of the graphs."""

    items: list[Item]
    results: Annotated[list[str], add]


class Chat(TypedDict, total=False):
    """The state of the graph with a `ToolNode`."""

    messages: Annotated[list[BaseMessage], add_messages]


def _node(desk: Desk, saver: Saver | None) -> Graph:
    refund = desk.refund_of()

    def work(state: Items) -> Items:
        return {"results": [_text(refund(item[0], Decimal(item[1]))) for item in state.get("items", [])]}

    async def work_async(state: Items) -> Items:
        return {
            "results": [_text(await refund(item[0], Decimal(item[1]))) for item in state.get("items", [])]
        }

    builder: Any = StateGraph(Items)
    builder.add_node("work", work_async if desk.is_async else work)
    builder.add_edge(START, "work")
    return builder.compile(checkpointer=saver)


def _fan_out(desk: Desk, saver: Saver | None | bool) -> Graph:
    refund = desk.refund_of()

    def one(item: Item) -> Items:
        return {"results": [_text(refund(item[0], Decimal(item[1])))]}

    async def one_async(item: Item) -> Items:
        return {"results": [_text(await refund(item[0], Decimal(item[1])))]}

    def each(state: Items) -> list[Send]:
        return [Send("one", item) for item in state.get("items", [])]

    builder: Any = StateGraph(Items)
    builder.add_node("one", one_async if desk.is_async else one)
    builder.add_conditional_edges(START, each, ["one"])
    builder.add_edge("one", END)
    return builder.compile(checkpointer=saver)


def _subgraph(desk: Desk, saver: Saver | None) -> Graph:
    builder: Any = StateGraph(Items)
    builder.add_node("inner", _fan_out(desk, None))
    builder.add_edge(START, "inner")
    return builder.compile(checkpointer=saver)


def _tool_node(desk: Desk, saver: Saver | None) -> Graph:
    builder: Any = StateGraph(Chat)
    builder.add_node("tools", ToolNode([tool(desk.refund_of())]))
    builder.add_edge(START, "tools")
    return builder.compile(checkpointer=saver)


def _entrypoint(desk: Desk, saver: Saver | None) -> Graph:
    refund = desk.refund_of()

    def one(item: Item) -> str:
        return _text(refund(item[0], Decimal(item[1])))

    async def one_async(item: Item) -> str:
        return _text(await refund(item[0], Decimal(item[1])))

    def work(given: Items) -> list[str]:
        futures = [task(one)(item) for item in given.get("items", [])]
        return [future.result() for future in futures]

    async def work_async(given: Items) -> list[str]:
        return list(await asyncio.gather(*(task(one_async)(item) for item in given.get("items", []))))

    decorate: Any = entrypoint(checkpointer=saver)
    return decorate(work_async if desk.is_async else work)


def _agent(desk: Desk, saver: Saver | None) -> Graph:
    class FromInput(ScriptedModel):
        def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
            asked = [m for m in messages if isinstance(m, HumanMessage)][-1]
            self.turns = [tool_calls(asked.additional_kwargs["items"]), AIMessage("done")]
            return super()._generate([m for m in messages if not isinstance(m, HumanMessage)])

    return create_agent(FromInput(turns=[]), [tool(desk.refund_of())], checkpointer=saver)


_BUILDERS: dict[str, Callable[[Desk, Any], Graph]] = {
    "node": _node,
    "fan_out": _fan_out,
    "subgraph": _subgraph,
    "tool_node": _tool_node,
    "entrypoint": _entrypoint,
    "agent": _agent,
}
SHAPES = tuple(_BUILDERS)
TIMINGS = int(os.environ.get("AGENT_WAIT_TIMINGS", "6"))
"""Randomized timings of one test; `AGENT_WAIT_TIMINGS=200` for the long run."""

OWN_TASKS = ("fan_out", "subgraph", "entrypoint", "agent")
"""The shapes in which every waiting call has a task of its own."""


def build(shape: str, desk: Desk, saver: Saver | None) -> Graph:
    """A graph of this shape."""
    return _BUILDERS[shape](desk, saver)


def input_of(shape: str, items: Sequence[Item]) -> Any:
    """What such a graph takes to refund these."""
    if shape == "tool_node":
        return {"messages": [tool_calls(items)]}
    if shape == "agent":
        return {"messages": [HumanMessage("refund", additional_kwargs={"items": list(items)})]}
    return {"items": list(items)}


def results_of(shape: str, result: Any) -> list[str]:
    """What the calls returned, as the graph's result has it, sorted."""
    if shape in ("tool_node", "agent"):
        found = [str(message.content) for message in result["messages"] if isinstance(message, ToolMessage)]
    else:
        found = result if shape == "entrypoint" else result["results"]
    return sorted(found)


def _text(value: object) -> str:
    return value if isinstance(value, str) else repr(value)
