"""What `FrameworkContract` does to an agent and sees of it."""

# ruff: noqa: S101  # these are assertions, rewritten by pytest: see `__init__.py`

import asyncio
import functools
import inspect
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_wait import (
    Framework,
    InMemoryAnnounce,
    WaitEnvelope,
    current_wait,
    make_apublish_interrupts,
    make_publish_interrupts,
)
from agent_wait.testing._handle import Handle

APPROVE: dict[str, Any] = {"action": "approve"}
_MOST_ASKS = 20
REJECT: dict[str, Any] = {"action": "reject", "reason": "no receipt"}


@dataclass(frozen=True, kw_only=True)
class Body:
    """One time that the body of a waiting function ran: with what, and what it was told of its wait."""

    args: Mapping[str, Any]
    key: str
    thread_id: str
    asked: bool
    answer: Any
    answered_by: str | None
    question_id: str | None


class Died(BaseException):
    """The process is gone, as far as the code that this passes through can tell."""


@dataclass
class Bodies:
    """Every body that ran, in order. The next `dies` of them have their effect and are never heard of."""

    ran: list[Body] = field(default_factory=list[Body])
    dies: int = 0

    def note(self, **args: Any) -> None:
        """To be called by a body."""
        current = current_wait()
        assert current is not None, "a body runs outside of its wait"
        self.ran.append(
            Body(
                args=args,
                key=current.idempotency_key,
                thread_id=current.thread_id,
                asked=current.asked,
                answer=current.answer,
                answered_by=current.answered_by,
                question_id=current.question_id,
            )
        )
        if self.dies:
            self.dies -= 1
            raise Died

    def args(self, name: str) -> list[Any]:
        """The values that one parameter had, sorted, since calls of one turn run in any order."""
        return sorted(body.args[name] for body in self.ran)

    def effects(self, *names: str) -> list[tuple[Any, ...]]:
        """As `args`, of several parameters, and once for each key, as what must not happen twice is."""
        by_key = {body.key: tuple(body.args[name] for name in names) for body in self.ran}
        return sorted(by_key.values())


def awaitable(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function as an `async def`."""

    @functools.wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        await asyncio.sleep(0)
        return function(*args, **kwargs)

    del awaited.__dict__["__wrapped__"]
    awaited.__dict__["__signature__"] = inspect.signature(function)
    return awaited


class Rehearsal:
    """The host of one thread: runs it, publishes what it stops on, and answers.

    Args:
        framework: Reads the results.
        handle: The thread.
        run: How to run a coroutine; None: nothing is awaited.
    """

    def __init__(
        self, framework: Framework, handle: Handle, run: Callable[[Coroutine[Any, Any, Any]], Any] | None
    ) -> None:
        self.handle = handle
        self._framework = framework
        self._run = run
        self.published: list[WaitEnvelope] = []

    def start(self, text: str = "go") -> list[WaitEnvelope]:
        """Run the thread on a text; returns the questions that it stopped on, in the order of the run."""
        if self._run is None:
            return self.publish(self.handle.run(text))
        return self.publish(self._run(self.handle.arun(text)))

    def send(self, *messages: Mapping[str, Any]) -> list[WaitEnvelope] | None:
        """Deliver answers; returns the questions that are open after the run, or None if there was none."""
        given: Sequence[Mapping[str, Any]] = [json.loads(json.dumps(message)) for message in messages]
        result = self.handle.resume(given) if self._run is None else self._run(self.handle.aresume(given))
        return None if result is None else self.publish(result)

    def answer(self, envelope: WaitEnvelope, answer: Any, **changes: Any) -> list[WaitEnvelope] | None:
        """Deliver one answer."""
        return self.send(reply_to(envelope, answer, **changes))

    def settle(
        self, asked: list[WaitEnvelope], answer: Callable[[WaitEnvelope], Any], *, reopening: bool = False
    ) -> None:
        """Answer what is open, the last first, each by a message of its own, until nothing is."""
        for _ in range(_MOST_ASKS):
            if not asked:
                return
            if reopening:
                self.reopen()
            *others, last = asked
            still_open = self.answer(last, answer(last))
            asked = others if still_open is None else still_open
        raise AssertionError(f"{_MOST_ASKS} answers and still asking: {asked!r}")

    def publish(self, result: Any) -> list[WaitEnvelope]:
        """Announce what a run stopped on; an ask that was announced before must look as it did."""
        announced = InMemoryAnnounce()
        if self._run is None:
            publication = make_publish_interrupts(self._framework)(result, self.handle.thread_id, announced)
        else:
            apublish = make_apublish_interrupts(self._framework)
            publication = self._run(apublish(result, self.handle.thread_id, announced))
        publication.raise_for_failures()
        for envelope in publication:
            before = [one for one in self.published if one.dedupe_key == envelope.dedupe_key]
            assert all(_content(one) == _content(envelope) for one in before), "one ask, two contents"
        self.published.extend(publication)
        return list(publication)

    def reopen(self) -> None:
        """Go on in another process."""
        self.handle = self.handle.reopen()

    def told(self, call: str) -> Any:
        """What the model was told of a call: the value, from its JSON if that is what it was told."""
        result = self.handle.results()[call]
        try:
            return json.loads(result) if isinstance(result, str) else result
        except ValueError:
            return result

    @property
    def asks(self) -> set[str]:
        """The name of each ask that was published."""
        return {envelope.dedupe_key for envelope in self.published}


def reply_to(envelope: WaitEnvelope, answer: Any, **changes: Any) -> dict[str, Any]:
    """The message that answers a question."""
    return {**envelope.reply_with, "answer": answer, **changes}


def _content(envelope: WaitEnvelope) -> dict[str, Any]:
    return {name: value for name, value in envelope.to_dict().items() if name != "event_id"}
