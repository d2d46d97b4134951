"""The contract of every framework, on agents and graphs of LangGraph and on each of its savers."""

import itertools
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from agent_wait import Framework
from agent_wait.testing import FrameworkContract, Handle, Script
from contract_graphs import Functions, GraphHandle, Shape, Store, agent, plain, tool_node
from langchain.tools import ToolRuntime
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph_wait import LangGraphFramework
from lg_shapes import Saver

_numbers = itertools.count(1)


class Memory(Store):
    def __init__(self) -> None:
        self._saver = InMemorySaver()

    @contextmanager
    def saver(self) -> Generator[Saver]:
        yield self._saver

    @asynccontextmanager
    async def asaver(self) -> AsyncGenerator[Saver]:
        yield self._saver


class Sqlite(Store):
    def __init__(self, path: Path) -> None:
        self._path = str(path)

    @contextmanager
    def saver(self) -> Generator[Saver]:
        with SqliteSaver.from_conn_string(self._path) as saver:
            yield saver

    @asynccontextmanager
    async def asaver(self) -> AsyncGenerator[Saver]:
        async with AsyncSqliteSaver.from_conn_string(self._path) as saver:
            yield saver


class OfLangGraph(FrameworkContract):
    framework: Framework = LangGraphFramework()
    context: Any = ToolRuntime
    shape: Shape

    def new_store(self) -> Store:
        return Memory()

    def build(self, functions: Functions, script: Script, store: Any) -> Handle:
        return GraphHandle(type(self).shape, functions, script, store, f"thread-{next(_numbers)}")


class TestAgentInMemory(OfLangGraph):
    shape = staticmethod(agent)


class TestAgentOnSqlite(OfLangGraph):
    shape = staticmethod(agent)

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self._folder = tmp_path

    def new_store(self) -> Store:
        return Sqlite(self._folder / f"{next(_numbers)}.sqlite")


class TestPlainGraph(OfLangGraph):
    context = RunnableConfig
    shape = staticmethod(plain)


class TestHandBuiltToolNode(OfLangGraph):
    shape = staticmethod(tool_node)
    cannot: ClassVar[Mapping[str, str]] = {
        "test_parallel_questions_are_all_asked_at_once": "one task asks one question at a time",
        "test_each_approved_body_runs_once": "a task runs again from its start for each answer",
        "test_parallel_questions_can_be_answered_all_at_once": "one task asks one question at a time",
        "test_a_predicate_that_says_exactly_false_asks_nobody": (
            "what needed no question runs again with its task, under the same key"
        ),
    }
