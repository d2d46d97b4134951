import json
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from agent_wait import AnnounceError, WaitEnvelope
from agent_wait_aws import SnsAnnounce

Make = Callable[..., WaitEnvelope]
TOPIC = "arn:aws:sns:us-east-1:123456789012:questions"


def subject(envelope: WaitEnvelope, client: Any) -> str:
    SnsAnnounce(TOPIC, client=client).deliver(envelope, "created")
    return client.calls[-1][1]["Subject"]


def test_one_question_is_one_publish_of_the_envelope(make_envelope: Make, client: Any) -> None:
    envelope = make_envelope(tags={"team": "finance"})

    SnsAnnounce(TOPIC, client=client).deliver(envelope, "created")

    assert client.calls == [
        (
            "publish",
            {
                "TopicArn": TOPIC,
                "Message": envelope.to_json(),
                "Subject": "Answer needed: issue_refund",
                "MessageAttributes": {
                    "type": {"DataType": "String", "StringValue": "wait.created"},
                    "thread_id": {"DataType": "String", "StringValue": "thread-1"},
                    "team": {"DataType": "String", "StringValue": "finance"},
                },
            },
        )
    ]


def test_many_go_in_batches_of_ten_under_ids_of_their_own(make_envelope: Make, client: Any) -> None:
    errors = SnsAnnounce(TOPIC, client=client).deliver_many(
        [make_envelope(f"q-{number}") for number in range(21)], "created"
    )

    assert errors == [None] * 21
    assert sorted(name for name, _ in client.calls) == ["publish", "publish_batch", "publish_batch"]
    for name, request in client.calls:
        if name == "publish_batch":
            ids = [entry["Id"] for entry in request["PublishBatchRequestEntries"]]
            assert ids == [str(number) for number in range(10)]


@pytest.mark.requirement("FAILED-IS-VISIBLE")
def test_a_failed_entry_in_a_reply_of_200_is_the_right_questions(make_envelope: Make, client: Any) -> None:
    client.replies = [
        {"Successful": [{"Id": "0"}], "Failed": [{"Id": "1", "Code": "InternalError", "SenderFault": False}]}
    ]

    errors = SnsAnnounce(TOPIC, client=client).deliver_many(
        [make_envelope("a"), make_envelope("b")], "created"
    )

    assert errors[0] is None
    assert isinstance(errors[1], AnnounceError)
    assert (errors[1].announcer, errors[1].retryable) == ("sns:questions", True)


def test_a_fifo_topic_gets_a_group_and_a_deduplication_id(make_envelope: Make, client: Any) -> None:
    envelope = make_envelope(thread_id="café ☕", question_id="q " + "x" * 200)

    SnsAnnounce(f"{TOPIC}.fifo", client=client).deliver(envelope, "created")

    request = client.calls[0][1]
    assert request["MessageGroupId"].startswith("sha256-")
    assert request["MessageDeduplicationId"].startswith("sha256-")
    assert SnsAnnounce(f"{TOPIC}.fifo", client=client).name == "sns:questions.fifo"


@pytest.mark.requirement("SNS-SUBJECT")
def test_a_subject_is_short_printable_ascii_and_the_body_keeps_the_full_text(
    make_envelope: Make, client: Any
) -> None:
    name = " Refund für Zoë\n👍" + "x" * 150
    envelope = make_envelope(source={"function": name, "framework": "langgraph"})

    written = subject(envelope, client)

    assert written.startswith("Answer needed:  Refund fur Zoe xxx")
    assert len(written) == 99
    assert written.isascii()
    assert written.isprintable()
    assert json.loads(client.calls[0][1]["Message"])["source"]["function"] == name


@pytest.mark.parametrize("source", [None, {"function": None, "framework": "langgraph"}])
def test_a_question_of_no_function_is_named_by_its_id(
    make_envelope: Make, client: Any, source: dict[str, Any] | None
) -> None:
    assert subject(make_envelope("q-7", source=source), client) == "Answer needed: q-7"


def test_a_closed_question_says_that_nobody_needs_to_answer(make_envelope: Make, client: Any) -> None:
    assert subject(make_envelope(type="wait.resumed"), client) == "No longer needed: issue_refund"


@pytest.mark.requirement("SIZE-IN-BYTES")
def test_a_size_counts_bytes_and_what_is_above_it_fails_alone(make_envelope: Make, client: Any) -> None:
    large = make_envelope("large", question="é" * 140_000)
    announcer = SnsAnnounce(TOPIC, client=client)

    errors = announcer.deliver_many([make_envelope("a"), large, make_envelope("b")], "created")

    assert (errors[0], errors[2]) == (None, None)
    assert isinstance(errors[1], AnnounceError)
    assert "at most 262144" in str(errors[1])
    assert not errors[1].retryable
    assert len(client.calls) == 1


def test_a_message_may_be_exactly_as_large_as_the_limit(make_envelope: Make, client: Any) -> None:
    attributes = len("type" + "String" + "wait.created" + "thread_id" + "String" + "thread-1")
    empty = len(make_envelope(question="").to_json().encode())
    fits = "x" * (262_144 - attributes - empty)
    announcer = SnsAnnounce(TOPIC, client=client)

    announcer.deliver(make_envelope(question=fits), "created")
    with pytest.raises(AnnounceError, match="262145 bytes"):
        announcer.deliver(make_envelope(question=f"{fits}x"), "created")


def test_a_topic_that_takes_more_is_given_more(make_envelope: Make, client: Any) -> None:
    SnsAnnounce(TOPIC, client=client, max_bytes=1_048_576).deliver(
        make_envelope(question="x" * 900_000), "created"
    )

    assert len(client.calls) == 1


def test_three_large_ones_are_split_by_bytes(make_envelope: Make, client: Any) -> None:
    large = [make_envelope(f"q-{number}", question="é" * 50_000) for number in range(3)]

    assert SnsAnnounce(TOPIC, client=client).deliver_many(large, "created") == [None] * 3
    assert sorted(name for name, _ in client.calls) == ["publish", "publish_batch"]


@pytest.mark.requirement("ANNOUNCER-EXCEPTION")
def test_an_envelope_that_cannot_be_written_fails_alone(make_envelope: Make, client: Any) -> None:
    odd = make_envelope("odd", question=object())

    errors = SnsAnnounce(TOPIC, client=client).deliver_many(
        [make_envelope("a"), odd, make_envelope("b")], "created"
    )

    assert [type(error) for error in errors] == [type(None), AnnounceError, type(None)]


def test_raising_is_for_one(make_envelope: Make, client: Any) -> None:
    client.replies = [OSError("unreachable")]
    announcer = SnsAnnounce(TOPIC, client=client)

    with pytest.raises(AnnounceError, match="OSError"):
        announcer.deliver(make_envelope(), "created")


@pytest.mark.usefixtures("moto")
def test_a_filter_policy_on_a_tag_and_a_raw_queue_work(make_envelope: Make) -> None:
    sns: Any = boto3.client("sns")
    sqs: Any = boto3.client("sqs")
    topic = sns.create_topic(Name="questions")["TopicArn"]
    queue = sqs.create_queue(QueueName="finance")["QueueUrl"]
    sns.subscribe(
        TopicArn=topic,
        Protocol="sqs",
        Endpoint=sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"][
            "QueueArn"
        ],
        Attributes={"RawMessageDelivery": "true", "FilterPolicy": json.dumps({"ok": ["d"]})},
    )
    wanted = make_envelope("wanted", tags={"my team": "a", "AWS.x": "b", ".y": "c", "ok": "d"})
    other = make_envelope("other", tags={"ok": "e"})

    assert SnsAnnounce(topic).deliver_many([wanted, other], "created") == [None, None]

    messages = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
    assert [WaitEnvelope.from_json(message["Body"]) for message in messages] == [wanted]
