"""The smallest framework there can be, for tests of what every framework owes.

A thread is a dict. Each run goes on where the last one stopped: the calls of the turn that is due are made
again unless they have returned, and a call finds the answers that it has been given.
"""

import copy
import inspect
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from agent_wait import JSON, Framework, Question, unwrap_answer, wrap_answer
from agent_wait._identity import ask_id
from agent_wait.testing import Handle, Script, ToolCall


class Park(BaseException):
    """Stops a call."""


@dataclass
class Thread:
    """What is stored of a thread."""

    id: str
    spoken: int = 0
    returned: dict[str, Any] = field(default_factory=dict[str, Any])
    answers: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    parked: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class Stopped:
    """A run's result."""

    parked: list[tuple[str, Any]]


_running: ContextVar[tuple[Thread, str]] = ContextVar("toy")
"""The thread, and the name of the call in it."""


class ThreeMethods(Framework):
    """Three methods and a name, and the name of the parameter that it injects."""

    name = "toy"
    hidden_params = ("context",)

    def interrupt(self, value: dict[str, JSON], call_args: Mapping[str, Any]) -> Any:
        ask: Any = value["__ask__"]
        thread, call = _running.get()
        given = [one for one in thread.answers.get(call, []) if self.is_for(one, ask)]
        if len(given) >= ask["attempt"]:
            return given[-1]
        thread.parked.setdefault(f"{call}/{ask['attempt']}", value)
        raise Park

    def is_for(self, answer: Any, ask: Mapping[str, Any]) -> bool:
        wrapped = unwrap_answer(answer)
        return wrapped is not None and wrapped.fingerprint == ask["fingerprint"]

    def interrupts_in(self, result: Any) -> list[tuple[str, Any]]:
        if not isinstance(result, Stopped):
            raise TypeError("no result of a toy")
        return result.parked

    def current_thread_id(self, call_args: Mapping[str, Any]) -> str:
        return _running.get()[0].id


class Toy(ThreeMethods):
    """And two more, that it may name equal calls apart and see an answer ahead."""

    def call_identity(self, question: JSON, call_args: Mapping[str, Any]) -> JSON:
        return _running.get()[1]

    def answered(self, value: dict[str, JSON], call_args: Mapping[str, Any]) -> bool:
        thread, call = _running.get()
        return call in thread.answers


class ToyHandle:
    """A thread of the toy, as a host has it. `context` of a function is the thread's id."""

    def __init__(
        self,
        functions: Sequence[Callable[..., Any]],
        script: Script,
        store: dict[str, Thread],
        thread_id: str,
    ) -> None:
        self.functions, self.script, self.store, self.thread_id = functions, script, store, thread_id

    def run(self, input: str) -> Stopped:
        return _finish(self.arun(input))

    async def arun(self, input: str) -> Stopped:
        with self._all_or_nothing():
            return await self._speak()

    async def _speak(self) -> Stopped:
        thread = self.store.setdefault(self.thread_id, Thread(self.thread_id))
        while True:
            thread.spoken += 1
            turn = self.script[thread.spoken - 1]
            if isinstance(turn, str):
                return Stopped([])
            thread.returned = {}
            stopped = await self.go_on(turn)
            if stopped.parked:
                return stopped

    def resume(self, messages: Sequence[Mapping[str, Any]]) -> Stopped | None:
        return _finish(self.aresume(messages))

    async def aresume(self, messages: Sequence[Mapping[str, Any]]) -> Stopped | None:
        with self._all_or_nothing():
            taken = [message for message in messages if self.take(message)]
            turn = self.script[self.store[self.thread_id].spoken - 1]
            if not taken or isinstance(turn, str):
                return None
            stopped = await self.go_on(turn)
            return stopped if stopped.parked else await self._speak()

    @contextmanager
    def _all_or_nothing(self) -> Generator[None]:
        before = copy.deepcopy(self.store)
        try:
            yield
        except BaseException:
            self.store.clear()
            self.store.update(before)
            raise

    def take(self, message: Mapping[str, Any]) -> bool:
        """Store an answer, if it is one to what is open."""
        thread = self.store[self.thread_id]
        value = thread.parked.get(message["question_id"])
        if value is None or not self.fits(message, Question.unpack(message["question_id"], value)):
            return False
        call = message["question_id"].rpartition("/")[0]
        thread.answers.setdefault(call, []).append(wrap_answer(message, at=0))
        del thread.parked[message["question_id"]]
        return True

    def fits(self, message: Mapping[str, Any], question: Question) -> bool:
        """Whether the message names what is open: the call, and this thread's ask of it."""
        ask = ask_id(self.thread_id, question)
        return message["fingerprint"] == question.fingerprint and message["ask_id"] in (None, ask)

    async def go_on(self, turn: Sequence[ToolCall]) -> Stopped:
        thread = self.store[self.thread_id]
        for name, call, args in turn:
            if call not in thread.returned:
                _running.set((thread, f"{thread.spoken}/{call}"))
                try:
                    thread.returned[call] = await self._call(name, dict(args))
                except Park:
                    continue
        return Stopped(list(thread.parked.items()))

    async def _call(self, name: str, args: dict[str, Any]) -> Any:
        function = next(one for one in self.functions if one.__name__ == name)
        known = inspect.signature(function).parameters
        given = {key: value for key, value in args.items() if key in known}
        if "context" in known:
            given["context"] = self.thread_id
        result = function(**given)
        return await result if inspect.isawaitable(result) else result

    def results(self) -> Mapping[str, Any]:
        return self.store[self.thread_id].returned

    def offered(self) -> Mapping[str, Collection[str]]:
        return {one.__name__: set(inspect.signature(one).parameters) - {"context"} for one in self.functions}

    def reopen(self) -> Handle:
        return type(self)(self.functions, self.script, self.store, self.thread_id)


def _finish(run: Any) -> Any:
    """Run a coroutine that awaits nothing but plain functions."""
    try:
        run.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("a plain function was awaited")
