"""Whatever happens to a thread, no body runs unapproved and no question is lost."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from agent_wait import FakeClock, InMemoryAnnounce, Question, WaitPolicy, current_wait, make_wait, publish
from agent_wait import _identity as identity
from agent_wait._answer import wrap_answer
from agent_wait._canonical import encode
from agent_wait._types import JSON
from agent_wait.testing import Parked, StubFramework
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

GOOD: list[Any] = [{"action": "approve"}, {"action": "approve", "args": {}}]
EDITS: list[Any] = [{"action": "approve", "args": {"amount": n}} for n in (7, 8)]
UNUSABLE: list[Any] = [
    '{"action": "approve"}',
    {"action": "approve", "args": [1]},
    {"action": "approve", "args": {"amount": "seven"}},
    {"action": "approve", "args": {"amount": True}},
    {"action": "approve", "args": {"amuont": 1}},
]
OTHER: list[Any] = [None, False, 0, "", {}, [], "approve", {"action": "reject"}, {"action": "APPROVE"}]


class Store:
    """What outlives a process: the answers a thread was given, in order, as JSON."""

    def __init__(self) -> None:
        self.answers: list[str] = []


class Thread:
    """One thread of calls on the stub framework, run by one process after the other."""

    def __init__(self, store: Store, calls: list[tuple[str, int]]) -> None:
        self.store = store
        self.calls = calls
        self.bodies: list[tuple[int, int, JSON, str]] = []
        self.results: list[Any] = []
        self.parked: Question | None = None

    def run(self) -> None:
        """A process starts, runs the thread from its beginning, and stops where it parks."""
        stub = StubFramework("t-1")
        stub.answers = [json.loads(answer) for answer in self.store.answers]
        self.bodies, self.results, self.parked = [], [], None
        clock = FakeClock()

        def body(index: int) -> Callable[..., Any]:
            def pay(amount: int, key: str) -> str:
                wait = current_wait()
                assert wait is not None
                self.bodies.append((index, amount, wait.answer, wait.idempotency_key))
                return f"paid {amount} for {key}"

            return make_wait(stub, clock=clock)(WaitPolicy(timeout="P1D"))(pay)

        try:
            for index, (key, amount) in enumerate(self.calls):
                self.results.append(body(index)(amount, key))
        except Parked as stop:
            self.parked = Question.unpack(f"q-{len(self.store.answers)}", json.loads(json.dumps(stop.value)))


class Threads(RuleBasedStateMachine):
    """Asks, answers good and bad, duplicates, republishes, re-runs and restarts, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[dict[str, Any]] = []
        self.announced = InMemoryAnnounce()
        self.given: list[tuple[str | None, JSON]] = []

    @initialize(amounts=st.lists(st.sampled_from([1, 2]), min_size=1, max_size=3))
    def start(self, amounts: list[int]) -> None:
        # This framework tells equal calls not apart, so each has an argument of its own.
        self.thread = Thread(Store(), [(f"o-{n}", amount) for n, amount in enumerate(amounts)])
        self.thread.run()
        self.publish()

    def publish(self) -> None:
        if self.thread.parked is not None:
            (envelope,) = publish([self.thread.parked], "t-1", self.announced)
            self.messages.append(dict(envelope.reply_with))

    def deliver(self, message: dict[str, Any], answer: Any) -> None:
        """As a host without a router does it: whatever comes is handed to the thread, if that is parked."""
        if self.thread.parked is None:
            return
        wrapped = wrap_answer({**message, "answer": answer, "answered_by": "ada"}, at=1_760_000_000.0)
        self.thread.store.answers.append(json.dumps(wrapped))
        self.given.append((message["fingerprint"], answer))
        self.thread.run()
        self.publish()

    @precondition(lambda self: self.messages)
    @rule(data=st.data(), answer=st.sampled_from([*GOOD, *EDITS, *UNUSABLE, *OTHER]))
    def answer_any_question_that_was_ever_asked(self, data: st.DataObject, answer: Any) -> None:
        self.deliver(data.draw(st.sampled_from(self.messages)), answer)

    @precondition(lambda self: self.messages)
    @rule(answer=st.sampled_from([*GOOD, *EDITS, *UNUSABLE, *OTHER]))
    def answer_the_newest_question(self, answer: Any) -> None:
        self.deliver(self.messages[-1], answer)

    @precondition(lambda self: self.given and self.messages)
    @rule(data=st.data())
    def deliver_an_answer_again(self, data: st.DataObject) -> None:
        fingerprint, answer = data.draw(st.sampled_from(self.given))
        self.deliver({**self.messages[-1], "fingerprint": fingerprint}, answer)

    @rule()
    def answer_another_thread(self) -> None:
        forged = {"question_id": "q-9", "ask_id": None, "fingerprint": f"sha256:{9:064x}"}
        self.deliver(forged, {"action": "approve"})

    @rule()
    def restart(self) -> None:
        before = (self.thread.parked, self.thread.results)
        self.thread.run()
        assert before == (self.thread.parked, self.thread.results)

    @precondition(lambda self: self.thread.parked is not None)
    @rule()
    def republish(self) -> None:
        last = self.announced.events[-1]
        self.publish()
        now = self.announced.events[-1]
        assert (now.dedupe_key, now.asked_at, now.expires_at) == (
            last.dedupe_key,
            last.asked_at,
            last.expires_at,
        )

    @invariant()
    def every_body_ran_on_an_approval_of_exactly_its_call(self) -> None:
        thread = self.thread
        for index, amount, answer, _ in thread.bodies:
            key, asked = thread.calls[index]
            question: JSON = {"function": "pay", "args": {"amount": asked, "key": key}}
            named = identity.fingerprint(encode(question), None)
            assert (named, answer) in self.given, "an approval of this call"
            assert answer in [*GOOD, *EDITS]
            said: Any = answer
            assert amount == (said.get("args") or {}).get("amount", asked)
        assert [body[0] for body in thread.bodies] == sorted({body[0] for body in thread.bodies})
        assert len({body[3] for body in thread.bodies}) == len(thread.bodies), "a key an effect"

    @invariant()
    def the_thread_is_through_or_its_question_has_been_announced(self) -> None:
        if self.thread.parked is None:
            assert len(self.thread.results) == len(self.thread.calls)
            return
        (named,) = [
            event
            for event in self.announced.events
            if event.ask_id == identity.ask_id("t-1", self.thread.parked)
        ][-1:]
        assert named.question == self.thread.parked.question

    @invariant()
    def what_was_not_approved_is_given_back_as_it_was_sent(self) -> None:
        ran = {body[0] for body in self.thread.bodies}
        for index, result in enumerate(self.thread.results):
            assert index in ran or result in OTHER


@pytest.mark.requirement("STALE-Q1-APPROVES-Q2", "BAD-ANSWER-POISONS-THREAD", "APPROVAL-BOUND-TO-NAME")
def test_no_sequence_of_events_runs_a_body_unapproved_or_loses_a_question() -> None:
    run_state_machine_as_test(
        Threads, settings=settings(max_examples=100, stateful_step_count=20, deadline=None)
    )
