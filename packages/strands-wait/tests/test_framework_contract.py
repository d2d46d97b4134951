"""The contract of every framework, on agents of Strands."""

import itertools
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from agent_wait import Framework, WaitPolicy
from agent_wait.testing import AdapterHandle, FrameworkContract, Handle, Script
from strands import ToolContext, tool  # pyright: ignore[reportUnknownVariableType]  # an overload's dict
from strands.tools.executors import SequentialToolExecutor
from strands_support import Host, returns_in, schema_of
from strands_wait import StrandsAdapter, StrandsFramework, wait

_numbers = itertools.count(1)


class AgentHandle(AdapterHandle):
    """A thread whose agent is made anew for every message, with its session in files."""

    def __init__(
        self,
        functions: Sequence[Callable[..., Any]],
        script: Script,
        folder: Path,
        thread_id: str,
        options: Mapping[str, Any],
    ) -> None:
        super().__init__(thread_id)
        self._made_of = (functions, script, folder, thread_id, options)
        self._tools = [tool(context=_context_of(one))(one) for one in functions]
        self._host = Host(folder, self._tools, *script, **options)

    @contextmanager
    def adapter(self) -> Generator[StrandsAdapter]:
        yield self._host.adapter

    def results(self) -> Mapping[str, Any]:
        return returns_in(self._host.agent(self.thread_id).messages)

    def offered(self) -> Mapping[str, Collection[str]]:
        return {one.tool_name: set(schema_of(one)["properties"]) for one in self._tools}

    def reopen(self) -> "AgentHandle":
        return AgentHandle(*self._made_of)


def _context_of(function: Callable[..., Any]) -> bool | str:
    return "context" if "context" in function.__annotations__ else True


class OfStrands(FrameworkContract):
    framework: Framework = StrandsFramework()
    context: Any = ToolContext
    options: Mapping[str, Any] = {}

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self._folder = tmp_path

    def new_store(self) -> Path:
        return self._folder

    def wait(self, policy: WaitPolicy | None = None, **options: Any) -> Callable[..., Any]:
        return wait(policy, **options)

    def build(self, functions: Sequence[Callable[..., Any]], script: Script, store: Any) -> Handle:
        return AgentHandle(functions, script, store, f"thread-{next(_numbers)}", self.options)


class TestAgent(OfStrands):
    cannot: ClassVar[Mapping[str, str]] = {
        "test_an_effect_has_the_same_key_when_its_process_dies_and_the_answer_comes_again": (
            "the concurrent executor goes on without a call that raised a BaseException"
        ),
    }


class TestAgentThatRunsOneToolAtATime(OfStrands):
    options: Mapping[str, Any] = {"tool_executor": SequentialToolExecutor()}
    cannot: ClassVar[Mapping[str, str]] = {
        "test_parallel_questions_are_all_asked_at_once": "the next tool waits for this one",
        "test_parallel_questions_can_be_answered_all_at_once": "the next tool waits for this one",
    }
