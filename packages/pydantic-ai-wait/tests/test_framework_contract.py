"""The contract of every framework, on agents of Pydantic AI."""

import itertools
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from agent_wait import Framework
from agent_wait.testing import AdapterHandle, FrameworkContract, Handle, Script
from pai_support import Ctx, MemoryStore, make_agent, returns_in
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.function import FunctionModel
from pydantic_ai_wait import PydanticAIAdapter, PydanticAIFramework

_numbers = itertools.count(1)


class AgentHandle(AdapterHandle):
    """A thread of an agent, which is made anew by `reopen`."""

    def __init__(
        self, functions: Sequence[Callable[..., Any]], script: Script, store: MemoryStore, thread_id: str
    ) -> None:
        super().__init__(thread_id)
        self._made_of = (functions, script, store)
        self._agent = make_agent(functions, *script)
        self._store = store

    @contextmanager
    def adapter(self) -> Generator[PydanticAIAdapter]:
        yield PydanticAIAdapter(self._agent, self._store)

    def results(self) -> Mapping[str, Any]:
        return returns_in(
            ModelMessagesTypeAdapter.validate_python(self._store.read(self.thread_id)["history"])
        )

    def offered(self) -> Mapping[str, Collection[str]]:
        model = self._agent.model
        assert isinstance(model, FunctionModel)
        script: Any = model.function
        return {name: set(schema["properties"]) for name, schema in script.specs.items()}

    def reopen(self) -> "AgentHandle":
        return AgentHandle(*self._made_of, self.thread_id)


class TestAgent(FrameworkContract):
    framework: Framework = PydanticAIFramework()
    context: Any = Ctx

    def new_store(self) -> MemoryStore:
        return MemoryStore()

    def build(self, functions: Sequence[Callable[..., Any]], script: Script, store: Any) -> Handle:
        return AgentHandle(functions, script, store, f"thread-{next(_numbers)}")
