"""Questions out to every announcer, side by side, with nothing swallowed."""

import asyncio
import contextvars
import json
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast
from unittest.mock import Mock

import pytest
from agent_wait._announcer import BaseAnnounce
from agent_wait._clock import FakeClock
from agent_wait._deliver import CompositeAnnounce
from agent_wait._envelope import EntryPoint, WaitEnvelope
from agent_wait._errors import AnnounceError, AnnounceFailed
from agent_wait._framework import Framework
from agent_wait._memory import FailingAnnounce, InMemoryAnnounce
from agent_wait._publication import Publication
from agent_wait._publish import apublish, make_apublish_interrupts, make_publish_interrupts, publish
from agent_wait._question import Question
from agent_wait._types import JSON, Transition

FINGERPRINT = f"sha256:{7:064}"
SHORT = 0.25  # seconds that a hang is waited for
QUESTIONS = [Question(f"q-{n}", {"iban": f"DE0{n}"}) for n in range(1, 4)]


def publish_sync(*args: Any, **kwargs: Any) -> Publication:
    return publish(*args, **kwargs)


def publish_async(*args: Any, **kwargs: Any) -> Publication:
    return asyncio.run(apublish(*args, **kwargs))


def publish_inside_a_loop(*args: Any, **kwargs: Any) -> Publication:
    async def run() -> Publication:
        return publish(*args, **kwargs)

    return asyncio.run(run())


Publish = Callable[..., Publication]
every_way = pytest.mark.parametrize("publish_", [publish_sync, publish_async, publish_inside_a_loop])


class Structural:
    """Anything with the three names."""

    def __init__(self, announce: Callable[[WaitEnvelope], Any], name: Any = "structural") -> None:
        self.name = name
        self._announce = announce
        self.wants: Callable[[Transition], bool] = lambda _: True

    def supports(self, transition: Transition) -> bool:
        return self.wants(transition)

    def announce(self, envelope: WaitEnvelope, transition: Transition) -> Any:
        return self._announce(envelope)


def raising(error: BaseException) -> Callable[[object], Any]:
    def fail(_: object) -> None:
        raise error

    return fail


class Hanging(BaseAnnounce):
    """Hangs at its n-th envelope until the test is over."""

    def __init__(self, at: int = 1) -> None:
        super().__init__()
        self.at = at
        self.taken: list[str] = []
        self.release = threading.Event()
        self.back = threading.Event()

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        self.taken.append(envelope.question_id)
        if len(self.taken) == self.at:
            self.release.wait()
            self.back.set()


@pytest.fixture
def hanging() -> Generator[Hanging]:
    announcer = Hanging()
    yield announcer
    announcer.release.set()
    assert announcer.back.wait(50)


@every_way
def test_every_announcer_gets_every_envelope_in_order(publish_: Publish) -> None:
    first, second = InMemoryAnnounce(), InMemoryAnnounce()
    clock = FakeClock()

    publication = publish_(
        QUESTIONS, "t-1", [first, second], reply_to=EntryPoint("sqs", "https://queue"), clock=clock
    )

    assert [envelope.question_id for envelope in publication] == ["q-1", "q-2", "q-3"]
    assert publication.failures == ()
    assert first.events == second.events == list(publication)
    assert publication[0].thread_id == "t-1"
    assert publication[0].type == "wait.created"
    assert publication[0].reply_to == {"kind": "sqs", "url": "https://queue"}
    assert publication[0].asked_at == "2025-10-09T08:53:20Z"
    publication.raise_for_failures()


@every_way
def test_nothing_to_publish_is_an_empty_publication(publish_: Publish) -> None:
    memory = InMemoryAnnounce()

    publication = publish_([], "t-1", memory)

    assert (len(publication), publication.failures, memory.events) == (0, (), [])


@every_way
@pytest.mark.parametrize("several", [tuple, list, iter])
def test_announce_is_one_announcer_or_several(publish_: Publish, several: Callable[[Any], Any]) -> None:
    memory = InMemoryAnnounce()

    publish_(QUESTIONS, "t-1", memory)
    publish_(QUESTIONS, "t-1", several([memory, memory]))

    assert len(memory.events) == 9


@every_way
@pytest.mark.parametrize(
    ("announce", "said"),
    [
        (InMemoryAnnounce, "not the class InMemoryAnnounce (make one first)"),
        ([InMemoryAnnounce], "the class InMemoryAnnounce (make one first) is no announcer"),
        ("sns", "not str"),
        (None, "not NoneType"),
        ([None], "NoneType is no announcer: it needs name, supports() and announce()"),
        ([[InMemoryAnnounce()]], "list is no announcer"),
    ],
)
def test_what_is_no_announcer_is_a_type_error(publish_: Publish, announce: Any, said: str) -> None:
    with pytest.raises(TypeError) as raised:
        publish_(QUESTIONS, "t-1", announce)
    assert said in str(raised.value)


class Proxy:
    """Looks like what it stands for, as a wrapper that traces calls does."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def __getattribute__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_wrapped"), name)


@every_way
def test_what_looks_like_an_announcer_of_ours_is_announced_through(publish_: Publish) -> None:
    memory, inner = InMemoryAnnounce(), InMemoryAnnounce()

    publication = publish_(QUESTIONS, "t-1", [Proxy(memory), Proxy(CompositeAnnounce([inner]))])

    publication.raise_for_failures()
    assert memory.events == inner.events == list(publication)


@every_way
def test_a_mock_of_an_announcer_has_not_surely_delivered(publish_: Publish) -> None:
    publication = publish_(QUESTIONS, "t-1", [Mock(spec=kind) for kind in (BaseAnnounce, CompositeAnnounce)])

    assert len(publication.failures) == 2 * len(publication)


@every_way
def test_an_announcer_cannot_take_an_envelope_out_of_a_publication(publish_: Publish) -> None:
    class Greedy(BaseAnnounce):
        def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None: ...

        def deliver_many(
            self, envelopes: Sequence[WaitEnvelope], transition: Transition
        ) -> list[Exception | None]:
            assert isinstance(envelopes, list)
            envelopes.clear()
            return []

    memory = InMemoryAnnounce()

    publication = publish_(QUESTIONS, "t-1", [Greedy(), memory])

    assert len(publication) == len(publication.failures) == len(memory.events) == len(QUESTIONS)


@every_way
@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"thread_id": ""}, ValueError),
        ({"thread_id": None}, TypeError),
        ({"thread_id": 7}, TypeError),
        ({"transition": "closed"}, ValueError),
        ({"budget": 0}, ValueError),
        ({"budget": -1.0}, ValueError),
        ({"budget": float("nan")}, ValueError),
        ({"budget": float("inf")}, ValueError),
    ],
)
def test_arguments_that_cannot_be_meant_are_refused(
    publish_: Publish, changed: dict[str, Any], error: type[Exception]
) -> None:
    memory = InMemoryAnnounce()

    with pytest.raises(error):
        publish_(**{"questions": QUESTIONS, "thread_id": "t-1", "announce": memory, **changed})
    assert memory.events == []


@every_way
def test_both_transitions_go_out(publish_: Publish) -> None:
    memory = InMemoryAnnounce()

    publication = publish_(QUESTIONS, "t-1", memory, transition="resumed")

    assert {envelope.type for envelope in publication} == {"wait.resumed"}
    assert memory.transitions == ["resumed"] * 3


class Falsy(Exception):
    def __len__(self) -> int:
        return 0


ODD_ERRORS = [
    Falsy(),
    OSError("unreachable"),
    TypeError("Object of type Decimal is not JSON serializable"),
    UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
    RecursionError(),
    StopIteration(),
    StopAsyncIteration(),
    TimeoutError(),
    AnnounceError("x"),
    ExceptionGroup("several", [OSError()]),
]


class Awaited(BaseAnnounce):
    def __init__(self, adeliver: Callable[[WaitEnvelope], Awaitable[None]]) -> None:
        super().__init__()
        self._adeliver = adeliver

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        asyncio.run(self.adeliver(envelope, transition))

    async def adeliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        await self._adeliver(envelope)


class Batch(BaseAnnounce):
    def __init__(self, deliver_many: Callable[[Sequence[WaitEnvelope]], Any]) -> None:
        super().__init__()
        self._deliver_many = deliver_many
        self.single: list[WaitEnvelope] = []

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        self.single.append(envelope)

    def deliver_many(self, envelopes: Sequence[WaitEnvelope], transition: Transition) -> Any:
        return self._deliver_many(envelopes)


def failing_in_every_way(error: BaseException) -> list[Any]:
    async def afail(_: WaitEnvelope) -> None:
        raise error

    unsure = Structural(lambda _: None)
    unsure.wants = raising(error)
    return [
        FailingAnnounce(error),
        Awaited(afail),
        Batch(raising(error)),
        Structural(raising(error)),
        unsure,
    ]


@pytest.mark.requirement("ANNOUNCER-EXCEPTION")
@every_way
@pytest.mark.parametrize("error", ODD_ERRORS, ids=lambda error: type(error).__name__)
def test_whatever_an_announcer_raises_stands_in_failures_and_the_others_are_served(
    publish_: Publish, error: Exception
) -> None:
    memory = InMemoryAnnounce()

    for failing in failing_in_every_way(error):
        memory.clear()
        publication = publish_(QUESTIONS, "t-1", [failing, memory])

        assert [failure.envelope for failure in publication.failures] == list(publication)
        assert {failure.announcer for failure in publication.failures} == {failing.name}
        assert memory.events == list(publication)
        if not isinstance(error, (StopIteration, StopAsyncIteration)):  # a coroutine may not raise these
            assert [failure.error for failure in publication.failures] == [error] * 3


@pytest.mark.requirement("ANNOUNCER-EXCEPTION")
@every_way
@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError()])
def test_what_is_to_end_the_program_or_the_task_passes_when_the_others_are_served(
    publish_: Publish, stop: BaseException
) -> None:
    memory = InMemoryAnnounce()

    for failing in failing_in_every_way(stop):
        memory.clear()
        with pytest.raises(type(stop)):
            publish_(QUESTIONS, "t-1", [failing, memory])
        assert len(memory.events) == 3


@pytest.mark.requirement("FAILED-IS-VISIBLE")
@every_way
@pytest.mark.parametrize("structural", [True, False])
def test_a_failure_of_the_second_of_three_is_the_failure_of_that_one_and_logged_once(
    publish_: Publish, structural: bool, caplog: pytest.LogCaptureFixture
) -> None:
    error, arrived = OSError("DE02 refused"), list[str]()

    def announce(envelope: WaitEnvelope) -> None:
        if envelope.question_id == "q-2":
            raise error
        arrived.append(envelope.question_id)

    class Ours(BaseAnnounce):
        def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
            announce(envelope)

    publication = publish_(QUESTIONS, "t-1", Structural(announce) if structural else Ours())

    (failure,) = publication.failures
    assert (failure.envelope, failure.error) == (publication[1], error)
    assert arrived == ["q-1", "q-3"]
    (line,) = caplog.messages
    assert json.loads(line.partition(": ")[2])["question_id"] == "q-2"
    assert "DE02" not in line
    assert "DE02" not in repr(publication.failures)
    with pytest.raises(AnnounceFailed) as raised:
        publication.raise_for_failures()
    assert raised.value.exceptions == (error,)


@every_way
def test_an_announcer_that_returns_an_exception_has_failed(publish_: Publish) -> None:
    error = OSError()

    publication = publish_(QUESTIONS[:1], "t-1", Structural(lambda _: error))

    assert [failure.error for failure in publication.failures] == [error]


async def nothing() -> None: ...


@every_way
@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (lambda: False, "an announcer returns None or an exception, not bool: unknown, may have arrived"),
        (KeyboardInterrupt, "not KeyboardInterrupt"),
        (nothing, "announce is async, so nothing was sent: subclass BaseAnnounce and write adeliver"),
    ],
)
def test_an_announcer_that_returns_something_else_has_not_surely_delivered(
    publish_: Publish, returned: Callable[[], Any], said: str
) -> None:
    publication = publish_(QUESTIONS[:1], "t-1", Structural(lambda _: returned()))

    (failure,) = publication.failures
    assert isinstance(failure.error, TypeError)
    assert said in str(failure.error)


@pytest.mark.parametrize("name", ["", None, 7, property(raising(OSError()))])
def test_an_announcer_without_a_proper_name_goes_by_its_class(name: Any) -> None:
    class Nameless(Structural):
        pass

    announcer = Nameless(raising(OSError()))
    if isinstance(name, property):
        setattr(Nameless, "name", name)  # noqa: B010  # a property
    else:
        announcer.name = name

    (failure,) = publish(QUESTIONS[:1], "t-1", announcer).failures

    assert failure.announcer == "Nameless"


@every_way
def test_an_announcer_is_not_called_for_what_it_does_not_want(publish_: Publish) -> None:
    structural = Structural(raising(AssertionError("called")))
    structural.wants = lambda transition: transition == "created"

    publication = publish_(
        QUESTIONS, "t-1", [structural, FailingAnnounce(only=("created",)), Uncalled()], transition="resumed"
    )

    assert publication.failures == ()


class Uncalled(BaseAnnounce):
    def __init__(self) -> None:
        super().__init__(only=("created",))

    async def adeliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        raise AssertionError("called")


@every_way
def test_a_hang_is_reported_as_unknown_and_the_others_are_served(publish_: Publish, hanging: Hanging) -> None:
    memory = InMemoryAnnounce()

    publication = publish_(QUESTIONS, "t-1", [hanging, memory], budget=SHORT)

    assert [failure.envelope for failure in publication.failures] == list(publication)
    for failure in publication.failures:
        assert isinstance(failure.error, AnnounceError)
        assert str(failure.error) == "no answer within 0.25 s: unknown, may have arrived"
        assert (failure.error.announcer, failure.error.retryable) == ("Hanging", True)
    assert memory.events == list(publication)


@every_way
def test_what_arrived_before_a_hang_has_not_failed_and_nothing_is_sent_after_it(
    publish_: Publish, hanging: Hanging
) -> None:
    hanging.at = 2
    before = set(threading.enumerate())

    publication = publish_(QUESTIONS, "t-1", hanging, budget=SHORT)
    (thread,) = set(threading.enumerate()) - before
    hanging.release.set()
    thread.join(50)

    assert [failure.envelope.question_id for failure in publication.failures] == ["q-2", "q-3"]
    assert hanging.taken == ["q-1", "q-2"]


@every_way
def test_context_variables_reach_the_announcers(publish_: Publish) -> None:
    tenant = contextvars.ContextVar("tenant", default="none")
    tenant.set("acme")
    seen: list[str] = []

    async def adeliver(_: WaitEnvelope) -> None:
        seen.append(tenant.get())

    publish_(QUESTIONS[:1], "t-1", [Structural(lambda _: seen.append(tenant.get())), Awaited(adeliver)])

    assert seen == ["acme", "acme"]


@every_way
def test_one_question_is_delivered_and_several_are_delivered_in_one_batch(publish_: Publish) -> None:
    batches: list[list[str]] = []

    def deliver_many(envelopes: Sequence[WaitEnvelope]) -> list[None]:
        batches.append([envelope.question_id for envelope in envelopes])
        return [None] * len(envelopes)

    announcer = Batch(deliver_many)
    one = publish_(QUESTIONS[:1], "t-1", announcer)
    several = publish_(QUESTIONS, "t-1", announcer)

    assert announcer.single == list(one)
    assert batches == [["q-1", "q-2", "q-3"]]
    assert (one.failures, several.failures) == ((), ())


@every_way
def test_an_entry_of_a_batch_that_failed_is_the_failure_of_its_envelope(publish_: Publish) -> None:
    error = OSError()

    publication = publish_(QUESTIONS, "t-1", Batch(lambda _: (None, None, error)))

    (failure,) = publication.failures
    assert (failure.envelope, failure.error) == (publication[2], error)


async def no_batch() -> list[None]:
    return []


@every_way
@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (lambda: None, "deliver_many owes 3 entries, gave a NoneType: unknown, may have arrived"),
        (lambda: [None] * 2, "deliver_many owes 3 entries, gave 2: unknown, may have arrived"),
        (lambda: [None] * 4, "deliver_many owes 3 entries, gave 4: unknown, may have arrived"),
        (
            lambda: iter([None] * 3),
            "deliver_many owes 3 entries, gave a list_iterator: unknown, may have arrived",
        ),
        (lambda: "yes", "an announcer returns None or an exception, not str: unknown, may have arrived"),
        (no_batch, "deliver_many is async, so nothing was sent: override adeliver instead"),
    ],
)
def test_a_batch_without_one_good_entry_for_each_envelope_has_failed(
    publish_: Publish, returned: Callable[[], Any], said: str
) -> None:
    publication = publish_(QUESTIONS, "t-1", Batch(lambda _: returned()))

    assert [str(failure.error) for failure in publication.failures] == [said] * 3


@every_way
def test_a_subclass_that_overrides_deliver_is_called_through_it(publish_: Publish) -> None:
    class Filtered(Batch):
        def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
            if envelope.question_id != "q-2":
                super().deliver(envelope, transition)

    class FilteredAwaited(Awaited):
        def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
            single.append(envelope.question_id)

    single: list[str] = []
    batch = Filtered(raising(AssertionError("called")))

    publication = publish_(QUESTIONS, "t-1", [batch, FilteredAwaited(raising(AssertionError("called")))])

    assert publication.failures == ()
    assert [envelope.question_id for envelope in batch.single] == ["q-1", "q-3"]
    assert single == ["q-1", "q-2", "q-3"]


@every_way
def test_a_subclass_that_overrides_announce_is_called_through_it(publish_: Publish) -> None:
    class Counting(InMemoryAnnounce):
        def announce(self, envelope: WaitEnvelope, transition: Transition) -> Exception | None:
            announced.append(envelope)
            return super().announce(envelope, transition)

    announced: list[WaitEnvelope] = []
    memory = Counting()

    publication = publish_(QUESTIONS, "t-1", memory)

    assert announced == memory.events == list(publication)


def test_an_announcer_with_an_async_client_is_awaited_on_the_loop_in_order() -> None:
    loops, arrived = list[object](), list[str]()

    async def adeliver(envelope: WaitEnvelope) -> None:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        arrived.append(envelope.question_id)

    async def run() -> object:
        await apublish(QUESTIONS, "t-1", Awaited(adeliver))
        return asyncio.get_running_loop()

    assert {asyncio.run(run())} == set(loops)
    assert arrived == ["q-1", "q-2", "q-3"]


def test_an_announcer_that_can_only_be_awaited_is_awaited_and_fails_where_it_cannot_be() -> None:
    class OnlyAwaited(BaseAnnounce):
        async def adeliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
            arrived.append(envelope.question_id)

    arrived: list[str] = []

    assert publish_async(QUESTIONS, "t-1", OnlyAwaited()).failures == ()
    assert arrived == ["q-1", "q-2", "q-3"]
    failures = publish(QUESTIONS, "t-1", OnlyAwaited()).failures
    assert [str(failure.error) for failure in failures] == ["OnlyAwaited has no deliver()"] * 3


def test_an_announcer_with_both_gets_several_in_one_batch_when_awaited() -> None:
    class Both(Batch):
        async def adeliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
            awaited.append(envelope)

    awaited: list[WaitEnvelope] = []
    announcer = Both(lambda envelopes: [None] * len(envelopes))

    publish_async(QUESTIONS, "t-1", announcer)
    assert awaited == []
    one = publish_async(QUESTIONS[:1], "t-1", announcer)
    assert awaited == list(one)


def test_one_of_several_that_fails_when_awaited_is_the_failure_of_that_one() -> None:
    error = OSError()

    async def adeliver(envelope: WaitEnvelope) -> None:
        if envelope.question_id == "q-2":
            raise error

    publication = publish_async(QUESTIONS, "t-1", Awaited(adeliver))

    (failure,) = publication.failures
    assert (failure.envelope, failure.error) == (publication[1], error)


def test_nothing_is_sent_after_its_budget_by_an_announcer_that_will_not_be_cancelled() -> None:
    taken: list[str] = []

    async def run() -> Publication:
        release, back = asyncio.Event(), asyncio.Event()

        async def stubborn(envelope: WaitEnvelope) -> None:
            taken.append(envelope.question_id)
            while not release.is_set():
                with suppress(asyncio.CancelledError):
                    await release.wait()
            back.set()

        publication = await apublish(QUESTIONS, "t-1", Awaited(stubborn), budget=SHORT)
        release.set()
        await back.wait()
        await asyncio.sleep(0)
        return publication

    assert len(asyncio.run(run()).failures) == 3
    assert taken == ["q-1"]


def test_a_cancelled_publish_cancels_what_is_awaited_and_sends_nothing_more(hanging: Hanging) -> None:
    arrived: list[str] = []

    async def run() -> None:
        started = asyncio.Event()

        async def adeliver(envelope: WaitEnvelope) -> None:
            started.set()
            await asyncio.sleep(0)
            await asyncio.Event().wait()
            arrived.append(envelope.question_id)

        publishing = asyncio.create_task(apublish(QUESTIONS, "t-1", [hanging, Awaited(adeliver)]))
        await started.wait()
        publishing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await publishing
        assert {task for task in asyncio.all_tasks() if task is not asyncio.current_task()} == set()

    before = set(threading.enumerate())
    asyncio.run(run())
    (thread,) = set(threading.enumerate()) - before
    hanging.release.set()
    thread.join(50)
    assert hanging.taken == ["q-1"]
    assert arrived == []


@pytest.mark.parametrize("turns", range(30))
def test_whenever_a_publish_is_cancelled_nothing_of_it_is_left(turns: int) -> None:
    left: list[object] = []

    async def adeliver(envelope: WaitEnvelope) -> None:
        try:
            await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0)

    async def run() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: left.append(context))
        announce = [Awaited(adeliver), InMemoryAnnounce(), CompositeAnnounce([Awaited(adeliver)])]
        publishing = loop.create_task(apublish(QUESTIONS, "t-1", announce))
        for _ in range(turns):
            await asyncio.sleep(0)
        publishing.cancel()
        with suppress(asyncio.CancelledError):  # it may have been done by then
            await publishing
        left.extend(task for task in asyncio.all_tasks() if task is not asyncio.current_task())

    asyncio.run(run())
    assert left == []


def test_an_awaited_publish_never_blocks_the_loop(hanging: Hanging) -> None:
    async def run() -> int:
        publishing = asyncio.create_task(apublish(QUESTIONS, "t-1", hanging, budget=SHORT))
        turns = 0
        while not publishing.done():
            await asyncio.sleep(0)
            turns += 1
        return turns

    assert asyncio.run(run()) > 20


@every_way
def test_a_composite_s_announcers_count_as_if_listed(publish_: Publish) -> None:
    first, second, third = InMemoryAnnounce(), InMemoryAnnounce(), FailingAnnounce()
    nested = CompositeAnnounce([CompositeAnnounce([first, third]), second])

    publication = publish_(QUESTIONS[:1], "t-1", nested)

    assert first.events == second.events == list(publication)
    assert [failure.announcer for failure in publication.failures] == ["FailingAnnounce"]


@every_way
def test_a_composite_passes_on_only_what_it_wants(publish_: Publish) -> None:
    memory = InMemoryAnnounce()
    composite = CompositeAnnounce([memory], only=("created",))

    publish_(QUESTIONS, "t-1", CompositeAnnounce([composite]), transition="resumed")

    assert memory.events == []


@every_way
def test_a_composite_s_budget_holds_inside_a_publish_that_has_more(
    publish_: Publish, hanging: Hanging
) -> None:
    publication = publish_(QUESTIONS[:1], "t-1", CompositeAnnounce([hanging], budget=SHORT), budget=50)

    (failure,) = publication.failures
    assert str(failure.error) == "no answer within 0.25 s: unknown, may have arrived"


def test_a_composite_by_itself_delivers_through_all_and_says_what_went_wrong(
    caplog: pytest.LogCaptureFixture,
) -> None:
    memory, first, second = InMemoryAnnounce(), FailingAnnounce(), FailingAnnounce(OSError())
    (envelope,) = publish(QUESTIONS[:1], "t-1", memory)

    assert CompositeAnnounce([memory]).announce(envelope, "created") is None
    assert CompositeAnnounce([memory, first]).announce(envelope, "created") is first.error
    assert len(caplog.messages) == 1
    several = CompositeAnnounce([first, memory, second]).announce(envelope, "created")
    assert isinstance(several, AnnounceFailed)
    assert several.exceptions == (first.error, second.error)
    assert len(memory.events) == 4


def test_a_composite_has_the_three_ways_of_any_announcer() -> None:
    memory, failing = InMemoryAnnounce(), FailingAnnounce()
    envelopes = list(publish(QUESTIONS, "t-1", memory))
    memory.clear()
    good, bad = CompositeAnnounce([memory]), CompositeAnnounce([failing])

    good.deliver(envelopes[0], "created")
    asyncio.run(good.adeliver(envelopes[1], "created"))
    assert good.deliver_many(envelopes[2:], "created") == [None]
    assert memory.events == envelopes
    assert bad.deliver_many(envelopes, "created") == [failing.error] * 3
    failing.error = Falsy()
    with pytest.raises(Falsy):
        bad.deliver(envelopes[0], "created")
    with pytest.raises(Falsy):
        asyncio.run(bad.adeliver(envelopes[0], "created"))


def test_a_composite_is_made_of_announcers_and_is_not_subclassed() -> None:
    with pytest.raises(TypeError, match="str is no announcer"):
        CompositeAnnounce(["sns"])  # pyright: ignore[reportArgumentType]  # the point of it
    with pytest.raises(ValueError, match="budget is a positive number of seconds, not 0"):
        CompositeAnnounce([], budget=0)
    with pytest.raises(TypeError, match="what a subclass overrides would not be called"):
        type("Sub", (CompositeAnnounce,), {})


class Results(Framework):
    """A framework whose result is a dict of what it stopped on."""

    name = "results"

    def interrupt(self, value: dict[str, JSON], call_args: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def interrupts_in(self, result: Any) -> list[tuple[str, Any]]:
        if not isinstance(result, dict):
            raise TypeError("no result")
        return [*cast("dict[str, Any]", result).items()]

    def current_thread_id(self, call_args: Mapping[str, Any]) -> str:
        raise NotImplementedError


def apublish_interrupts(*args: Any, **kwargs: Any) -> Publication:
    return asyncio.run(make_apublish_interrupts(Results())(*args, **kwargs))


both_twins = pytest.mark.parametrize(
    "publish_interrupts", [make_publish_interrupts(Results()), apublish_interrupts]
)


@both_twins
def test_what_a_run_stopped_on_is_announced(publish_interrupts: Publish) -> None:
    memory, packed = (
        InMemoryAnnounce(),
        Question("q-1", {"amount": 7}, asked_at=0.5, fingerprint=FINGERPRINT),
    )

    publication = publish_interrupts(
        {"q-1": packed.pack(), "q-2": "bare"},
        "t-1",
        [memory],
        reply_to=EntryPoint("lambda", "arn:x"),
        clock=FakeClock(),
        budget=5,
    )

    first, second = memory.events
    assert (first.question_id, first.question, first.fingerprint) == (
        "q-1",
        {"amount": 7},
        FINGERPRINT,
    )
    assert first.asked_at == "1970-01-01T00:00:00Z"
    assert (second.question_id, second.question, second.fingerprint) == ("q-2", "bare", None)
    assert second.asked_at == "2025-10-09T08:53:20Z"
    assert second.reply_to == {"kind": "lambda", "arn": "arn:x"}
    assert list(publication) == memory.events


@both_twins
def test_a_run_that_went_through_announces_nothing(publish_interrupts: Publish) -> None:
    memory = InMemoryAnnounce()

    assert len(publish_interrupts({}, "t-1", memory)) == 0
    assert memory.events == []


async def arun() -> None: ...


async def astream() -> Any:
    yield 1


@both_twins
@pytest.mark.parametrize(
    ("unread", "said"),
    [
        (arun, "the run has not been awaited: publish_interrupts(await ..., ...)"),
        (astream, "this is a stream that has not been read"),
        (lambda: (n for n in range(2)), "this is a stream that has not been read: read it to its end"),
        (lambda: iter([{}]), "stream that has not been read"),
        (lambda: "done", "no result"),
    ],
)
def test_what_is_no_result_yet_is_a_type_error_with_the_cure(
    publish_interrupts: Publish, unread: Callable[[], Any], said: str
) -> None:
    memory, result = InMemoryAnnounce(), unread()

    with pytest.raises(TypeError) as raised:
        publish_interrupts(result, "t-1", memory)
    assert said in str(raised.value)
    assert memory.events == []
    if asyncio.iscoroutine(result):
        result.close()


def test_importing_it_all_costs_no_more_than_it_needs() -> None:
    program = """
import sys
import agent_wait._publish, agent_wait._log, agent_wait._memory, agent_wait._webhook, agent_wait._signing
heavy = {"asyncio", "email", "http", "http.client", "socket", "ssl", "urllib.request"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
