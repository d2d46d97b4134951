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
STEPS = st.sampled_from(["a", "b", "work", "notify"])


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
        self.given_up = False
        self.sent_starts = 0
        self.accepted: set[tuple[str, str]] = set()
        self.given: set[tuple[str, JSON]] = set()

    # ---- what may happen

    @rule(thread=st.sampled_from(THREADS))
    def start(self, thread: str) -> None:
        self.sent_starts += 1
        self.send({"thread_id": thread, "input": {}, "start_id": f"s-{self.sent_starts}"})

    @precondition(lambda self: self.consumers[0].created)
    @rule(nth=st.integers(0, 9), value=st.sampled_from(["approve", "approve", "reject", UNUSABLE]))
    def answer(self, nth: int, value: str) -> None:
        """To any question that was ever shown, open or not."""
        envelope = self.shown(nth)
        self.given.add((self.call(envelope), value))
        self.send({**envelope.reply_with, "answer": value})

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
    @rule(nth=st.integers(0, 9))
    def send_again(self, nth: int) -> None:
        self.send(self.sent[nth % len(self.sent)])

    @rule(nth=st.integers(0, 1), down=st.booleans())
    def announcer(self, nth: int, down: bool) -> None:
        self.consumers[nth].down = down

    @rule(step=STEPS)
    def break_step(self, step: str) -> None:
        self.world.failing.add(step)

    @rule(step=STEPS)
    def mend_step(self, step: str) -> None:
        self.world.failing.discard(step)

    @rule(thread=st.sampled_from(THREADS), crash_at=st.none() | st.integers(0, 25))
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
                self.queues[thread].pop(0)
                self.given_up = True
            return
        assert outcome.acknowledge == (not outcome.publication.failures)
        if outcome.acknowledge:
            self.queues[thread].pop(0)
            self.acknowledged(delivery.message, outcome)

    # ---- how

    def send(self, message: dict[str, Any]) -> None:
        self.sent.append(message)
        self.queues[message["thread_id"]].append(Delivery(message))

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
        for _ in range(20):
            self.drain()
            if not (waiting := self.inbox()):
                break
            for envelope in waiting:
                self.given.add((self.call(envelope), "approve"))
                self.send({**envelope.reply_with, "answer": "approve"})
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
        state = self.state(thread)
        assert not state.pending, "a question is open and in nobody's inbox"
        assert not state.unfinished, "work is left"
        made = [e for consumer in self.consumers for e in consumer.created.values()]
        if not self.given_up:
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
    max_examples=100,
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
Faults.TestCase.settings = SETTINGS
TogetherFaults.TestCase.settings = SETTINGS
TestPieceByPiece = Faults.TestCase
TestTogether = TogetherFaults.TestCase
