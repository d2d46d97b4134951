from collections.abc import Callable
from typing import Any

import boto3
import pytest
from agent_wait import AnnounceError, WaitEnvelope
from agent_wait_aws import SqsAnnounce, group_id

Make = Callable[..., WaitEnvelope]
STANDARD = "https://sqs.us-east-1.amazonaws.com/123456789012/questions"
FIFO = f"{STANDARD}.fifo"


def test_one_question_is_one_message_of_the_envelope(make_envelope: Make, client: Any) -> None:
    envelope = make_envelope()

    SqsAnnounce(STANDARD, client=client).deliver(envelope, "created")

    assert client.calls == [
        (
            "send_message",
            {
                "QueueUrl": STANDARD,
                "MessageBody": envelope.to_json(),
                "MessageAttributes": {
                    "type": {"DataType": "String", "StringValue": "wait.created"},
                    "thread_id": {"DataType": "String", "StringValue": "thread-1"},
                },
            },
        )
    ]


def test_a_fifo_queue_gets_the_threads_group_and_the_dedupe_key(make_envelope: Make, client: Any) -> None:
    SqsAnnounce(FIFO, client=client).deliver(make_envelope(), "created")

    request = client.calls[0][1]
    assert request["MessageGroupId"] == "thread-1"
    assert request["MessageDeduplicationId"] == "wait.created:q-1:0123456789abcdef"


@pytest.mark.requirement("GROUP-ID-CHARSET")
def test_ids_that_sqs_would_not_take_are_hashed(make_envelope: Make, client: Any) -> None:
    thread = "café ☕ " + "x" * 200

    SqsAnnounce(FIFO, client=client).deliver(make_envelope("q " * 100, thread), "created")

    request = client.calls[0][1]
    assert request["MessageGroupId"] == group_id(thread)
    assert request["MessageDeduplicationId"].startswith("sha256-")


@pytest.mark.requirement("GROUP-ID-CHARSET")
@pytest.mark.odd_envelope("publish refuses it sooner")
def test_an_empty_thread_id_is_a_failure_that_says_so(make_envelope: Make, client: Any) -> None:
    announcer = SqsAnnounce(FIFO, client=client)

    with pytest.raises(AnnounceError, match="ValueError"):
        announcer.deliver(make_envelope(thread_id=""), "created")
    assert client.calls == []


@pytest.mark.parametrize("queue", [STANDARD, FIFO])
def test_a_group_of_the_hosts_own_is_used_on_either_kind(
    make_envelope: Make, client: Any, queue: str
) -> None:
    SqsAnnounce(queue, group_id="all of them", client=client).deliver(make_envelope(), "created")
    SqsAnnounce(queue, group_id=lambda envelope: envelope.question_id, client=client).deliver(
        make_envelope("q-9"), "created"
    )

    groups = [request["MessageGroupId"] for _, request in client.calls]
    assert groups == [group_id("all of them"), "q-9"]


def test_a_group_function_that_gives_nothing_fails_its_own_question(make_envelope: Make, client: Any) -> None:
    announcer = SqsAnnounce(FIFO, group_id=lambda envelope: envelope.tags.get("team", ""), client=client)

    errors = announcer.deliver_many([make_envelope("a", tags={"team": "x"}), make_envelope("b")], "created")

    assert errors[0] is None
    assert isinstance(errors[1], AnnounceError)


def test_five_questions_of_one_thread_go_in_one_call_in_order(make_envelope: Make, client: Any) -> None:
    envelopes = [make_envelope(f"q-{number}") for number in range(5)]

    SqsAnnounce(FIFO, client=client).deliver_many(envelopes, "created")

    ((name, request),) = client.calls
    assert name == "send_message_batch"
    assert [entry["MessageBody"] for entry in request["Entries"]] == [each.to_json() for each in envelopes]


@pytest.mark.requirement("FAILED-IS-VISIBLE")
def test_a_failed_entry_is_the_right_questions_and_stops_its_thread(make_envelope: Make, client: Any) -> None:
    client.replies = [
        {
            "Successful": [{"Id": str(place)} for place in range(10) if place != 1],
            "Failed": [{"Id": "1", "Code": "InternalError", "Message": "x", "SenderFault": False}],
        }
    ]
    envelopes = [make_envelope(f"q-{number}") for number in range(12)]

    errors = SqsAnnounce(FIFO, client=client).deliver_many(envelopes, "created")

    assert [index for index, error in enumerate(errors) if error] == [1, 10, 11]
    assert "not sent" in str(errors[10])
    assert len(client.calls) == 1


def test_what_sqs_refuses_in_a_text_is_escaped(make_envelope: Make, client: Any) -> None:
    envelope = make_envelope(question="a\ufffeb\U0001f600")

    SqsAnnounce(STANDARD, client=client).deliver(envelope, "created")

    body = client.calls[0][1]["MessageBody"]
    assert r"a\ufffeb" in body
    assert WaitEnvelope.from_json(body) == envelope


@pytest.mark.requirement("SIZE-IN-BYTES")
def test_what_is_above_a_mebibyte_fails_and_what_is_below_does_not(make_envelope: Make, client: Any) -> None:
    announcer = SqsAnnounce(STANDARD, client=client)

    announcer.deliver(make_envelope(question="é" * 500_000), "created")
    with pytest.raises(AnnounceError, match="at most 1048576"):
        announcer.deliver(make_envelope(question="é" * 524_288), "created")


def test_a_queue_that_takes_less_is_given_less(make_envelope: Make, client: Any) -> None:
    announcer = SqsAnnounce(STANDARD, client=client, max_bytes=262_144)

    with pytest.raises(AnnounceError, match="at most 262144"):
        announcer.deliver(make_envelope(question="é" * 131_072), "created")


@pytest.mark.usefixtures("moto")
def test_twenty_arrive_whole(make_envelope: Make) -> None:
    sqs = boto3.client("sqs")
    queue = sqs.create_queue(QueueName="questions")["QueueUrl"]
    envelopes = [make_envelope(f"q-{number}", tags={"team": "finance"}) for number in range(20)]

    assert SqsAnnounce(queue).deliver_many(envelopes, "created") == [None] * 20

    received: list[WaitEnvelope] = []
    while batch := sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10).get("Messages"):
        received += [WaitEnvelope.from_json(message["Body"]) for message in batch if "Body" in message]
    assert sorted(received, key=lambda each: int(each.question_id[2:])) == envelopes
