"""What a run stopped on, out to where it can be answered."""

from collections.abc import AsyncIterable, Awaitable, Iterable, Iterator
from typing import Any, Protocol

from agent_wait._clock import Clock
from agent_wait._deliver import Announce, adeliver, deliver
from agent_wait._envelope import EntryPoint, WaitEnvelope, envelope_for
from agent_wait._framework import Framework
from agent_wait._message import checked_id
from agent_wait._publication import Publication
from agent_wait._question import Question
from agent_wait._types import Transition


def publish(
    questions: Iterable[Question],
    thread_id: str,
    announce: Announce,
    *,
    transition: Transition = "created",
    reply_to: EntryPoint | None = None,
    clock: Clock | None = None,
    budget: float = 10.0,
) -> Publication:
    """Announce questions through every announcer, side by side.

    What an announcer raises, or does not get done within the budget, never comes out of here: it is logged
    and stands in `Publication.failures`. Publishing the same again is harmless, since the `dedupe_key` is
    the same. Works in any thread, also one that runs an event loop, which it then holds up for as long as
    the slowest announcer takes; there, `apublish` is better.

    Args:
        questions: In the order in which they are to be announced.
        thread_id: The conversation they belong to; non-empty.
        announce: One announcer or several.
        transition: `created`: the thread is parked on them. `resumed`: it has moved past them.
        reply_to: Where answers go.
        clock: For `event_id`, and for questions without `asked_at`.
        budget: Seconds to wait for all announcers together. One that takes longer may still deliver: its
            failure says so.

    Raises:
        TypeError: `thread_id` is no text, or something in `announce` is no announcer.
        ValueError: `thread_id` is empty, `transition` unknown, or `budget` not a positive number.
    """
    envelopes = _envelopes(questions, thread_id, transition, reply_to, clock)
    return deliver(envelopes, transition, announce, budget)


async def apublish(
    questions: Iterable[Question],
    thread_id: str,
    announce: Announce,
    *,
    transition: Transition = "created",
    reply_to: EntryPoint | None = None,
    clock: Clock | None = None,
    budget: float = 10.0,
) -> Publication:
    """As `publish`, awaited on asyncio: no announcer blocks the event loop.

    Cancelled, it cancels what is awaited and leaves what is on a thread to itself; what was under way may
    have arrived.
    """
    envelopes = _envelopes(questions, thread_id, transition, reply_to, clock)
    return await adeliver(envelopes, transition, announce, budget)


class PublishInterrupts(Protocol):
    """What `make_publish_interrupts` makes."""

    def __call__(
        self,
        result: Any,
        thread_id: str,
        announce: Announce,
        *,
        reply_to: EntryPoint | None = None,
        clock: Clock | None = None,
        budget: float = 10.0,
    ) -> Publication:
        """Announce what a run stopped on."""
        ...


class APublishInterrupts(Protocol):
    """What `make_apublish_interrupts` makes."""

    async def __call__(
        self,
        result: Any,
        thread_id: str,
        announce: Announce,
        *,
        reply_to: EntryPoint | None = None,
        clock: Clock | None = None,
        budget: float = 10.0,
    ) -> Publication:
        """Announce what a run stopped on."""
        ...


def make_publish_interrupts(framework: Framework) -> PublishInterrupts:
    """`publish_interrupts` for one framework."""

    def publish_interrupts(
        result: Any,
        thread_id: str,
        announce: Announce,
        *,
        reply_to: EntryPoint | None = None,
        clock: Clock | None = None,
        budget: float = 10.0,
    ) -> Publication:
        """Announce what a run stopped on, read from its return value alone.

        Args:
            result: What the run returned; without questions in it, nothing is announced.
            thread_id: As for `publish`, like everything that follows.
            announce: One announcer or several.
            reply_to: Where answers go.
            clock: For `event_id`, and for questions that do not say when they were asked.
            budget: Seconds to wait for all announcers together.

        Raises:
            TypeError: `result` is no result of this framework: not awaited, not read, or something else.
        """
        questions = _questions(framework, result)
        return publish(questions, thread_id, announce, reply_to=reply_to, clock=clock, budget=budget)

    return publish_interrupts


def make_apublish_interrupts(framework: Framework) -> APublishInterrupts:
    """`apublish_interrupts` for one framework."""

    async def apublish_interrupts(
        result: Any,
        thread_id: str,
        announce: Announce,
        *,
        reply_to: EntryPoint | None = None,
        clock: Clock | None = None,
        budget: float = 10.0,
    ) -> Publication:
        """As `publish_interrupts`, awaited on asyncio: no announcer blocks the event loop."""
        questions = _questions(framework, result)
        return await apublish(questions, thread_id, announce, reply_to=reply_to, clock=clock, budget=budget)

    return apublish_interrupts


def _questions(framework: Framework, result: object) -> list[Question]:
    if isinstance(result, Awaitable):
        raise TypeError("the run has not been awaited: publish_interrupts(await ..., ...)")
    if isinstance(result, AsyncIterable | Iterator):
        raise TypeError("this is a stream that has not been read: read it to its end and pass what it gave")
    return [Question.unpack(name, value) for name, value in framework.interrupts_in(result)]


def _envelopes(
    questions: Iterable[Question],
    thread_id: str,
    transition: Transition,
    reply_to: EntryPoint | None,
    clock: Clock | None,
) -> list[WaitEnvelope]:
    checked_id("thread_id", thread_id)
    if transition not in ("created", "resumed"):
        raise ValueError(f"transition is created or resumed, not {transition!r}")
    return [
        envelope_for(question, thread_id, transition=transition, reply_to=reply_to, clock=clock)
        for question in questions
    ]
