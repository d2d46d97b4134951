"""How `FrameworkContract` sees one thread of a real agent."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from typing import Any, Protocol, TypeAlias

from agent_wait import FrameworkAdapter, InMemoryAnnounce, WaitPublisher

ToolCall: TypeAlias = tuple[str, str, Mapping[str, Any]]
"""The function's name, the call's id, and its arguments."""

Turn: TypeAlias = str | Sequence[ToolCall]
"""What the model says at once: a text, which ends the run, or calls."""

Script: TypeAlias = Sequence[Turn]
"""Turn after turn of the model. Which is due is told by the thread's history, so that a new process knows."""


class Handle(Protocol):
    """One thread of an agent, as its host has it.

    What a run returns is what `Framework.interrupts_in` reads. An error that a run raises passes through.
    """

    thread_id: str
    """The thread, which no other handle has."""

    def run(self, input: str) -> Any:
        """Start the thread with a text; returns the run's result."""
        ...

    async def arun(self, input: str) -> Any:
        """As `run`, awaited."""
        ...

    def resume(self, messages: Sequence[Mapping[str, Any]]) -> Any:
        """Give the thread these answers, as its host does when they arrive.

        Returns:
            The result of the last run that this made; None when it made none, since the answers are kept
            until others are there, or answer nothing that is open.
        """
        ...

    async def aresume(self, messages: Sequence[Mapping[str, Any]]) -> Any:
        """As `resume`, awaited."""
        ...

    def results(self) -> Mapping[str, Any]:
        """What the model was told of each call, by the call's id: the value, or its JSON in a text.

        Where an id comes again in a later turn, its newest.
        """
        ...

    def offered(self) -> Mapping[str, Collection[str]]:
        """The parameters that the model has been offered, by function; empty where no model chooses."""
        ...

    def reopen(self) -> "Handle":
        """The same thread as another process has it: everything but the store is made anew."""
        ...


class AdapterHandle(ABC):
    """A `Handle` on a `FrameworkAdapter`, whose answers go through `WaitPublisher`.

    Write `adapter` (and `aadapter`, where the agent that is awaited is another), `results`, `offered` and
    `reopen`.
    """

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id

    @abstractmethod
    def adapter(self) -> AbstractContextManager[FrameworkAdapter]:
        """The agent, for one call of it."""

    def aadapter(self) -> AbstractAsyncContextManager[FrameworkAdapter]:
        """As `adapter`, for a call that is awaited."""

        @asynccontextmanager
        async def same() -> AsyncGenerator[FrameworkAdapter]:
            with self.adapter() as adapter:
                yield adapter

        return same()

    def input_of(self, text: str) -> Any:
        """What the agent takes to be told this."""
        return text

    def run(self, input: str) -> Any:
        """See `Handle`, as for the others."""
        with self.adapter() as adapter:
            return _publisher(adapter).invoke(self.input_of(input), self.thread_id).result

    async def arun(self, input: str) -> Any:
        """As `run`, awaited."""
        async with self.aadapter() as adapter:
            return (await _publisher(adapter).ainvoke(self.input_of(input), self.thread_id)).result

    def resume(self, messages: Sequence[Mapping[str, Any]]) -> Any:
        """Each message goes through `handle`."""
        result = None
        for message in messages:
            with self.adapter() as adapter:
                outcome = _publisher(adapter).handle(message)
            result = result if outcome.result is None else outcome.result
        return result

    async def aresume(self, messages: Sequence[Mapping[str, Any]]) -> Any:
        """As `resume`, awaited."""
        result = None
        for message in messages:
            async with self.aadapter() as adapter:
                outcome = await _publisher(adapter).ahandle(message)
            result = result if outcome.result is None else outcome.result
        return result

    @abstractmethod
    def results(self) -> Mapping[str, Any]:
        """See `Handle`."""

    @abstractmethod
    def offered(self) -> Mapping[str, Collection[str]]:
        """See `Handle`."""

    @abstractmethod
    def reopen(self) -> Handle:
        """See `Handle`."""


def _publisher(adapter: FrameworkAdapter) -> WaitPublisher:
    return WaitPublisher(adapter, announce=InMemoryAnnounce())
