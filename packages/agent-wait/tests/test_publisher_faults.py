"""Random schedules: a host that may die anywhere, announcers that may be down, messages that come again.

What is judged is what the outside saw: which questions were announced, which money moved for whose approval,
and what was acknowledged. The threads are those of the stand-in agent; a transport delivers at least once, in
order, and gives a message up after some failures, as SQS FIFO does.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agent_wait import BaseAnnounce, Outcome, WaitEnvelope, WaitPublisher
from agent_wait._adapter import ThreadState
from agent_wait._identity import ask_id
from agent_wait._types import JSON, Transition
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from stub_adapter import UNUSABLE, Ask, Do, Program, StubAdapter, TogetherAdapter, World

THREADS = ("t-1", "t-2")
GIVE_UP_AFTER = 4
PROGRAMS: dict[str, Program] = {
    "one": [[Ask("a")]],
    "two in a row": [[Ask("a"), Ask("b")]],
    "with effects": [[Do("look"), Ask("a"), Do("notify"), Ask("b")]],
    "fan": [[Ask("a")], [Ask("b")], [Ask("c")]],
    "a branch that works": [[Ask("a")], [Do("work"), Ask("b")]],
    "bare": [[Ask("a", bare=True), Ask("b", bare=True)]],
}
VALUES = st.sampled_from(["approve", "approve", "reject", UNUSABLE])
# After how many of its marked points the process dies. Announcing and acknowledging are the last of them.
CRASHES = st.none() | st.integers(0, 15)


class Crash(BaseException):
    """The process dies."""


class Life:
    """One life of the host's process: after its end nothing that it does reaches the outside."""

    def __init__(self, crash_at: int | None = None) -> None:
        self.left = crash_at

    def point(self, name: str) -> None:
        if self.left is None:
            return
        if self.left <= 0:
            raise Crash(name)
        self.left -= 1


@dataclass
class Delivery:
    message: dict[str, Any]
    failures: int = 0


@dataclass
class Consumer:
    """One who is announced to, and keeps one of each `dedupe_key`."""

    down: bool = False
    created: dict[str, WaitEnvelope] = field(default_factory=dict[str, WaitEnvelope])
    resumed: set[str] = field(default_factory=set[str])


class To(BaseAnnounce):
    def __init__(self, consumer: Consumer, point: Callable[[str], None]) -> None:
        super().__init__()
        self.consumer, self.point = consumer, point

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        self.point("before announce")
        if self.consumer.down:
            raise OSError
        if transition == "created":
            self.consumer.created.setdefault(envelope.ask_id, envelope)
        else:
            self.consumer.resumed.add(envelope.ask_id)
        self.point("after announce")


class Faults(RuleBasedStateMachine):
    together = False

    @initialize(program=st.sampled_from(sorted(PROGRAMS)), is_async=st.booleans())
    def begin(self, program: str, is_async: bool) -> None:
        self.program = PROGRAMS[program]
        self.is_async = is_async
        self.world = World()
        self.consumers = Consumer(), Consumer()
        self.queues: dict[str, list[Delivery]] = {thread: [] for thread in THREADS}
        self.sent: list[dict[str, Any]] = []
        self.given_up: list[dict[str, Any]] = []
        self.sent_starts = 0
        self.accepted: set[tuple[str, str]] = set()
        self.given: set[tuple[str, JSON]] = set()

    # ---- what may happen

    @precondition(lambda self: self.sent_starts < 6)
    @rule(thread=st.sampled_from(THREADS), crash_at=CRASHES)
    def start(self, thread: str, crash_at: int | None) -> None:
        self.sent_starts += 1
        self.send({"thread_id": thread, "input": {}, "start_id": f"s-{self.sent_starts}"}, crash_at)

    @precondition(lambda self: self.consumers[0].created)
    @rule(nth=st.integers(0, 9), value=VALUES, crash_at=CRASHES)
    def answer_a_question_that_was_shown(self, nth: int, value: str, crash_at: int | None) -> None:
        shown = list(self.consumers[0].created.values())
        self.answer(shown[nth % len(shown)], value, crash_at)

    @precondition(lambda self: self.inbox())
    @rule(nth=st.integers(0, 9), value=VALUES, crash_at=CRASHES)
    def answer_an_open_question(self, nth: int, value: str, crash_at: int | None) -> None:
        shown = self.inbox()
        self.answer(shown[nth % len(shown)], value, crash_at)

    @precondition(lambda self: self.consumers[0].created)
    @rule(
        nth=st.integers(0, 9),
        wrong=st.sampled_from(
            [
                {"fingerprint": "sha256:other"},
                {"fingerprint": None},
                {"question_id": "nobody's", "ask_id": "nobody's:0123456789abcdef"},
                {"ask_id": 7},
                {"input": {}},
            ]
        ),
    )
    def wrong_answer(self, nth: int, wrong: dict[str, JSON]) -> None:
        envelope = self.shown(nth)
        if envelope.fingerprint is not None:
            self.send({**envelope.reply_with, "answer": "approve", **wrong})

    @precondition(lambda self: self.consumers[0].created)
    @rule(nth=st.integers(0, 9))
    def answer_to_another_thread(self, nth: int) -> None:
        envelope = self.shown(nth)
        if envelope.fingerprint is not None:
            other = THREADS[1 - THREADS.index(envelope.thread_id)]
            self.send({**envelope.reply_with, "thread_id": other, "answer": "approve"})

    @precondition(lambda self: self.sent)
    @rule(nth=st.integers(0, 9), crash_at=CRASHES)
    def send_again(self, nth: int, crash_at: int | None) -> None:
        self.send(self.sent[nth % len(self.sent)], crash_at)

    @rule(nth=st.integers(0, 1), down=st.booleans())
    def announcer(self, nth: int, down: bool) -> None:
        self.consumers[nth].down = down

    @rule(nth=st.integers(0, 9))
    def break_a_step(self, nth: int) -> None:
        steps = [step.name for branch in self.program for step in branch]
        self.world.failing.add(steps[nth % len(steps)])

    @precondition(lambda self: self.world.failing)
    @rule()
    def mend_all_steps(self) -> None:
        self.world.failing.clear()

    @rule(thread=st.sampled_from(THREADS), crash_at=CRASHES)
    def deliver(self, thread: str, crash_at: int | None) -> None:
        if not self.queues[thread]:
            return
        delivery = self.queues[thread][0]
        try:
            outcome = self.handle(delivery.message, Life(crash_at))
        except Crash:
            return
        except RuntimeError:
            delivery.failures += 1
            if delivery.failures == GIVE_UP_AFTER:
                self.given_up.append(self.queues[thread].pop(0).message)
            return
        assert outcome.acknowledge == (not outcome.publication.failures)
        if outcome.acknowledge:
            self.queues[thread].pop(0)
            self.acknowledged(delivery.message, outcome)

    # ---- how

    def send(self, message: dict[str, Any], crash_at: int | None = None) -> None:
        """Into the thread's queue, whose first message is then delivered."""
        self.sent.append(message)
        self.queues[message["thread_id"]].append(Delivery(message))
        self.deliver(message["thread_id"], crash_at)

    def answer(self, envelope: WaitEnvelope, value: str, crash_at: int | None = None) -> None:
        self.given.add((self.call(envelope), value))
        self.send({**envelope.reply_with, "answer": value}, crash_at)

    def shown(self, nth: int) -> WaitEnvelope:
        shown = list(self.consumers[0].created.values())
        return shown[nth % len(shown)]

    def adapter(self) -> StubAdapter:
        return (TogetherAdapter if self.together else StubAdapter)(self.world, self.program)

    def handle(self, message: object, life: Life) -> Outcome:
        self.world.point = life.point
        first, second = self.consumers
        announce = [To(first, life.point), To(second, lambda name: None)]
        publisher = WaitPublisher(self.adapter(), announce=announce)
        try:
            outcome = asyncio.run(publisher.ahandle(message)) if self.is_async else publisher.handle(message)
            life.point("before acknowledging")
            return outcome
        finally:
            self.world.point = lambda name: None

    def state(self, thread: str) -> ThreadState:
        return self.adapter().state(thread)

    @staticmethod
    def call(envelope: WaitEnvelope) -> str:
        question: Any = envelope.question
        return question["args"]["call"]

    # ---- what must hold

    def acknowledged(self, message: dict[str, Any], outcome: Outcome) -> None:
        thread = message["thread_id"]
        state = self.state(thread)
        if "start_id" in message and outcome.kind != "busy":
            self.accepted.add((thread, message["start_id"]))
        for question in state.pending:
            ask = ask_id(thread, question)
            for consumer in self.consumers:
                assert ask in consumer.created, (
                    f"{outcome.kind} was acknowledged before a question was announced"
                )
        if not self.given_up:
            assert not state.unfinished, f"{outcome.kind} was acknowledged before its work was done"
        self.always(thread)

    def always(self, thread: str) -> None:
        state = self.state(thread)
        for question in (*state.pending, *state.kept):
            for consumer in self.consumers:
                assert ask_id(thread, question) not in consumer.resumed, (
                    "an open question was announced as closed"
                )
        assert set(self.world.bodies) <= self.given, "a body ran on an answer that nobody gave to it"

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        self.world.failing.clear()
        for consumer in self.consumers:
            consumer.down = False
        for message in list(self.given_up):  # once it is mended, somebody sends it again
            self.send(message)
        for _ in range(20):
            self.drain()
            if not (waiting := self.inbox()):
                break
            for envelope in waiting:
                self.answer(envelope, "approve")
        assert self.inbox() == [], "somebody is still asked, or approvals do nothing"
        for thread in THREADS:
            self.finished(thread)

    def drain(self) -> None:
        for thread, queue in self.queues.items():
            for _ in range(len(queue) * GIVE_UP_AFTER):
                if queue:
                    self.deliver(thread, None)
            assert queue == [], "a message is never acknowledged"

    def inbox(self) -> list[WaitEnvelope]:
        return [e for ask, e in self.consumers[0].created.items() if ask not in self.consumers[0].resumed]

    def finished(self, thread: str) -> None:
        self.always(thread)
        made = [e for consumer in self.consumers for e in consumer.created.values()]
        if not self.given_up:  # what happened in between was no transport's to keep
            state = self.state(thread)
            assert not state.pending, "a question is open and in nobody's inbox"
            assert not state.unfinished, "work is left"
            for consumer in self.consumers:
                assert consumer.created.keys() <= consumer.resumed, (
                    "a closed question was never announced as closed"
                )
            runs = {start for where, start in self.accepted if where == thread}
            done = self.world.threads[thread].finished if thread in self.world.threads else []
            assert len(done) == len(set(done)) == len(runs) * len(self.program), (
                "a start ran twice or not at all"
            )
        named: dict[tuple[str, int], set[str]] = {}
        for envelope in made:
            named.setdefault((self.call(envelope), envelope.attempt), set()).add(envelope.dedupe_key)
        assert all(len(keys) == 1 for keys in named.values()), "one question has two names"


class TogetherFaults(Faults):
    together = True


SETTINGS = settings(
    max_examples=150,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
Faults.TestCase.settings = SETTINGS
TogetherFaults.TestCase.settings = SETTINGS
TestPieceByPiece = Faults.TestCase
TestTogether = TogetherFaults.TestCase
