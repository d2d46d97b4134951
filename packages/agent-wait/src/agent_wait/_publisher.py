"""The router that every host needs: run the agent, and announce what opened and what closed."""

import logging
import math
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal, TypeVar, cast

from agent_wait._adapter import FrameworkAdapter
from agent_wait._announcer import AnnounceAdapter
from agent_wait._clock import SYSTEM_CLOCK, Clock
from agent_wait._decision import Begin, Given, Resume, Rules, Run
from agent_wait._deliver import adeliver, as_announcers, checked_budget, deliver
from agent_wait._envelope import EntryPoint, WaitEnvelope, envelope_for
from agent_wait._locks import alocked, locked
from agent_wait._message import Answer, Malformed, Start, checked_id, parse_message
from agent_wait._outcome import Outcome, OutcomeKind
from agent_wait._publication import Publication
from agent_wait._question import Question
from agent_wait._router import Announce, Read, Step, converge, republish

_log = logging.getLogger("agent_wait")
_LEVELS: dict[OutcomeKind, int] = {
    "refused": logging.WARNING,
    "busy": logging.WARNING,
    "expired": logging.WARNING,
    "unknown_question": logging.WARNING,
    "already_answered": logging.INFO,
    "republished": logging.INFO,
}
_T = TypeVar("_T")


class WaitPublisher:
    """Drives one agent through a `FrameworkAdapter`, and announces its questions.

    It stores nothing: what a thread is, it reads from the framework's own persistence each time. Within a
    process one message of a thread is handled at a time, whichever publisher and method it comes through;
    across processes the transport has to see to that (an SQS FIFO queue grouped by thread), or a conditional
    write of the host. Do not call it for a thread from within a run of that thread.

    Args:
        adapter: The agent.
        announce: One announcer, or a sequence of them.
        reply_to: Where answers go, as a hint in the envelopes.
        clock: None: the machine's.
        budget: Seconds that one round of announcing may take, above zero.
        late_answers: `refuse`: an answer sent at or after the deadline is `expired`, unless it equals the
            question's declared default. Give `handle` its `sent_at` then.

    Raises:
        ValueError: Another `late_answers`, or a `budget` that is no positive number.
        TypeError: Something in `announce` is no announcer.
    """

    def __init__(
        self,
        adapter: FrameworkAdapter,
        *,
        announce: AnnounceAdapter | Iterable[AnnounceAdapter],
        reply_to: EntryPoint | None = None,
        clock: Clock | None = None,
        budget: float = 10.0,
        late_answers: Literal["accept", "refuse"] = "accept",
    ) -> None:
        if late_answers not in ("accept", "refuse"):
            raise ValueError(f"late_answers is 'accept' or 'refuse', not {late_answers!r}")
        self._adapter = adapter
        self._announcers = as_announcers(announce)
        self._reply_to = reply_to
        self._clock = clock or SYSTEM_CLOCK
        self._budget = checked_budget(budget)
        self._rules = Rules(
            now=self._clock.now, refuse_late=late_answers == "refuse", refusal=adapter.refusal
        )

    def invoke(self, value: Any, thread_id: str, *, config: Any = None) -> Outcome:
        """Run the agent on `value`, whatever the thread is, and announce the difference: `started`.

        It has no `start_id`, so a second call is a second run.

        Args:
            value: What the agent takes: an input, or a resume value of the host's own making.
            thread_id: The conversation.
            config: Merged into the adapter's, mapping by mapping; on a conflict this one wins, but keys that
                begin with `agent_wait` are the library's own and left out.

        Raises:
            ValueError: An empty `thread_id`, or a config that names another thread.
            TypeError: A config for an adapter that has no mapping to merge it into.
            Exception: Whatever the run raised, after what is open has been announced.
        """
        return self._locked(
            converge(Given(thread_id=checked_id("thread_id", thread_id), value=value), self._rules),
            thread_id,
            config,
        )

    async def ainvoke(self, value: Any, thread_id: str, *, config: Any = None) -> Outcome:
        """As `invoke`, awaited."""
        given = Given(thread_id=checked_id("thread_id", thread_id), value=value)
        return await self._alocked(converge(given, self._rules), thread_id, config)

    def handle(self, message: object, *, config: Any = None, sent_at: float | None = None) -> Outcome:
        """Route one message: a start, an answer, or nonsense; see `Outcome` for what becomes of it.

        Deliver a message again until its outcome says `acknowledge`. Whatever happens between two
        deliveries, the thread is taken up where it stands.

        Args:
            message: `{"thread_id", "input", "start_id"?}`, or an answer made by copying `reply_with`:
                `{"thread_id", "question_id", "answer", "ask_id"?, "fingerprint"?, "answered_by"?}`.
            config: As for `invoke`.
            sent_at: When the transport took the message, in seconds since the epoch, the same on every
                delivery (such as SQS's `SentTimestamp`), for `late_answers="refuse"`; never anything that
                the message itself says. None: now, so that an answer that was carried out in time by a
                process that died of it can be late when it comes again.

        Raises:
            ValueError: A config that names another thread, or a `sent_at` that is no moment.
            TypeError: A config for an adapter that has no mapping to merge it into.
            Exception: Whatever the run raised, after what is open has been announced. Do not acknowledge.
        """
        parsed, rules = _routed(message), self._rules_at(sent_at)
        if not isinstance(parsed, Outcome):
            parsed = self._locked(converge(parsed, rules), parsed.thread_id, config)
        return _logged(parsed)

    async def ahandle(self, message: object, *, config: Any = None, sent_at: float | None = None) -> Outcome:
        """As `handle`, awaited."""
        parsed, rules = _routed(message), self._rules_at(sent_at)
        if not isinstance(parsed, Outcome):
            parsed = await self._alocked(converge(parsed, rules), parsed.thread_id, config)
        return _logged(parsed)

    def pending(self, thread_id: str) -> list[Question]:
        """What the thread is parked on, by its framework's persistence; also while it runs. Runs nothing."""
        return list(self._adapter.state(checked_id("thread_id", thread_id)).pending)

    async def apending(self, thread_id: str) -> list[Question]:
        """As `pending`, awaited."""
        return list((await self._adapter.astate(checked_id("thread_id", thread_id))).pending)

    def republish(self, thread_id: str) -> Publication:
        """Announce once more what the thread is parked on. Runs nothing."""
        return self._locked(republish(checked_id("thread_id", thread_id)), thread_id, None)

    async def arepublish(self, thread_id: str) -> Publication:
        """As `republish`, awaited."""
        return await self._alocked(republish(checked_id("thread_id", thread_id)), thread_id, None)

    def _rules_at(self, sent_at: float | None) -> Rules:
        if sent_at is None:
            return self._rules
        if not math.isfinite(sent_at):
            raise ValueError(f"sent_at is seconds since the epoch, not {sent_at!r}")
        return replace(self._rules, now=lambda: sent_at)

    def _locked(self, steps: Generator[Step, Any, _T], thread_id: str, config: Any) -> _T:
        with locked(thread_id):
            return _drive(steps, partial(self._take, thread_id=thread_id, config=config))

    async def _alocked(self, steps: Generator[Step, Any, _T], thread_id: str, config: Any) -> _T:
        async with alocked(thread_id):
            return await _adrive(steps, partial(self._atake, thread_id=thread_id, config=config))

    def _take(self, step: Step, *, thread_id: str, config: Any) -> Any:
        match step:
            case Read():
                return self._adapter.state(thread_id)
            case Announce():
                envelopes = self._envelopes(step, thread_id)
                return deliver(envelopes, step.transition, self._announcers, self._budget)
            case _:
                return self._adapter.invoke(self._value(step), self._config(thread_id, step.starts, config))

    async def _atake(self, step: Step, *, thread_id: str, config: Any) -> Any:
        match step:
            case Read():
                return await self._adapter.astate(thread_id)
            case Announce():
                envelopes = self._envelopes(step, thread_id)
                return await adeliver(envelopes, step.transition, self._announcers, self._budget)
            case _:
                return await self._adapter.ainvoke(
                    self._value(step), self._config(thread_id, step.starts, config)
                )

    def _value(self, step: Run) -> Any:
        match step:
            case Begin():
                return step.value
            case Resume():
                # Only where there is something to say: an adapter without such failures need not take it.
                taken = {} if step.taken is None else {"taken": step.taken}
                return self._adapter.resume_value(step.answer.message, step.question, **taken)
            case _:
                return self._adapter.continue_value()

    def _config(self, thread_id: str, starts: tuple[str, ...], config: Any) -> Any:
        own: Any = self._adapter.config_for(thread_id, starts)
        if config is None:
            return own
        kinds = f"a {type(config).__name__} cannot be merged into {self._adapter.name}'s {type(own).__name__}"
        if not (isinstance(own, Mapping) and isinstance(config, Mapping)):
            raise TypeError(kinds)
        return _merged(cast("Mapping[str, Any]", own), cast("Mapping[str, Any]", config), thread_id)

    def _envelopes(self, step: Announce, thread_id: str) -> list[WaitEnvelope]:
        return [
            envelope_for(
                question,
                thread_id,
                transition=step.transition,
                reply_to=self._reply_to,
                clock=self._clock,
                ask_id=ask,
            )
            for ask, question in step.asks.items()
        ]


def _routed(message: object) -> Start | Answer | Outcome:
    """The message, or its outcome where the thread need not even be looked at."""
    match parse_message(message):
        case Malformed() as bad:
            return Outcome("refused", bad.thread_id, bad.question_id, bad.why, acknowledge=True)
        case Answer(is_decision=True) as answer:
            return Outcome("decision", answer.thread_id, answer.question_id, acknowledge=True)
        case well_formed:
            return well_formed


def _logged(outcome: Outcome) -> Outcome:
    if outcome.kind in _LEVELS:
        _log.log(
            _LEVELS[outcome.kind],
            "%s: thread %r, question %r",
            outcome.kind,
            outcome.thread_id,
            outcome.question_id,
        )
    return outcome


def _merged(own: Mapping[str, Any], given: Mapping[str, Any], thread_id: str) -> dict[str, Any]:
    merged = dict(own)
    for key, value in given.items():
        mine = own.get(key)
        if isinstance(mine, Mapping) and isinstance(value, Mapping):
            merged[key] = _merged(
                cast("Mapping[str, Any]", mine), cast("Mapping[str, Any]", value), thread_id
            )
        elif key == "thread_id" and mine is not None and value != thread_id:
            raise ValueError("the config names another thread than the message")
        elif not (isinstance(key, str) and key.startswith("agent_wait")):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without types
            merged[key] = value
    return merged


def _drive(steps: Generator[Step, Any, _T], take: Callable[[Step], Any]) -> _T:
    send = partial(next, steps)
    while True:
        try:
            step = send()
        except StopIteration as done:
            return done.value
        try:
            send = partial(steps.send, take(step))
        except Exception as error:  # noqa: BLE001  # the router decides, and raises it again
            send = partial(steps.throw, error)


async def _adrive(steps: Generator[Step, Any, _T], take: Callable[[Step], Awaitable[Any]]) -> _T:
    send = partial(next, steps)
    while True:
        try:
            step = send()
        except StopIteration as done:
            return done.value
        try:
            send = partial(steps.send, await take(step))
        except Exception as error:  # noqa: BLE001  # the router decides, and raises it again
            send = partial(steps.throw, error)
