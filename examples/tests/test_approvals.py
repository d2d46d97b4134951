"""Answering and sweeping, on the real table and queue."""

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from agent_wait import FakeClock, Question, WaitEnvelope, WaitPolicy, WaitPublisher, publish
from agent_wait_aws import DynamoDbAnnounce, group_id, row_key
from refund_agent import aws, host
from refund_agent.approvals import Approval, Approvals, NotOpen
from refund_agent.resources import Resources
from refund_agent.sweep import SETTLED_SECONDS, UNSENT_SECONDS, sweep

DAY = 86400.0
DEFAULT: Any = {"action": "reject", "reason": "nobody answered"}
APPROVE: Any = {"action": "approve"}


class Desk:
    """An approvals table with questions in it, and the agent's queue."""

    def __init__(self, resources: Resources) -> None:
        self.resources = resources
        self.clock = FakeClock()
        self.approvals = Approvals(resources, clock=self.clock)
        self._announce = DynamoDbAnnounce(resources.approvals_table)

    def ask(
        self, question_id: str = "q-1", *, timeout: str | None = "P3D", default: Any = None
    ) -> WaitEnvelope:
        question = Question(
            question_id,
            {"refund": "o-1"},
            WaitPolicy(timeout=timeout, default=default),
            fingerprint=f"sha256:{question_id.encode().hex():0>64}",
            asked_at=self.clock.now(),
        )
        publication = publish([question], "t-1", self._announce, clock=self.clock)
        publication.raise_for_failures()
        return publication[0]

    def row(self, question: WaitEnvelope) -> Approval:
        [row] = [each for each in self.approvals.of_thread("t-1") if each.question.ask_id == question.ask_id]
        return row

    def change(self, question: WaitEnvelope, name: str, value: str) -> None:
        aws.table(self.resources.approvals_table).update_item(
            Key=row_key("t-1", question.ask_id),
            UpdateExpression="SET #name = :value",
            ExpressionAttributeNames={"#name": name},
            ExpressionAttributeValues={":value": value},
        )

    def queued(self) -> list[dict[str, Any]]:
        """What is in the agent's queue, which is emptied."""
        url = self.resources.entry_queue_url
        messages: list[dict[str, Any]] = []
        while (
            received := aws.sqs()
            .receive_message(QueueUrl=url, MessageSystemAttributeNames=["MessageGroupId"])
            .get("Messages")
        ):
            for message in received:
                aws.sqs().delete_message(QueueUrl=url, ReceiptHandle=message.get("ReceiptHandle", ""))
                assert message.get("Attributes", {}).get("MessageGroupId") == group_id("t-1")
                messages.append(json.loads(message.get("Body", "")))
        return messages


@pytest.fixture
def desk(resources: Resources) -> Desk:
    return Desk(resources)


@pytest.mark.requirement("NO-APPROVER-RECORDED")
def test_an_answer_is_what_reply_with_says_and_the_row_tells_who_gave_it(desk: Desk) -> None:
    question = desk.ask()
    desk.approvals.answer(question, APPROVE, answered_by="mia")
    assert desk.queued() == [{**question.reply_with, "answer": APPROVE, "answered_by": "mia"}]
    row = desk.row(question)
    assert (row.question.question_id, row.status) == ("q-1", "answered")
    assert (row.answer, row.answered_by) == (APPROVE, "mia")
    assert row.answered_at == row.sent_at == "2025-10-09T08:53:20Z"


@pytest.mark.parametrize(
    "answer",
    [None, False, 0, "", [], {"action": "approve", "args": {"amount": 12.5, "id": 2**60, "x": [1.0]}}],
)
def test_any_json_arrives_as_it_was_given(desk: Desk, answer: Any) -> None:
    desk.approvals.answer(desk.ask(), answer, answered_by="mia")
    [message] = desk.queued()
    assert message["answer"] == answer
    assert type(message["answer"]) is type(answer)


def test_the_second_answer_is_told_so_and_nothing_is_sent(desk: Desk) -> None:
    question = desk.ask()
    desk.approvals.answer(question, APPROVE, answered_by="mia")
    with pytest.raises(NotOpen, match="answered or closed"):
        desk.approvals.answer(question, {"action": "reject"}, answered_by="tom")
    assert [message["answered_by"] for message in desk.queued()] == ["mia"]
    assert desk.row(question).answered_by == "mia"


@pytest.mark.requirement("CONCURRENT-DOUBLE-APPROVE")
def test_of_many_who_answer_at_the_same_moment_one_does(desk: Desk) -> None:
    question, start = desk.ask(), threading.Barrier(6)

    def answer(number: int) -> bool:
        mine = Approvals(desk.resources, clock=desk.clock)
        start.wait(timeout=30)
        try:
            mine.answer(question, {"action": "approve", "by": number}, answered_by=f"person-{number}")
        except NotOpen:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        won = [number for number, wins in enumerate(pool.map(answer, range(6))) if wins]
    assert [message["answered_by"] for message in desk.queued()] == [f"person-{number}" for number in won]
    assert len(won) == 1


@pytest.mark.requirement("LATE-CLICK-SHOWN-AS-SUCCESS")
@pytest.mark.parametrize(("waited", "late"), [(3 * DAY - 1, False), (3 * DAY, True), (4 * DAY, True)])
def test_at_the_deadline_it_is_too_late_for_a_person(desk: Desk, waited: float, late: bool) -> None:
    question = desk.ask(default=DEFAULT)
    desk.clock.advance(waited)
    if late:
        with pytest.raises(NotOpen, match="deadline"):
            desk.approvals.answer(question, APPROVE, answered_by="mia")
    else:
        desk.approvals.answer(question, APPROVE, answered_by="mia")
    assert (desk.row(question).status, len(desk.queued())) == (("open", 0) if late else ("answered", 1))


@pytest.mark.requirement("MALFORMED-EXPIRY-FAILS-OPEN")
@pytest.mark.odd_envelope("a row whose deadline has been damaged")
def test_a_deadline_that_cannot_be_read_has_passed(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    question = desk.ask()
    desk.change(question, "expires_at", "not-a-date")
    with pytest.raises(NotOpen):
        desk.approvals.answer(desk.row(question).question, APPROVE, answered_by="mia")
    assert desk.queued() == []
    assert [question.ask_id in record.message for record in caplog.records] == [True]


def test_without_a_deadline_it_is_never_too_late(desk: Desk) -> None:
    question = desk.ask(timeout=None)
    desk.clock.advance(3650 * DAY)
    desk.approvals.answer(question, APPROVE, answered_by="mia")
    assert len(desk.queued()) == 1


def test_open_questions_are_listed_nearest_deadline_first(desk: Desk) -> None:
    for question_id, timeout in (("later", "P5D"), ("never", None), ("soon", "PT1H"), ("next", "P1D")):
        desk.ask(question_id, timeout=timeout)
    listed = desk.approvals.with_status("open")
    assert [approval.question.question_id for approval in listed] == ["soon", "next", "later", "never"]


# The sweep. The publisher of a thread that never ran has nothing pending.


class Threads:
    """Stands for the publisher, of which the sweep asks one thing: what a thread is parked on."""

    def __init__(self, *pending: WaitEnvelope) -> None:
        self._pending = pending

    def pending(self, thread_id: str) -> list[Question]:
        return [
            Question(each.question_id, None, fingerprint=each.fingerprint, attempt=each.attempt)
            for each in self._pending
            if each.thread_id == thread_id
        ]


@pytest.fixture
def swept(desk: Desk) -> Callable[..., tuple[list[str], ...]]:
    """Sweeps, and gives the ids of what was defaulted, sent, closed and reopened."""

    def run(*pending: WaitEnvelope) -> tuple[list[str], ...]:
        done = sweep(desk.approvals, Threads(*pending), clock=desk.clock)
        return tuple(
            [approval.question.question_id for approval in each]
            for each in (done.defaulted, done.sent, done.closed, done.reopened)
        )

    return run


NOTHING: tuple[list[str], ...] = ([], [], [], [])


@pytest.mark.parametrize(("waited", "due"), [(3 * DAY, False), (3 * DAY + 1, True)])
def test_the_default_is_sent_once_after_the_deadline(
    desk: Desk, swept: Callable[..., Any], waited: float, due: bool
) -> None:
    question = desk.ask(default=DEFAULT)
    desk.clock.advance(waited)
    assert swept(question) == ((["q-1"], [], [], []) if due else NOTHING)
    assert swept(question) == NOTHING
    expected = [{**question.reply_with, "answer": DEFAULT, "answered_by": "deadline"}]
    assert desk.queued() == (expected if due else [])


def test_a_deadline_without_a_default_sends_nothing(desk: Desk, swept: Callable[..., Any]) -> None:
    question = desk.ask(default=None)
    desk.clock.advance(4 * DAY)
    assert swept(question) == NOTHING
    assert desk.queued() == []


def test_what_was_claimed_and_not_sent_is_sent(
    desk: Desk, swept: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    question = desk.ask()

    def die(approval: Approval) -> None:
        raise ConnectionAbortedError("died between the claim and the queue")

    with monkeypatch.context() as patch:
        patch.setattr(desk.approvals, "send", die)
        with pytest.raises(ConnectionAbortedError):
            desk.approvals.answer(question, APPROVE, answered_by="mia")
    desk.clock.advance(UNSENT_SECONDS - 1)
    assert swept(question) == NOTHING
    desk.clock.advance(1)
    assert swept(question) == ([], ["q-1"], [], [])
    assert desk.queued() == [{**question.reply_with, "answer": APPROVE, "answered_by": "mia"}]
    assert desk.row(question).sent_at == "2025-10-09T08:54:20Z"


def test_what_the_agent_has_moved_past_is_closed(desk: Desk, swept: Callable[..., Any]) -> None:
    open_one, answered = desk.ask("open"), desk.ask("answered")
    desk.approvals.answer(answered, APPROVE, answered_by="mia")
    desk.clock.advance(SETTLED_SECONDS - 1)
    assert swept() == NOTHING
    desk.clock.advance(1)
    assert swept() == ([], [], ["open", "answered"], [])
    assert (desk.row(open_one).status, desk.row(answered).status) == ("closed", "closed")
    assert desk.row(answered).answered_by == "mia"


def test_an_answer_that_was_given_up_on_the_way_opens_its_question_again(
    desk: Desk, swept: Callable[..., Any]
) -> None:
    question = desk.ask()
    desk.approvals.answer(question, APPROVE, answered_by="mia")
    desk.clock.advance(SETTLED_SECONDS)
    assert swept(question) == ([], [], [], ["q-1"])
    row = desk.row(question)
    assert (row.status, row.answer, row.answered_by, row.sent_at) == ("open", None, None, None)


@pytest.mark.requirement("FIFO-WINDOW")
def test_the_same_answer_given_again_after_it_was_given_up_is_sent_again(
    desk: Desk, swept: Callable[..., Any]
) -> None:
    question = desk.ask()
    desk.approvals.answer(question, APPROVE, answered_by="mia")
    desk.clock.advance(SETTLED_SECONDS)
    swept(question)
    desk.approvals.answer(question, APPROVE, answered_by="mia")
    assert len(desk.queued()) == 2


def test_an_answer_sent_twice_by_a_crash_reaches_the_agent_once(desk: Desk) -> None:
    question = desk.ask()
    desk.approvals.answer(question, APPROVE, answered_by="mia")
    desk.approvals.send(desk.row(question))
    assert len(desk.queued()) == 1


def test_a_row_that_closes_under_the_sweep_is_not_opened_again(desk: Desk) -> None:
    question = desk.ask()
    desk.approvals.answer(question, APPROVE, answered_by="mia")
    stale = desk.row(question)
    assert desk.approvals.close(stale)
    assert not desk.approvals.reopen(stale)
    assert not desk.approvals.close(stale)
    assert desk.row(question).status == "closed"


def test_the_sweep_reads_what_a_real_agent_is_parked_on(resources: Resources) -> None:
    publisher: WaitPublisher = host.build_publisher(resources)
    refund = {"order_id": "o-1002", "amount": "41000.00", "reason": "rusty"}
    host.handle(publisher, json.dumps({"thread_id": "t-1", "start_id": "request-1", "input": refund}))
    clock = FakeClock(start=4_000_000_000.0)
    done = sweep(Approvals(resources, clock=clock), publisher, clock=clock)
    assert (done.closed, len(done.defaulted)) == ([], 1)
