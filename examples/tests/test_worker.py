"""The way in, on a real FIFO queue: what is deleted, what comes again, and what is set aside."""

import dataclasses
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from agent_wait import Outcome
from agent_wait_aws import group_id
from refund_agent import aws, host
from refund_agent.approvals import Approvals
from refund_agent.payments import DynamoDbLedger
from refund_agent.resources import MAX_RECEIVES, Resources
from refund_agent.worker import Delivery, Worker


class Queues:
    """Sends to the entry queue, and looks at what is left in both."""

    def __init__(self, resources: Resources) -> None:
        self._sqs = aws.sqs()
        self._resources = resources
        # What was left undeleted is visible again at once, instead of after half a minute.
        self._sqs.set_queue_attributes(
            QueueUrl=resources.entry_queue_url, Attributes={"VisibilityTimeout": "0"}
        )

    def send(self, *bodies: str, thread_id: str = "t-1") -> None:
        for body in bodies:
            self._sqs.send_message(
                QueueUrl=self._resources.entry_queue_url, MessageBody=body, MessageGroupId=group_id(thread_id)
            )

    def left(self) -> int:
        attributes = self._sqs.get_queue_attributes(
            QueueUrl=self._resources.entry_queue_url,
            AttributeNames=["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"],
        )["Attributes"]
        return sum(map(int, attributes.values()))

    def dead_letters(self) -> list[tuple[str, str, str]]:
        """Body, outcome and detail of each."""
        reply = self._sqs.receive_message(
            QueueUrl=self._resources.dead_letter_queue_url,
            MaxNumberOfMessages=10,
            MessageAttributeNames=["All"],
        )
        return [_letter(message) for message in reply.get("Messages", [])]


def _letter(message: Any) -> tuple[str, str, str]:
    told = {name: each["StringValue"] for name, each in message.get("MessageAttributes", {}).items()}
    return message["Body"], told.get("outcome", ""), told.get("detail", "")


@pytest.fixture
def queues(resources: Resources) -> Queues:
    return Queues(resources)


def answering(kind: str, *, acknowledge: bool = True, detail: str = "") -> Callable[[Delivery], Outcome]:
    return lambda _: Outcome(kind, "t-1", detail=detail, acknowledge=acknowledge)  # pyright: ignore[reportArgumentType]  # kinds are parameters here


def test_an_empty_queue_is_no_outcome(resources: Resources) -> None:
    assert Worker(resources, answering("started")).work_one() is None


@pytest.mark.parametrize(
    "kind", ["started", "resumed", "continued", "republished", "already_answered", "unknown_question"]
)
def test_what_is_acknowledged_is_deleted(resources: Resources, queues: Queues, kind: str) -> None:
    queues.send("one")
    outcome = Worker(resources, answering(kind)).work_one()
    assert outcome is not None
    assert outcome.kind == kind
    assert (queues.left(), queues.dead_letters()) == (0, [])


def test_what_is_not_acknowledged_comes_again_before_what_is_behind_it(
    resources: Resources, queues: Queues
) -> None:
    queues.send("one", "two")
    Worker(resources, answering("started", acknowledge=False)).work_one()
    seen: list[str] = []

    def handle(delivery: Delivery) -> Outcome:
        seen.append(delivery.body)
        return Outcome("started", "t-1", acknowledge=True)

    worker = Worker(resources, handle)
    while worker.work_one():
        pass
    assert seen == ["one", "two"]
    assert queues.left() == 0


@pytest.mark.parametrize("kind", ["refused", "busy"])
def test_what_only_the_outcome_still_has_is_set_aside_and_blocks_nobody(
    resources: Resources, queues: Queues, kind: str
) -> None:
    queues.send("one", "two")
    worker = Worker(resources, answering(kind, detail="why"))
    worker.work_one()
    worker.work_one()
    assert queues.left() == 0
    assert queues.dead_letters() == [("one", kind, "why"), ("two", kind, "why")]


def test_what_cannot_be_set_aside_is_not_deleted(resources: Resources, queues: Queues) -> None:
    queues.send("one")
    worker = Worker(resources, answering("refused"))
    aws.sqs().delete_queue(QueueUrl=resources.dead_letter_queue_url)
    with pytest.raises(Exception, match=r"NonExistentQueue|does not exist"):
        worker.work_one()
    assert queues.left() == 1


@pytest.mark.requirement("ERROR-DROPS-MESSAGE")
def test_what_raises_comes_again_until_it_is_a_dead_letter_and_holds_up_no_other_thread(
    resources: Resources, queues: Queues, caplog: pytest.LogCaptureFixture
) -> None:
    queues.send("boom", "after", thread_id="t-1")
    queues.send("other", thread_id="t-2")
    tried: list[str] = []

    def handle(delivery: Delivery) -> Outcome:
        tried.append(delivery.body)
        if delivery.body == "boom":
            raise RuntimeError("the graph has raised")
        return Outcome("started", "t-1", acknowledge=True)

    worker = Worker(resources, handle)
    while queues.left():
        worker.work_one()
    assert tried.count("boom") == MAX_RECEIVES
    assert tried.count("other") == tried.count("after") == 1
    assert tried.index("after") > max(at for at, body in enumerate(tried) if body == "boom")
    assert queues.dead_letters() == [("boom", "", "")]
    assert len(caplog.records) == MAX_RECEIVES


@pytest.mark.requirement("POISON-BODY")
def test_a_bad_body_goes_aside_and_the_good_ones_are_handled_once(
    resources: Resources, queues: Queues
) -> None:
    def start(thread_id: str) -> str:
        refund = {"order_id": "o-1001", "amount": "1.00", "reason": "rusty"}
        return json.dumps({"thread_id": thread_id, "start_id": "request-1", "input": refund})

    publisher = host.build_publisher(resources)
    worker = Worker(resources, lambda it: host.handle(publisher, it.body, sent_at=it.sent_at))
    queues.send(start("t-1"), thread_id="t-1")
    queues.send("not JSON", thread_id="t-2")
    queues.send(start("t-2"), thread_id="t-2")
    kinds: list[str] = []
    while outcome := worker.work_one():
        kinds.append(outcome.kind)
    assert sorted(kinds) == ["refused", "started", "started"]
    assert [body for body, _, _ in queues.dead_letters()] == ["not JSON"]


def test_it_works_until_it_is_told_to_stop(resources: Resources, queues: Queues) -> None:
    queues.send("one", "two", "three")
    stop, seen = threading.Event(), list[str]()

    def handle(delivery: Delivery) -> Outcome:
        seen.append(delivery.body)
        if delivery.body == "two":
            stop.set()
        return Outcome("started", "t-1", acknowledge=True)

    Worker(resources, handle).run(stop)
    assert (seen, queues.left()) == (["one", "two"], 1)


HANDLES_ONE = """
import json, sys
from refund_agent import host
from refund_agent.resources import Resources
from refund_agent.worker import Worker
resources = Resources(**json.loads(sys.argv[1]))
publisher = host.build_publisher(resources)
print(Worker(resources, lambda it: host.handle(publisher, it.body, sent_at=it.sent_at)).work_one().kind)
"""


@pytest.mark.requirement("SERVERLESS-MEMORY-SAVER")
def test_a_request_is_handled_in_one_process_and_its_answer_in_another(
    resources: Resources, queues: Queues
) -> None:
    def handle_in_a_new_process() -> str:
        argv = [sys.executable, "-c", HANDLES_ONE, json.dumps(dataclasses.asdict(resources))]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()

    refund = {"order_id": "o-1002", "amount": "41000.00", "reason": "rusty"}
    queues.send(json.dumps({"thread_id": "t-1", "start_id": "request-1", "input": refund}))
    assert handle_in_a_new_process() == "started"
    approvals, ledger = Approvals(resources), DynamoDbLedger(resources.ledger_table)
    [asked] = approvals.of_thread("t-1")
    assert ledger.entries() == []
    approvals.answer(asked.question, {"action": "approve"}, answered_by="mia")
    assert handle_in_a_new_process() == "resumed"
    assert sorted(entry.kind for entry in ledger.entries()) == ["notice", "refund"]


@pytest.mark.requirement("CHECKPOINT-400KB")
def test_what_no_checkpoint_can_hold_is_never_announced_and_ends_as_a_dead_letter(
    resources: Resources, queues: Queues
) -> None:
    refund = {"order_id": "o-1002", "amount": "41000.00", "reason": "x" * 500_000}
    body = json.dumps({"thread_id": "t-1", "start_id": "request-1", "input": refund})
    publisher = host.build_publisher(resources)
    worker = Worker(resources, lambda it: host.handle(publisher, it.body, sent_at=it.sent_at))
    queues.send(body)
    while queues.left():
        assert worker.work_one() is None
    assert [letter for letter, _, _ in queues.dead_letters()] == [body]
    sqs = aws.sqs()
    assert "Messages" not in sqs.receive_message(QueueUrl=resources.announcements_queue_url)
    assert aws.table(resources.approvals_table).scan()["Items"] == []
