"""What moto gets wrong: order and redelivery in FIFO queues, transactions, schedules that fire."""

import json
import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from threading import Barrier, Thread
from typing import Any

import boto3
import pytest
from agent_wait import WaitEnvelope
from agent_wait_aws import (
    DynamoDbAnnounce,
    SchedulerAnnounce,
    SnsAnnounce,
    SqsAnnounce,
    envelope_of,
    group_id,
    row_key,
)

Make = Callable[..., WaitEnvelope]
pytestmark = pytest.mark.usefixtures("ministack")


def new_queue(**attributes: str) -> Any:
    name = f"q-{uuid.uuid4().hex}{'.fifo' if 'FifoQueue' in attributes else ''}"
    sqs: Any = boto3.resource("sqs")
    return sqs.create_queue(QueueName=name, Attributes=attributes)


def receive_all(queue: Any, *, wait: int = 0) -> list[Any]:
    found: list[Any] = []
    while messages := queue.receive_messages(
        MaxNumberOfMessages=10, WaitTimeSeconds=wait, AttributeNames=["All"], MessageAttributeNames=["All"]
    ):
        for message in messages:
            found.append(message)
            message.delete()
        wait = 0
    return found


def ids(messages: list[Any]) -> list[str]:
    return [WaitEnvelope.from_json(message.body).question_id for message in messages]


@pytest.fixture
def fifo() -> Any:
    return new_queue(FifoQueue="true")


@pytest.fixture
def table() -> Any:
    return boto3.resource("dynamodb").create_table(
        TableName=f"approvals-{uuid.uuid4().hex}",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        BillingMode="PAY_PER_REQUEST",
    )


def test_a_threads_questions_arrive_in_the_order_they_were_asked(fifo: Any, make_envelope: Make) -> None:
    envelopes = [
        make_envelope(f"{thread}-{number:02}", thread) for number in range(25) for thread in ("a", "b", "c")
    ]

    assert SqsAnnounce(fifo.url).deliver_many(envelopes, "created") == [None] * 75

    messages = receive_all(fifo)
    for thread in ("a", "b", "c"):
        arrived = [each for each in ids(messages) if each.startswith(thread)]
        assert arrived == [f"{thread}-{number:02}" for number in range(25)]
    assert {message.attributes["MessageGroupId"] for message in messages} == {"a", "b", "c"}


def test_a_repeat_is_dropped_by_the_queue_even_after_the_first_was_read(
    fifo: Any, make_envelope: Make
) -> None:
    announcer = SqsAnnounce(fifo.url)
    announcer.deliver(make_envelope(), "created")
    assert len(receive_all(fifo)) == 1

    announcer.deliver(make_envelope(event_id="01ARZ3NDEKTSV4RRFFQ69G5FAV"), "created")
    announcer.deliver(make_envelope(type="wait.resumed"), "resumed")

    (message,) = receive_all(fifo)
    assert WaitEnvelope.from_json(message.body).type == "wait.resumed"


@pytest.mark.requirement("GROUP-ID-CHARSET")
def test_odd_ids_make_messages_that_a_queue_takes(fifo: Any, make_envelope: Make) -> None:
    threads = ["café ☕ " + "x" * 200 + letter for letter in "AB"]

    errors = SqsAnnounce(fifo.url).deliver_many(
        [make_envelope(f"q {thread}", thread) for thread in threads], "created"
    )

    assert errors == [None, None]
    groups = [message.attributes["MessageGroupId"] for message in receive_all(fifo)]
    assert sorted(groups) == sorted(group_id(thread) for thread in threads)


def test_a_fifo_topic_hands_on_the_order_to_its_queue(fifo: Any, make_envelope: Make) -> None:
    sns: Any = boto3.client("sns")
    topic = sns.create_topic(Name=f"t-{uuid.uuid4().hex}.fifo", Attributes={"FifoTopic": "true"})["TopicArn"]
    sns.subscribe(
        TopicArn=topic,
        Protocol="sqs",
        Endpoint=fifo.attributes["QueueArn"],
        Attributes={"RawMessageDelivery": "true"},
    )
    envelopes = [make_envelope(f"q-{number:02}") for number in range(15)]

    assert SnsAnnounce(topic).deliver_many([*envelopes, envelopes[0]], "created") == [None] * 16

    assert ids(receive_all(fifo)) == [f"q-{number:02}" for number in range(15)]


def test_what_sqs_refuses_in_a_text_arrives_all_the_same(make_envelope: Make) -> None:
    queue = new_queue()
    odd = make_envelope(question="\ufffe\uffff \x00 😀", tags={"odd": "\ufffe", "team": "finance"})

    assert SqsAnnounce(queue.url).deliver_many([make_envelope("a"), odd], "created") == [None, None]

    arrived = {WaitEnvelope.from_json(message.body).question_id: message for message in receive_all(queue)}
    assert WaitEnvelope.from_json(arrived["q-1"].body) == odd
    assert arrived["q-1"].message_attributes.keys() == {"type", "thread_id", "team"}


@pytest.mark.requirement("ANSWERED-ROW-RESET")
def test_rows_that_stand_are_left_alone_and_new_ones_written_beside_them(
    table: Any, make_envelope: Make
) -> None:
    announcer = DynamoDbAnnounce(table.name)
    old = [make_envelope(f"old-{number}") for number in range(50)]
    new = [make_envelope(f"new-{number}") for number in range(70)]
    assert announcer.deliver_many(old, "created") == [None] * 50
    for envelope in old[:10]:
        table.update_item(
            Key=row_key(envelope.thread_id, envelope.ask_id),
            UpdateExpression="SET #status = :answered",
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={":answered": "answered"},
        )

    mixed = [envelope for pair in zip(old, new, strict=False) for envelope in pair] + new[50:]
    assert announcer.deliver_many(mixed, "created") == [None] * 120

    rows = table.scan()["Items"]
    assert len(rows) == 120
    assert sum(row["status"] == "answered" for row in rows) == 10
    assert {envelope_of(row).question_id for row in rows} == {each.question_id for each in mixed}


def test_a_late_question_stays_closed_in_a_transaction_too(table: Any, make_envelope: Make) -> None:
    announcer = DynamoDbAnnounce(table.name)
    closings = [make_envelope(f"q-{number}", type="wait.resumed") for number in range(3)]
    assert announcer.deliver_many(closings, "resumed") == [None] * 3

    assert (
        announcer.deliver_many([make_envelope(f"q-{number}") for number in range(4)], "created") == [None] * 4
    )

    statuses = {row["question_id"]: row["status"] for row in table.scan()["Items"]}
    assert statuses == {"q-0": "closed", "q-1": "closed", "q-2": "closed", "q-3": "open"}


def test_many_announcers_of_one_row_at_once_all_succeed(table: Any, make_envelope: Make) -> None:
    announcer, barrier = DynamoDbAnnounce(table.name), Barrier(8, timeout=10)
    errors: list[Exception | None] = []

    def run() -> None:
        barrier.wait()
        errors.extend(announcer.deliver_many([make_envelope("a"), make_envelope("b")], "created"))

    threads = [Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert errors == [None] * 16
    assert len(table.scan()["Items"]) == 2


def deadline(seconds: float) -> str:
    return datetime.fromtimestamp(time.time() + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_a_deadline_sends_the_default_unless_the_question_was_closed(make_envelope: Make) -> None:
    queue = new_queue(FifoQueue="true", ContentBasedDeduplication="true")
    scheduler: Any = boto3.client("scheduler")
    group = f"g-{uuid.uuid4().hex}"
    scheduler.create_schedule_group(Name=group)
    announcer = SchedulerAnnounce(
        group_name=group,
        target_arn=queue.attributes["QueueArn"],
        role_arn="arn:aws:iam::000000000000:role/scheduler",
    )
    # The closed one is due first: when the other has arrived, it would have, too.
    due: dict[str, Any] = {"default": {"action": "reject", "note": "<aws.scheduler.execution-id>"}}
    closed = make_envelope("closed", "thread 1", expires_at=deadline(2), **due)
    open_ = make_envelope("open", "thread 1", expires_at=deadline(3), **due)

    assert announcer.deliver_many([closed, open_, open_], "created") == [None] * 3
    assert announcer.deliver_many([closed, closed], "resumed") == [None] * 2

    (message,) = receive_until(queue, seconds=40)
    assert json.loads(message.body) == {**open_.reply_with, "answer": due["default"]}
    assert message.attributes["MessageGroupId"] == group_id("thread 1")
    assert scheduler.list_schedules(GroupName=group)["Schedules"] == []
    announcer.deliver(open_, "resumed")


def receive_until(queue: Any, *, seconds: int) -> list[Any]:
    for _ in range(seconds // 10):
        if messages := receive_all(queue, wait=10):
            return messages
    return []
