"""Everybody but the host: who sends, who answers, who is announced to, who is paid; and the judge.

What is judged is what these saw: envelopes delivered, money moved, customers told, messages acknowledged,
outcomes reported, lines logged. Nobody looks into a thread.
"""

import asyncio
import contextvars
import logging
import sqlite3
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self, assert_never

from agent_wait import BaseAnnounce, FakeClock, Outcome, WaitEnvelope, current_wait
from agent_wait._types import Transition
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from faults.graphs import AMOUNT, ITEMS, OUTSIDE, build, input_of
from faults.hosts import HANG_BUDGET, Host
from faults.life import Crash, Life
from faults.others import OTHERS
from faults.saver import MortalSaver, Saver
from faults.steps import (
    CONSUMERS,
    Again,
    Answer,
    AtOnce,
    Backend,
    DeadlinesPass,
    Deliver,
    Failing,
    Start,
    Step,
    Sweep,
    Upgrade,
)

GIVE_UP_AFTER = 4
EDITED, POISON = 7, 13
SECRET = "classified"
"""Part of every question; no log may have it."""
LOGGED = {"refused", "busy", "expired", "unknown_question", "already_answered", "republished"}
RAN = {"started", "resumed", "kept"}
CLOSED = {"resumed", "continued", "already_answered"}
ROUNDS = 8
"""How many times everything in the inbox is answered at the end: more than any agent asks."""


class Violation(AssertionError):
    """A promise was broken.

    Attributes:
        promise: Its number.
    """

    def __init__(self, promise: int, what: str) -> None:
        super().__init__(promise, what)
        self.promise = promise

    def __str__(self) -> str:
        return "PROMISE-{}: {}".format(*self.args)


class WorkFailed(Exception):
    """What an agent's own work raises."""


@dataclass
class Given:
    """An answer that somebody has sent.

    Attributes:
        envelope: The question, as it was shown to them.
        amount: What they approve of; None when they approve of nothing.
        proper: The message names what it answers.
        in_time: It was sent before the deadline.
        superseded: When it was first delivered, everybody had been told that the ask is over.
    """

    envelope: WaitEnvelope
    amount: int | None
    proper: bool = True
    in_time: bool = False
    superseded: bool | None = None


@dataclass
class Sent:
    """A message in a thread's queue."""

    thread: str
    body: Any
    by: str | None = None
    failures: int = 0
    sent_at: float = 0.0


@dataclass
class Consumer:
    """One who is announced to, and keeps one of each `dedupe_key`."""

    state: str = "works"
    created: dict[str, WaitEnvelope] = field(default_factory=dict[str, WaitEnvelope])
    resumed: set[str] = field(default_factory=set[str])


class ToConsumer(BaseAnnounce):
    """Announces to a consumer, who may be out of order."""

    def __init__(self, name: str, world: "World", life: Life) -> None:
        super().__init__()
        self.name, self._world, self._life = name, world, life

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        consumer = self._world.consumers[self.name]
        if consumer.state == "hangs":
            self._world.failed.add((self.name, envelope.dedupe_key))
            self._world.released.wait()
            raise TimeoutError
        with self._life.around("announce"):
            if consumer.state == "fails":
                self._world.failed.add((self.name, envelope.dedupe_key))
                raise OSError(SECRET)
            if transition == "created":
                consumer.created.setdefault(envelope.ask_id, envelope)
            else:
                consumer.resumed.add(envelope.ask_id)


class Outside:
    """What the agents of one life of the process do to the world."""

    def __init__(self, world: "World", life: Life, key: Callable[[], str]) -> None:
        self._world, self._life, self._key = world, life, key

    def pay(self, run: str, item: str, amount: int) -> str:
        wait = current_wait()
        assert wait is not None
        self._life.at("before effect")
        if wait.asked:
            self._world.ran(run, item, amount, wait.answered_by)
        self._world.may_fail(item, "before")
        if amount == POISON:
            raise WorkFailed
        self._effect((run, item), self._key(), amount)
        self._world.may_fail(item, "after")
        return f"paid {amount}"

    def work(self, item: str) -> None:
        self._world.may_fail(item, "before")

    def take(self, run: str, item: str, answer: Any) -> str:
        self._world.took(run, item, answer)
        self._effect((run, item), f"{run}/{item}", AMOUNT)
        return f"paid {AMOUNT}"

    def tell(self, run: str, results: dict[str, Any]) -> None:
        with self._life.around("effect"):
            self._world.told[run].append(results)

    def _effect(self, of: tuple[str, str], key: str, amount: int) -> None:
        with self._life.around("effect"):
            self._world.ledger[of].setdefault(key, amount)


class World:
    """Plays the steps of a schedule, and raises `Violation` as soon as somebody saw one.

    Args:
        kind: Which of the graphs.
        saver: `memory` or `sqlite`, or what makes one.
        is_async: Drive it by `ahandle`.
        host: Who drives it.
    """

    def __init__(
        self,
        kind: str,
        *,
        saver: str | Callable[[], Saver] = "memory",
        is_async: bool = False,
        host: type[Host] = Host,
    ) -> None:
        self.kind, self.is_async, self.host = kind, is_async, host
        self.clock = FakeClock(time.time())
        self.consumers = {name: Consumer() for name in CONSUMERS}
        self.queues: dict[str, list[Sent]] = {}
        self.sent: list[Sent] = []
        self.given: dict[str, Given] = {}
        self.accepted: dict[str, str] = {}
        self.given_up: set[str] = set()
        self.failing: dict[tuple[str, str], int] = {}
        self.bodies: list[tuple[str, str, int, str | None]] = []
        self.ledger: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        self.told: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self.open: set[str] = set()
        self.dead: list[Sent] = []
        self.reported: dict[str, str] = {}
        self.failed: set[tuple[str, str]] = set()
        self.released = threading.Event()
        self.older = False
        self.faults: Counter[str] = Counter()
        self.checked: Counter[int] = Counter()
        self.trace: list[str] = []
        self._lock = threading.Lock()
        self._runs = 0
        self._runner = asyncio.Runner() if is_async else None
        self._connection: Any = None
        self._rows: dict[str, bytes] = {}
        self._folder = TemporaryDirectory(prefix="sessions-")
        self._saver = saver() if callable(saver) else self._open(saver)

    def close(self) -> None:
        """Give back what the world holds."""
        self._folder.cleanup()
        if self._connection is not None:
            self._run(self._connection.close()) if self.is_async else self._connection.close()
        if self._runner is not None:
            self._runner.close()

    def play(self, step: Step) -> None:
        """Let one thing happen."""
        match step:
            case Start(thread):
                self._start(thread)
            case Answer(thread, nth, how, among):
                self._answer(thread, nth, how, among)
            case Again(nth):
                if self.sent:
                    again = self.sent[nth % len(self.sent)]
                    self._send(Sent(again.thread, again.body, again.by))
                    self.faults["message sent again"] += 1
            case Deliver(thread, crash):
                self._deliver(thread, crash)
            case AtOnce(thread, nth):
                self._at_once(thread, nth)
            case Backend(consumer, state):
                self.consumers[consumer].state = state
                self.faults[f"backend {state}"] += 1
            case Failing() if self.kind == "strands":
                pass
            case Failing(item, when, times):
                self.failing[item, when] = times
                self.faults[f"work fails {when} its effect"] += 1
            case DeadlinesPass():
                self.clock.advance(2 * 3600)
                self.faults["deadlines passed"] += 1
            case Sweep():
                for envelope in self._late():
                    self._give(envelope, envelope.default, None)
            case Upgrade(older):
                self.older = older
                self.faults["version changed"] += 1
            case _:
                assert_never(step)

    # What is done to the host

    def _start(self, thread: str) -> None:
        self._runs += 1
        run = f"{thread}/{self._runs}/{SECRET}"
        body = {"thread_id": thread, "input": input_of(self.kind, run), "start_id": f"start-{self._runs}"}
        self._send(Sent(thread, body, run))

    def _answer(self, thread: str, nth: int, how: str, among: str) -> None:
        shown = self.inbox(thread) if among == "inbox" else self._shown(thread)
        if not shown:
            return
        envelope = shown[nth % len(shown)]
        if among == "shown":
            self.faults["answer to any question ever shown"] += 1
        if envelope.fingerprint is None and how not in ("unknown question", "malformed"):
            self._give(envelope, None, AMOUNT)
            return
        approve = {"action": "approve"}
        match how:
            case "approve":
                self._give(envelope, approve, AMOUNT)
            case "edit":
                self._give(envelope, {**approve, "args": {"amount": EDITED}}, EDITED)
            case "failing":
                self._give(envelope, {**approve, "args": {"amount": POISON}}, POISON)
            case "reject":
                self._give(envelope, {"action": "reject", "reason": "no"}, None)
            case "unusable edit":
                self._give(envelope, {**approve, "args": {"amount": "a lot"}}, None)
            case "text":
                self._give(envelope, '{"action": "approve"}', None)
            case "shouted":
                self._give(envelope, {"action": "APPROVE"}, None)
            case "forged":
                inner = {"v": 1, "answer": approve, "fingerprint": envelope.fingerprint, "at": 1.0}
                self._give(envelope, {"__answer__": inner}, None)
            case "other fingerprint":
                self._give_wrong(envelope, fingerprint="sha256:" + "0" * 64)
            case "no fingerprint":
                self._give_wrong(envelope, fingerprint=None)
            case "other ask":
                self._give_wrong(envelope, ask_id=f"{envelope.question_id}:{'0' * 16}")
            case "unknown question":
                self._give_wrong(envelope, question_id="0" * 32, ask_id=None)
            case "other thread":
                self._give_wrong(envelope, thread_id=f"{thread}-other")
            case _:
                self.faults["malformed message"] += 1
                body = {**envelope.reply_with, "answer": approve}
                self._send(Sent(thread, _malformed(body, nth)))

    def _give(self, envelope: WaitEnvelope, answer: Any, amount: int | None) -> None:
        by = f"person-{len(self.given)}"
        if envelope.fingerprint is None:
            answer = {"for": envelope.question, "by": by}
        self.given[by] = Given(envelope, amount)
        body = {**envelope.reply_with, "answer": answer, "answered_by": by}
        self._send(Sent(envelope.thread_id, body, by))

    def _give_wrong(self, envelope: WaitEnvelope, **changes: Any) -> None:
        by = f"person-{len(self.given)}"
        self.given[by] = Given(envelope, AMOUNT, proper=False)
        self.faults["answer that names another question"] += 1
        body = {**envelope.reply_with, "answer": {"action": "approve"}, "answered_by": by, **changes}
        self._send(Sent(envelope.thread_id, body, by))

    def _send(self, message: Sent) -> None:
        message.sent_at = self.clock.now()
        self.sent.append(message)
        self.queues.setdefault(message.thread, []).append(message)

    def _deliver(self, thread: str, crash: tuple[str, int] | None) -> None:
        queue = self.queues.get(thread)
        if not queue:
            return
        message = queue[0]
        self._before(message)
        life = Life(crash)
        acknowledged: list[Outcome] = []

        def acknowledge(outcome: Outcome) -> None:
            with life.around("acknowledge"):
                queue.pop(0)
                acknowledged.append(outcome)

        with _Log() as log:
            outcome = self._attempt(message, life, acknowledge)
        if outcome is None and life.died_at is None and not acknowledged:
            message.failures += 1
            self.faults["run raised"] += 1
            if message.failures == GIVE_UP_AFTER:
                self.dead.append(queue.pop(0))
                self.given_up.add(thread)
                self.faults["message given up"] += 1
        if life.died_at is not None:
            self.faults[f"crash {life.died_at}"] += 1
        what = outcome.kind if outcome else life.died_at or "raised"
        self.trace.append(f"{message.by or 'a malformed message'} to {thread}: {what}")
        self._judge_delivery(message, outcome, log)
        for reported in acknowledged:
            self._judge_acknowledged(message, reported)

    def _attempt(self, message: Sent, life: Life, acknowledge: Callable[[Outcome], None]) -> Outcome | None:
        """One delivery; None when the process dies in it, or the run raises."""
        self.failed = set()
        self.released = threading.Event()
        try:
            host = self._host(life)
            OUTSIDE.set(Outside(self, life, host.key))
            if self.is_async:
                outcome: Outcome = self._run(host.areceive(message.body, message.sent_at, acknowledge))
            else:
                with _loop():
                    outcome = host.receive(message.body, message.sent_at, acknowledge)
        except (Crash, WorkFailed):
            return None
        except BaseExceptionGroup as group:
            if group.split((Crash, WorkFailed))[1] is not None:
                raise
            return None
        except Exception:
            if life.died_at is None:
                raise
            return None
        finally:
            self.released.set()
        return None if life.died_at is not None else outcome

    def _host(self, life: Life) -> Host:
        hangs = any(consumer.state == "hangs" for consumer in self.consumers.values())
        return self.host(
            self._agent(life),
            [ToConsumer(name, self, life) for name in CONSUMERS],
            self.clock,
            HANG_BUDGET if hangs else 10.0,
        )

    def _agent(self, life: Life) -> Any:
        if self.kind in OTHERS:
            return OTHERS[self.kind](self._rows, Path(self._folder.name), life)
        saver = MortalSaver(self._saver, life, older=self.older)
        return build(self.kind, saver, is_async=self.is_async)

    def _at_once(self, thread: str, nth: int) -> None:
        """Past the queue, which is empty: as two processes without a claim would be, but in one.

        Not where a body is to fail after its effect: a rejection that comes next is then applied, which is
        what a queue is there for.
        """
        if any(left for (_, when), left in self.failing.items() if when == "after"):
            return
        waiting = self.inbox(thread)
        if not waiting or self.queues.get(thread) or self.is_async:
            return
        self.faults["contradictory answers at once"] += 1
        envelope = waiting[nth % len(waiting)]
        before = len(self.sent)
        self._answer(thread, nth, "approve", "inbox")
        self._give(envelope, {"action": "reject"}, None)
        both = self.sent[before:]
        self.queues[thread].clear()
        self.failed = set()
        self.released = threading.Event()
        life, outcomes = Life(), dict[str, Outcome]()
        host = self._host(life)
        together = threading.Barrier(len(both))

        def handle(message: Sent) -> None:
            OUTSIDE.set(Outside(self, life, host.key))
            together.wait()
            with suppress(WorkFailed), _loop():
                outcomes[str(message.by)] = host.receive(message.body, message.sent_at, lambda outcome: None)

        for message in both:
            self._before(message)
        threads = [threading.Thread(target=handle, args=[message]) for message in both]
        with _Log():
            for each in threads:
                each.start()
            for each in threads:
                each.join()
        self.released.set()
        # Whatever could not be announced, or raised, is delivered again.
        self.queues[thread] = [
            m for m in both if str(m.by) not in outcomes or not outcomes[str(m.by)].acknowledge
        ]
        self.trace.append(f"at once: {[(by, outcome.kind) for by, outcome in outcomes.items()]}")
        self.checked[3] += 1
        if sum(outcome.kind == "resumed" for outcome in outcomes.values()) > 1:
            raise Violation(3, "two answers to one question were both applied")

    # What the world notes

    def _before(self, message: Sent) -> None:
        given = self.given.get(message.by or "")
        if given is None:
            return
        given.in_time |= not self._is_late(given.envelope, message.sent_at)
        if given.superseded is None:
            given.superseded = self._is_over(given.envelope)

    def _is_over(self, envelope: WaitEnvelope) -> bool:
        """Whether everybody was told that the ask is over, or a later attempt of it was announced."""
        closed = all(envelope.ask_id in consumer.resumed for consumer in self.consumers.values())
        return closed or any(
            other.fingerprint == envelope.fingerprint is not None
            and other.question == envelope.question
            and other.attempt > envelope.attempt
            for consumer in self.consumers.values()
            for other in consumer.created.values()
        )

    def ran(self, run: str, item: str, amount: int, by: str | None) -> None:
        """A body has run."""
        with self._lock:
            self.bodies.append((run, item, amount, by))

    def took(self, run: str, item: str, answer: Any) -> None:
        """A node has taken the answer to a bare interrupt."""
        self.ran(run, item, AMOUNT, answer.get("by") if isinstance(answer, Mapping) else None)

    def may_fail(self, item: str, when: str) -> None:
        """Raises as often as was said."""
        with self._lock:
            left = self.failing.get((item, when), 0)
            self.failing[item, when] = max(0, left - 1)
        if left:
            raise WorkFailed

    # What people see

    def inbox(self, thread: str) -> list[WaitEnvelope]:
        """What somebody is asked now, who reads the table."""
        table = self.consumers["table"]
        return [each for each in self._shown(thread) if each.ask_id not in table.resumed]

    def _shown(self, thread: str) -> list[WaitEnvelope]:
        shown = [e for e in self.consumers["table"].created.values() if e.thread_id == thread]
        return sorted(shown, key=lambda each: (str(each.question), each.attempt))

    def _late(self) -> list[WaitEnvelope]:
        return [each for thread in self.queues for each in self.inbox(thread) if self._is_late(each)]

    def _is_late(self, envelope: WaitEnvelope, when: float | None = None) -> bool:
        if envelope.expires_at is None:
            return False
        now = self.clock.now() if when is None else when
        return now >= datetime.fromisoformat(envelope.expires_at).timestamp()

    # The judge

    def _judge_delivery(self, message: Sent, outcome: Outcome | None, log: "_Log") -> None:
        self.checked[3] += 1
        for body in self.bodies:
            self._judge_body(*body)
        self.checked[4] += 1
        for of, keys in self.ledger.items():
            if len(keys) > 1:
                raise Violation(4, f"{of} was paid {len(keys)} times")
        self.checked[6] += 1
        if any(SECRET in line for line in log.lines):
            raise Violation(6, "a question's content was logged")
        if outcome is None:
            return
        reported = {
            (failure.announcer, failure.envelope.dedupe_key) for failure in outcome.publication.failures
        }
        # Behind one that hangs nothing is tried, and whoever is slow beside it may run out of time.
        hung = any(consumer.state == "hangs" for consumer in self.consumers.values())
        if not (self.failed <= reported if hung else self.failed == reported):
            raise Violation(6, f"announcements failed: {self.failed}; reported: {reported}")
        if sum("announce failed" in line for line in log.lines) != len(outcome.publication.failures):
            raise Violation(6, "a failed announcement was not logged, or more than once")
        if outcome.kind in LOGGED and not any(line.startswith(outcome.kind) for line in log.lines):
            raise Violation(6, f"nothing was logged of a message that was {outcome.kind}")
        given = self.given.get(message.by or "")
        if given is not None:
            self._judge_open(given.envelope, outcome)
            self.reported[given.envelope.ask_id] = outcome.kind
        if outcome.kind in RAN and (message.by is None or (given is not None and not given.proper)):
            raise Violation(3, f"{outcome.kind}, on an answer that names another question, or is none")

    def _judge_open(self, envelope: WaitEnvelope, outcome: Outcome) -> None:
        """An answer to what somebody is asked at the end finds it open, the first time.

        (Or kept, in Pydantic AI, since before.)
        """
        if envelope.ask_id in self.open:
            self.open.discard(envelope.ask_id)
            if outcome.kind == "already_answered" and self.kind != "pydantic_ai":
                raise Violation(7, f"{envelope.question} was closed, and somebody is asked still")

    def _judge_body(self, run: str, item: str, amount: int, by: str | None) -> None:
        given = self.given.get(by or "")
        what = f"{item} of {run} was approved by {by}, who"
        if given is None:
            raise Violation(3, f"{what} never was")
        question: Any = given.envelope.question
        asked = question.get("args", question)
        if (asked["run"], asked["item"]) != (run, item) or not given.proper:
            raise Violation(3, f"{what} answered another question")
        if given.amount != amount and given.envelope.fingerprint is not None:
            raise Violation(3, f"{what} approved {given.amount}, not {amount}")
        if not given.in_time:
            raise Violation(3, f"{what} was late")
        if given.superseded:
            raise Violation(3, f"{what} answered an ask that was over")

    def _judge_acknowledged(self, message: Sent, outcome: Outcome) -> None:
        if isinstance(message.body, Mapping) and "start_id" in message.body and outcome.kind != "busy":
            self.accepted.setdefault(str(message.by), message.thread)

    def finish(self) -> None:
        """Mend everything, deliver everything, answer everything; nothing may be missing then."""
        for consumer in self.consumers.values():
            consumer.state = "works"
        self.failing.clear()
        if self.kind == "bare":
            # What has taken an answer to a bare interrupt takes no other: only a redrive brings that again.
            for dead in self.dead:
                self._send(Sent(dead.thread, dead.body, dead.by))
        waiting: list[WaitEnvelope] = []
        for _ in range(ROUNDS):
            self._drain()
            waiting = [each for thread in self.queues for each in self.inbox(thread)]
            # Everything was delivered: what somebody is still asked now, nobody has closed.
            self.open = {each.ask_id for each in waiting if each.thread_id not in self.given_up}
            for envelope in waiting:
                if envelope.ask_id in self.open and self.told[_run_of(envelope)]:
                    raise Violation(7, f"{envelope.question} is asked still, and its customer has been told")
            for envelope in waiting:
                if self._is_late(envelope):
                    self._give(envelope, envelope.default, None)
                else:
                    self._give(envelope, {"action": "approve"}, AMOUNT)
        self.checked[5] += 1
        if waiting and all(self.reported.get(each.ask_id) in CLOSED for each in waiting):
            raise Violation(7, "somebody is asked for ever what has long been closed")
        if waiting:
            raise Violation(5, "somebody is asked for ever: answers do nothing")
        self._judge_names()
        for run, thread in self.accepted.items():
            if thread not in self.given_up:
                self._judge_run(run)
        self._judge_closings()

    def _drain(self) -> None:
        for thread, queue in list(self.queues.items()):
            for _ in range(len(queue) * GIVE_UP_AFTER):
                self._deliver(thread, None)
            if queue:
                raise Violation(5, "a message is never acknowledged")

    def _judge_names(self) -> None:
        self.checked[2] += 1
        names: defaultdict[tuple[str, int], set[str]] = defaultdict(set)
        for consumer in self.consumers.values():
            for ask_id, envelope in consumer.created.items():
                names[str(envelope.question), envelope.attempt].add(ask_id)
        for (question, attempt), ids in names.items():
            if len(ids) > 1:
                raise Violation(2, f"attempt {attempt} of {question} was announced under {sorted(ids)}")

    def _judge_run(self, run: str) -> None:
        self.checked[1] += 1
        told = self.told[run]
        if not told:
            raise Violation(1, f"{run} was accepted and nobody is asked, but it has come to no end")
        items = ITEMS.get(self.kind, "ABC")
        for results in told:
            if sorted(results) != sorted(items):
                raise Violation(5, f"{run} ended with {sorted(results)}, not {sorted(items)}")
            paid = {item for item, result in results.items() if str(result).startswith("paid")}
            if paid != {item for item in items if self.ledger[run, item]}:
                raise Violation(4, f"the customer of {run} was told {results}, and that is not what was paid")
        if any(results != told[0] for results in told):
            raise Violation(4, f"the customer of {run} was told different things: {told}")

    def _judge_closings(self) -> None:
        self.checked[7] += 1
        created = [set(consumer.created) for consumer in self.consumers.values()]
        for name, consumer in self.consumers.items():
            for envelope in consumer.created.values():
                if envelope.thread_id not in self.given_up and envelope.ask_id not in consumer.resumed:
                    raise Violation(7, f"the {name} was never told that {envelope.question} is closed")
        if not self.given_up and any(each != created[0] for each in created):
            raise Violation(1, "a question was announced to some and not to others")

    # Where the threads are

    def _open(self, saver: str) -> Saver:
        if saver == "memory":
            return InMemorySaver()
        if not self.is_async:
            self._connection = sqlite3.connect(":memory:", check_same_thread=False)
            return SqliteSaver(self._connection)
        return self._run(self._open_async())

    async def _open_async(self) -> Saver:
        import aiosqlite

        self._connection = await aiosqlite.connect(":memory:")
        return AsyncSqliteSaver(self._connection)

    def _run(self, coroutine: Any) -> Any:
        assert self._runner is not None
        return self._runner.run(coroutine, context=contextvars.copy_context())


@contextmanager
def _loop() -> Generator[None]:
    """Pydantic AI runs on the thread's event loop also when it is called plainly, and leaves it open."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield
    finally:
        asyncio.set_event_loop(None)
        loop.close()


def _run_of(envelope: WaitEnvelope) -> str:
    question: Any = envelope.question
    return question.get("args", question)["run"]


def _malformed(body: dict[str, Any], nth: int) -> Any:
    without = {name: part for name, part in body.items() if name != "answer"}
    kinds: list[Any] = [
        without,
        {**body, "input": {}},
        {**body, "thread_id": 7},
        {**body, "thread_id": ""},
        {**body, "ask_id": ["x"]},
        {**body, "answer": float("nan")},
        [body],
        None,
    ]
    return kinds[nth % len(kinds)]


class _Log(logging.Handler):
    """What agent-wait logs meanwhile."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []
        self._logger = logging.getLogger("agent_wait")

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    def __enter__(self) -> Self:
        self._before = self._logger.level, self._logger.propagate
        self._logger.setLevel(logging.INFO)
        self._logger.propagate = False
        self._logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
        level, self._logger.propagate = self._before
        self._logger.setLevel(level)


def run(
    kind: str,
    *steps: Step,
    saver: str | Callable[[], Saver] = "memory",
    is_async: bool = False,
    host: type[Host] = Host,
) -> World:
    """Play one schedule to its end.

    Raises:
        Violation: A promise was broken.
    """
    world = World(kind, saver=saver, is_async=is_async, host=host)
    with closing(world):
        for step in steps:
            world.play(step)
        world.finish()
    return world
