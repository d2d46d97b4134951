"""`BaseAnnounce`: one method to write, and the rest follows."""

import asyncio
import json
import logging
import threading
from typing import Any

import pytest
from agent_wait._announcer import AnnounceAdapter, BaseAnnounce
from agent_wait._envelope import WaitEnvelope, envelope_for
from agent_wait._errors import AnnounceError
from agent_wait._memory import FailingAnnounce, InMemoryAnnounce
from agent_wait._question import Question
from agent_wait._types import Transition

ENVELOPE = envelope_for(Question("q-1", {"iban": "DE02"}), "t-1")


class Kept(BaseAnnounce):
    def __init__(self) -> None:  # without super().__init__(), as people write it
        self.kept: list[tuple[WaitEnvelope, Transition]] = []

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        self.kept.append((envelope, transition))


def test_deliver_is_all_there_is_to_write() -> None:
    announcer = Kept()

    assert announcer.announce(ENVELOPE, "created") is None
    assert announcer.kept == [(ENVELOPE, "created")]
    assert isinstance(announcer, AnnounceAdapter)


def test_the_name_is_the_class_s_unless_the_class_or_the_instance_sets_one() -> None:
    class Sub(Kept):
        pass

    class Named(Kept):
        name = "finance"

    own = Kept()
    own.name = "audit"

    assert [Kept().name, Sub().name, Named().name, own.name] == ["Kept", "Sub", "finance", "audit"]
    assert InMemoryAnnounce().name == "InMemoryAnnounce"


def test_only_restricts_what_it_supports_and_what_it_delivers() -> None:
    announcer = InMemoryAnnounce(only=("created",))

    assert [announcer.supports("created"), announcer.supports("resumed")] == [True, False]
    assert announcer.announce(ENVELOPE, "resumed") is None
    assert announcer.events == []
    assert InMemoryAnnounce().supports("resumed")


@pytest.mark.parametrize("only", [(), ("closed",), "created", ("created", "wait.resumed")])
def test_an_only_that_cannot_be_meant_is_refused(only: Any) -> None:
    with pytest.raises(ValueError, match=r'only= takes some of \("created", "resumed"\)'):
        InMemoryAnnounce(only=only)


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


@pytest.mark.requirement("ANNOUNCER-EXCEPTION")
@pytest.mark.parametrize(
    "error",
    [
        TypeError("Object of type Decimal is not JSON serializable"),
        UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
        RecursionError(),
        MemoryError(),
        StopIteration(),
        ExceptionGroup("several", [OSError()]),
        Unprintable(),
    ],
    ids=lambda error: type(error).__name__,
)
def test_announce_returns_what_deliver_raised_and_logs_it_once(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    announcer = FailingAnnounce(error)

    assert announcer.announce(ENVELOPE, "created") is error

    (record,) = caplog.records
    assert (record.name, record.levelno, record.exc_info) == ("agent_wait", logging.ERROR, None)
    assert type(error).__name__ in record.getMessage()
    assert "q-1" in record.getMessage()
    assert "DE02" not in record.getMessage()


@pytest.mark.requirement("ANNOUNCER-EXCEPTION")
@pytest.mark.parametrize("stop", [KeyboardInterrupt(), SystemExit(3), asyncio.CancelledError()])
def test_what_is_to_end_the_program_or_the_task_passes(stop: BaseException) -> None:
    with pytest.raises(type(stop)):
        FailingAnnounce(stop).announce(ENVELOPE, "created")


def test_the_log_line_has_ids_and_the_kind_of_error_and_no_text_that_could_hold_anything(
    caplog: pytest.LogCaptureFixture,
) -> None:
    FailingAnnounce(AnnounceError("token=T0K", retryable=False)).announce(ENVELOPE, "created")

    (line,) = caplog.messages
    assert line.partition(": ")[0] == "announce failed"
    assert json.loads(line.partition(": ")[2]) == {
        "announcer": "FailingAnnounce",
        "error": "AnnounceError",
        "type": "wait.created",
        "thread_id": "t-1",
        "question_id": "q-1",
        "dedupe_key": ENVELOPE.dedupe_key,
        "event_id": ENVELOPE.event_id,
        "retryable": False,
    }


def test_no_id_breaks_the_log_line_or_steers_a_terminal(caplog: pytest.LogCaptureFixture) -> None:
    envelope = envelope_for(Question("q\r\nERROR forged\x1b[2J\x7f\u202e\u2028", "?"), "t")

    FailingAnnounce().announce(envelope, "created")

    (line,) = caplog.messages
    assert line.isprintable()
    assert line.isascii()
    assert len(line.splitlines()) == 1


def test_a_log_handler_that_raises_does_not_make_a_contained_failure_come_out() -> None:
    class Broken(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise OSError("disk full")

    logger, handler = logging.getLogger("agent_wait"), Broken()
    logger.addHandler(handler)
    try:
        announcer = FailingAnnounce()
        assert announcer.announce(ENVELOPE, "created") is announcer.error
    finally:
        logger.removeHandler(handler)


def test_an_announce_error_learns_who_it_came_from_and_keeps_what_it_said_itself() -> None:
    own, other = AnnounceError("x"), AnnounceError("x", announcer="inner")

    FailingAnnounce(own).announce(ENVELOPE, "created")
    FailingAnnounce(other).announce(ENVELOPE, "created")

    assert (own.announcer, other.announcer) == ("FailingAnnounce", "inner")


def test_an_announcer_without_deliver_fails_and_says_so() -> None:
    class Empty(BaseAnnounce):
        pass

    assert str(Empty().announce(ENVELOPE, "created")) == "Empty has no deliver()"


def test_a_deliver_that_is_async_is_no_silent_success() -> None:
    class Wrong(BaseAnnounce):
        async def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # as people may write it
            raise AssertionError("never runs")

    error = Wrong().announce(ENVELOPE, "created")

    assert isinstance(error, TypeError)
    assert str(error) == "deliver is async, so nothing was sent: override adeliver instead"


def test_a_supports_that_raises_is_contained() -> None:
    class Wrong(Kept):
        def supports(self, transition: Transition) -> bool:
            raise LookupError(transition)

    assert isinstance(Wrong().announce(ENVELOPE, "created"), LookupError)


def no_name(_: object) -> str:
    raise LookupError


@pytest.mark.parametrize("name", [property(no_name), None, 7, b"bytes", ""])
def test_an_announcer_without_a_proper_name_fails_under_its_class_s(
    name: Any, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise OSError

    announcer: BaseAnnounce = type("Nameless", (BaseAnnounce,), {"name": name, "deliver": refuse})()

    assert isinstance(announcer.announce(ENVELOPE, "created"), OSError)
    (line,) = caplog.messages
    assert json.loads(line.partition(": ")[2])["announcer"] == "Nameless"


def test_deliver_many_goes_through_all_in_order_and_has_one_entry_each() -> None:
    error = OSError()

    class Second(Kept):
        def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
            super().deliver(envelope, transition)
            if len(self.kept) == 2:
                raise error

    announcer = Second()
    envelopes = [envelope_for(Question(f"q-{n}", "?"), "t") for n in range(3)]

    assert announcer.deliver_many(envelopes, "created") == [None, error, None]
    assert [envelope for envelope, _ in announcer.kept] == envelopes


def test_adeliver_calls_deliver_on_a_thread_of_its_own() -> None:
    class Where(Kept):
        def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
            super().deliver(envelope, transition)
            self.thread = threading.current_thread()

    announcer = Where()
    asyncio.run(announcer.adeliver(ENVELOPE, "created"))

    assert announcer.kept == [(ENVELOPE, "created")]
    assert announcer.thread is not threading.current_thread()
    assert announcer.thread.daemon


class Falsy(Exception):
    def __bool__(self) -> bool:
        return False


@pytest.mark.parametrize("error", [OSError("x"), Falsy(), SystemExit(3), asyncio.CancelledError()])
def test_adeliver_raises_what_deliver_raised(error: BaseException) -> None:
    async def run() -> None:
        with pytest.raises(type(error)) as raised:
            await FailingAnnounce(error).adeliver(ENVELOPE, "created")
        assert raised.value is error

    asyncio.run(run())
