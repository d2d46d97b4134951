"""Agents and graphs that do what a script says, as `FrameworkContract` asks for them, on any saver."""

import inspect
import json
import uuid
from collections.abc import (
    AsyncGenerator,
    Callable,
    Collection,
    Generator,
    Mapping,
    MutableMapping,
    Sequence,
)
from contextlib import (
    asynccontextmanager,
    contextmanager,
)
from typing import Any

from agent_wait import Framework
from agent_wait.testing import AdapterHandle, FrameworkContract, Handle, Script
from contract_stores import Store
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]  # of any saver
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import END, START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Send
from langgraph_wait import LangGraphAdapter, LangGraphFramework
from lg_shapes import Chat, Graph, Saver, ScriptedModel

Functions = Sequence[Callable[..., Any]]
Offered = MutableMapping[str, Collection[str]]
Shape = Callable[[Functions, Script, Saver, Offered], Graph]


class GraphHandle(AdapterHandle):
    """A thread of a graph of some shape. Whatever it does is done with a graph and a saver of its own."""

    def __init__(
        self, shape: Shape, functions: Functions, script: Script, store: Store, thread_id: str
    ) -> None:
        super().__init__(thread_id)
        self._made_of = (shape, functions, script)
        self._store = store
        self._offered: Offered = {}

    def _graph(self, saver: Saver) -> Graph:
        shape, functions, script = self._made_of
        return shape(functions, script, saver, self._offered)

    @contextmanager
    def adapter(self) -> Generator[LangGraphAdapter]:
        with self._store.saver() as saver:
            yield LangGraphAdapter(self._graph(saver))

    @asynccontextmanager
    async def aadapter(self) -> AsyncGenerator[LangGraphAdapter]:
        async with self._store.asaver() as saver:
            yield LangGraphAdapter(self._graph(saver))

    def input_of(self, text: str) -> Any:
        return {"messages": [("user", text)]}

    def results(self) -> Mapping[str, Any]:
        with self._store.saver() as saver:
            state = self._graph(saver).get_state({"configurable": {"thread_id": self.thread_id}})
        messages: list[BaseMessage] = state.values["messages"]
        return {
            message.tool_call_id: message.content for message in messages if isinstance(message, ToolMessage)
        }

    def offered(self) -> Mapping[str, Collection[str]]:
        return self._offered

    def reopen(self) -> "GraphHandle":
        return GraphHandle(*self._made_of, self._store, self.thread_id)


class OfLangGraph(FrameworkContract):
    """The contract on graphs of one shape, in stores of one kind."""

    framework: Framework = LangGraphFramework()
    context: Any = ToolRuntime
    shape: Shape

    def build(self, functions: Functions, script: Script, store: Any) -> Handle:
        return GraphHandle(type(self).shape, functions, script, store, f"thread-{uuid.uuid4()}")


class _Model(ScriptedModel):
    offered: Any

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> "ScriptedModel":
        for one in tools:
            self.offered[one.name] = set(one.tool_call_schema.model_json_schema()["properties"])
        return self


def agent(functions: Functions, script: Script, saver: Saver, offered: Offered) -> Graph:
    """What `create_agent` makes."""
    model = _Model(turns=_turns(script), offered=offered)
    return create_agent(model, [tool(one) for one in functions], checkpointer=saver)


def tool_node(functions: Functions, script: Script, saver: Saver, offered: Offered) -> Graph:
    """A node that speaks and one `ToolNode` for all calls of a turn, put together by hand."""
    builder = _speaking(script)
    builder.add_node("tools", ToolNode([tool(one) for one in functions]))
    builder.add_conditional_edges("speak", lambda state: "tools" if _calls(state) else END, ["tools", END])
    builder.add_edge("tools", "speak")
    return builder.compile(checkpointer=saver)


def plain(functions: Functions, script: Script, saver: Saver, offered: Offered) -> Graph:
    """A graph without a model and without tools: each call is a `Send` to a node that makes it."""
    by_name: dict[str, Any] = {one.__name__: one for one in functions}
    is_awaited = any(inspect.iscoroutinefunction(one) for one in functions)

    def act(state: Any, config: RunnableConfig) -> Any:
        return _told(state, by_name[state["name"]](**_arguments(by_name, state, config)))

    async def act_async(state: Any, config: RunnableConfig) -> Any:
        result = by_name[state["name"]](**_arguments(by_name, state, config))
        return _told(state, await result if inspect.isawaitable(result) else result)

    builder = _speaking(script)
    builder.add_node("act", act_async if is_awaited else act)
    builder.add_conditional_edges(
        "speak", lambda state: [Send("act", call) for call in _calls(state)] or END, ["act", END]
    )
    builder.add_edge("act", "speak")
    return builder.compile(checkpointer=saver)


def _speaking(script: Script) -> Any:
    turns = _turns(script)

    def speak(state: Any) -> Any:
        spoken = sum(isinstance(message, AIMessage) for message in state["messages"])
        return {"messages": [turns[spoken].model_copy()]}

    builder: Any = StateGraph(Chat)
    builder.add_node("speak", speak)
    builder.add_edge(START, "speak")
    return builder


def _turns(script: Script) -> list[AIMessage]:
    return [
        AIMessage(turn)
        if isinstance(turn, str)
        else AIMessage(
            "", tool_calls=[{"name": name, "id": call, "args": dict(args)} for name, call, args in turn]
        )
        for turn in script
    ]


def _calls(state: Any) -> list[Any]:
    return state["messages"][-1].tool_calls


def _arguments(functions: Mapping[str, Any], call: Any, config: RunnableConfig) -> dict[str, Any]:
    known = inspect.signature(functions[call["name"]]).parameters
    context = {"context": config} if "context" in known else {}
    return {name: value for name, value in call["args"].items() if name in known} | context


def _told(call: Any, result: Any) -> Any:
    text = result if isinstance(result, str) else json.dumps(result)
    return {"messages": [ToolMessage(text, tool_call_id=call["id"])]}
