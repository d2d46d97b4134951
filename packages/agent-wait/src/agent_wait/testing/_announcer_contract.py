"""What every announcer owes, as tests."""

import asyncio
import json
import logging
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from agent_wait import (
    JSON,
    AnnounceAdapter,
    BaseAnnounce,
    InMemoryAnnounce,
    Publication,
    Question,
    SystemClock,
    Transition,
    WaitEnvelope,
    WaitPolicy,
    apublish,
    publish,
)
from agent_wait.testing._contract import Contract

_TRANSITIONS: tuple[Transition, ...] = ("created", "resumed")
_POLICY = WaitPolicy(
    timeout="P3D", default={"action": "reject"}, tags={"group": "finance"}, correlation={"case": "c-7"}
)
_ODD_IDS = (
    "line\r\nX-Injected: 1",
    "null\x00 escape\x1b[31m delete\x7f",
    "é😊 \u202edesrever\u2028",
    " spaces ",
    "a/b?c=d#e%00&..",
    "x" * 2000,
)
_ODD_QUESTIONS: tuple[JSON, ...] = (
    None,
    "",
    0,
    [],
    "é😊 \u202e\u2028\x00\x1b[31m\r\n",
    {"": "", "a.b": None, "$ref": "#", "__proto__": {}},
    {"amount": 12345678901234567890.12, "count": 9223372036854775807, "tiny": 5e-324},
    {"nested": [[[[[[[[[["deep"]]]]]]]]]]},
    {"large": "é" * 75_000},
)


class AnnouncerContract(Contract, ABC):
    """The rules of `AnnounceAdapter` and `BaseAnnounce`, for pytest or any runner that reads its classes.

    Subclass it in a test module and write the hooks; every test then gets a new instance of the class, and
    so a backend of its own. Release in `teardown_method` what `hang_backend` holds.

        class TestRedis(AnnouncerContract):
            def make(self): return RedisAnnounce(self.client)
            def received(self): return [json.loads(item) for item in self.client.lrange("questions", 0, -1)]
            def break_backend(self): self.server.stop()
            def hang_backend(self): self.server.pause()
    """

    hang_budget: float = 0.5
    """Seconds that a publish waits for the hanging backend: fewer than the announcer waits itself."""

    @abstractmethod
    def make(self) -> AnnounceAdapter:
        """The announcer, for an empty backend; called once in a test, before any other hook."""

    @abstractmethod
    def received(self) -> list[dict[str, Any]]:
        """What has arrived, as a consumer reads it; what came twice under one key may be there once."""

    @abstractmethod
    def break_backend(self) -> None:
        """From now on the backend refuses whatever it is sent."""

    @abstractmethod
    def hang_backend(self) -> None:
        """From now on the backend takes what it is sent and does not answer."""

    def expected(self, envelope: WaitEnvelope) -> dict[str, Any]:
        """What `received` has for this envelope: the envelope, unless the backend is given something else."""
        return json.loads(envelope.to_json())

    def test_it_has_a_name(self) -> None:
        name: object = getattr(self.make(), "name", None)
        _check(isinstance(name, str) and name != "", f"name is {name!r}")

    def test_one_envelope_arrives_whole(self) -> None:
        announcer = self.make()
        (envelope,) = _published([_question()], announcer)
        self._has_arrived([envelope])

    def test_announcing_without_a_publish_around_it_delivers_and_returns_none(self) -> None:
        announcer = self.make()
        (envelope,) = publish([_question()], _thread(), InMemoryAnnounce())
        returned = announcer.announce(envelope, "created")
        _check(returned is None, f"announce() returned {returned!r}")
        self._has_arrived([envelope])

    def test_every_transition_that_it_wants_is_taken(self) -> None:
        announcer, question, thread = self.make(), _question(), _thread()
        for transition in filter(announcer.supports, _TRANSITIONS):
            _no_failures(publish([question], thread, announcer, transition=transition))

    def test_a_transition_that_it_does_not_want_never_reaches_the_backend(self) -> None:
        announcer = self.make()
        unwanted: list[Transition] = [one for one in _TRANSITIONS if not announcer.supports(one)]
        if isinstance(announcer, BaseAnnounce):
            announcer.only, unwanted = frozenset({"created"}), ["resumed"]
        for transition in unwanted:
            publication = publish([_question()], _thread(), announcer, transition=transition)
            _no_failures(publication)
            if isinstance(announcer, BaseAnnounce):
                returned = announcer.announce(publication[0], transition)
                _check(returned is None, f"announce() returned {returned!r}")
        _equal(self.received(), [])

    def test_the_same_published_twice_is_one_question(self) -> None:
        announcer, question, thread = self.make(), _question(), _thread()
        first, second = (_published([question], announcer, thread)[0] for _ in range(2))
        _equal(first.dedupe_key, second.dedupe_key)
        arrived = {_key(item) for item in self.received()}
        _equal(arrived, {_key(self.expected(first))})

    def test_many_at_once_all_arrive(self) -> None:
        announcer = self.make()
        self._has_arrived(_published([_question() for _ in range(60)], announcer))

    def test_what_many_threads_publish_at_once_all_arrives(self) -> None:
        announcer = self.make()
        publications: list[Publication] = []
        barrier = threading.Barrier(8)

        def run() -> None:
            barrier.wait()
            publications.extend(publish([_question(), _question()], _thread(), announcer) for _ in range(3))

        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        _equal(len(publications), 24)
        for publication in publications:
            _no_failures(publication)
        self._has_arrived([envelope for publication in publications for envelope in publication])

    def test_odd_questions_arrive_whole_or_are_reported(self) -> None:
        announcer = self.make()
        self._arrived_or_reported(
            publish([_question(question) for question in _ODD_QUESTIONS], _thread(), announcer)
        )

    def test_odd_ids_arrive_whole_or_are_reported(self) -> None:
        announcer = self.make()
        for odd in _ODD_IDS:
            question = replace(_question(), id=f"{odd}{uuid.uuid4().hex}")
            thread_id = odd.replace("\0", "") + _thread()  # a framework's ids may have a NUL, a host's not
            self._arrived_or_reported(publish([question], thread_id, announcer))

    def test_awaited_it_delivers_the_same(self) -> None:
        announcer = self.make()
        publication = asyncio.run(apublish([_question(), _question()], _thread(), announcer))
        _no_failures(publication)
        self._has_arrived(publication)

    def test_a_publish_that_is_not_awaited_works_inside_a_running_loop(self) -> None:
        announcer = self.make()

        async def run() -> Publication:
            return publish([_question()], _thread(), announcer)

        publication = asyncio.run(run())
        _no_failures(publication)
        self._has_arrived(publication)

    def test_a_broken_backend_is_reported_for_every_envelope_and_stops_no_other_announcer(self) -> None:
        announcer, other = self.make(), InMemoryAnnounce()
        self.break_backend()
        with _log_lines() as lines:
            publication = publish([_question(), _question()], _thread(), [announcer, other])
        _equal([failure.envelope for failure in publication.failures], list(publication))
        _check(all(failure.announcer for failure in publication.failures), "a failure names its announcer")
        _equal(other.events, list(publication))
        for envelope in publication:
            told = [line for line in lines if "announce failed" in line and envelope.event_id in line]
            _check(len(told) == 1, f"a failure is logged once, not {len(told)} times")

    def test_a_broken_backend_is_reported_when_awaited(self) -> None:
        announcer, other = self.make(), InMemoryAnnounce()
        self.break_backend()
        publication = asyncio.run(apublish([_question(), _question()], _thread(), [announcer, other]))
        _equal([failure.envelope for failure in publication.failures], list(publication))
        _equal(other.events, list(publication))

    def test_announcing_to_a_broken_backend_returns_the_error_and_does_not_raise_it(self) -> None:
        announcer = self.make()
        self.break_backend()
        (envelope,) = publish([_question()], _thread(), InMemoryAnnounce())
        returned = announcer.announce(envelope, "created")
        _check(isinstance(returned, Exception), f"announce() returned {returned!r}")

    def test_a_hanging_backend_costs_its_budget_and_stops_no_other_announcer(self) -> None:
        announcer, other = self.make(), InMemoryAnnounce()
        self.hang_backend()
        publication = publish([_question()], _thread(), [announcer, other], budget=self.hang_budget)
        _check(len(publication.failures) == 1, f"failures are {publication.failures!r}")
        _check(
            "unknown, may have arrived" in str(publication.failures[0].error), "a hang is no failed delivery"
        )
        _equal(other.events, list(publication))

    def test_a_hanging_backend_does_not_block_the_event_loop(self) -> None:
        announcer = self.make()
        self.hang_backend()

        async def run() -> Publication:
            publishing = asyncio.create_task(
                apublish([_question()], _thread(), announcer, budget=self.hang_budget)
            )
            for _ in range(20):  # turns that the loop would not get to
                await asyncio.sleep(0)
            _check(not publishing.done(), "the backend did not hang")
            return await publishing

        _check(len(asyncio.run(run()).failures) == 1, "the hang was not reported")

    def test_no_log_line_at_info_or_above_has_the_question(self) -> None:
        announcer = self.make()
        secret = f"secret{uuid.uuid4().hex}"
        with _log_lines() as lines:
            for _ in range(2):
                publish([_question({"iban": secret}), _question(secret)], _thread(), announcer)
                self.break_backend()
        leaked = [line for line in lines if secret in line]
        _equal(leaked, [])

    def _arrived_or_reported(self, publication: Publication) -> None:
        reported = {failure.envelope.event_id for failure in publication.failures}
        self._has_arrived([envelope for envelope in publication if envelope.event_id not in reported])

    def _has_arrived(self, envelopes: Iterable[WaitEnvelope]) -> None:
        arrived = {_canonical(item) for item in self.received()}
        for envelope in envelopes:
            wanted = self.expected(envelope)
            _check(_canonical(wanted) in arrived, f"{wanted!r} is not whole in {sorted(arrived)!r}")


def _question(question: JSON = "May I?") -> Question:
    return Question(f"q-{uuid.uuid4().hex}", question, _POLICY, asked_at=SystemClock().now())


def _thread() -> str:
    return f"t-{uuid.uuid4().hex}"


def _published(
    questions: Sequence[Question], announcer: AnnounceAdapter, thread_id: str | None = None
) -> Publication:
    publication = publish(questions, thread_id or _thread(), announcer)
    _no_failures(publication)
    return publication


def _no_failures(publication: Publication) -> None:
    _equal([(failure.announcer, failure.error) for failure in publication.failures], [])


def _canonical(item: Any) -> str:
    return json.dumps(item, sort_keys=True)


def _key(item: dict[str, Any]) -> str:
    """What a consumer deduplicates on."""
    return item["dedupe_key"] if "dedupe_key" in item else _canonical(item)


def _equal(actual: object, wanted: object) -> None:
    _check(actual == wanted, f"{actual!r} is not {wanted!r}")


def _check(fact: bool, otherwise: str) -> None:
    """An assertion that says something wherever it runs: pytest rewrites only those of test modules."""
    if not fact:
        raise AssertionError(otherwise)


@contextmanager
def _log_lines() -> Generator[list[str]]:
    """Every line at INFO and above, of whatever logger, with its traceback."""
    lines: list[str] = []
    formatter = logging.Formatter("%(name)s %(message)s")

    class Recorder(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(formatter.format(record))

    root, recorder = logging.getLogger(), Recorder(logging.INFO)
    level = root.level
    root.addHandler(recorder)
    root.setLevel(min(level, logging.INFO))
    try:
        yield lines
    finally:
        root.removeHandler(recorder)
        root.setLevel(level)
