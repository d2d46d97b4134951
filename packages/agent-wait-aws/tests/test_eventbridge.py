import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from agent_wait import AnnounceError, WaitEnvelope
from agent_wait_aws import EventBridgeAnnounce
from agent_wait_aws._eventbridge import MAX_BYTES, trace_header

Make = Callable[..., WaitEnvelope]
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
X_RAY = "Root=1-0af76519-16cd43dd8448eb211c80319c;Parent=b7ad6b7169203331;Sampled=1"


def test_one_question_is_one_event(make_envelope: Make, client: Any) -> None:
    envelope = make_envelope(traceparent=TRACEPARENT)

    EventBridgeAnnounce("bus", client=client).deliver(envelope, "created")

    assert client.calls == [
        (
            "put_events",
            {
                "Entries": [
                    {
                        "EventBusName": "bus",
                        "Source": "agent-wait",
                        "DetailType": "wait.created",
                        "Detail": envelope.to_json(),
                        "Time": datetime(2026, 11, 30, 20, 44, 52, tzinfo=UTC),
                        "TraceHeader": X_RAY,
                    }
                ]
            },
        )
    ]


def test_a_closed_question_has_the_time_it_was_closed(make_envelope: Make, client: Any) -> None:
    closed = make_envelope(type="wait.resumed", event_id="01ARZ3NDEKTSV4RRFFQ69G5FAV")

    EventBridgeAnnounce("bus", client=client).deliver(closed, "resumed")

    entry = client.calls[0][1]["Entries"][0]
    assert entry["DetailType"] == "wait.resumed"
    assert entry["Time"] == datetime(2016, 7, 30, 23, 54, 10, tzinfo=UTC)
    assert "TraceHeader" not in entry


@pytest.mark.odd_envelope("built by hand")
def test_a_time_that_is_none_is_left_to_eventbridge(make_envelope: Make, client: Any) -> None:
    EventBridgeAnnounce("bus", client=client).deliver(make_envelope(asked_at="yesterday"), "created")

    assert "Time" not in client.calls[0][1]["Entries"][0]


@pytest.mark.parametrize("traceparent", [None, "", "nonsense", TRACEPARENT.upper(), f"{TRACEPARENT}x"])
def test_what_is_no_trace_context_is_not_passed_on(traceparent: str | None) -> None:
    assert trace_header(traceparent) is None


def test_a_trace_that_is_not_sampled_stays_so() -> None:
    assert (trace_header(f"{TRACEPARENT[:-2]}00") or "").endswith("Sampled=0")


@pytest.mark.requirement("EB-LIMITS")
def test_eleven_questions_are_two_calls(make_envelope: Make, client: Any) -> None:
    envelopes = [
        make_envelope(f"q-{number}", source={"function": "f" * 500, "framework": "x"}) for number in range(11)
    ]

    assert EventBridgeAnnounce("bus", client=client).deliver_many(envelopes, "created") == [None] * 11

    assert sorted(len(request["Entries"]) for _, request in client.calls) == [1, 10]
    for _, request in client.calls:
        for entry in request["Entries"]:
            assert len(entry["DetailType"]) <= 128
            assert isinstance(json.loads(entry["Detail"]), dict)


@pytest.mark.requirement("EB-LIMITS")
def test_large_ones_are_split_as_eventbridge_counts(make_envelope: Make, client: Any) -> None:
    envelopes = [make_envelope(f"q-{number}", question="é" * 200_000) for number in range(3)]

    assert EventBridgeAnnounce("bus", client=client).deliver_many(envelopes, "created") == [None] * 3

    for _, request in client.calls:
        size = sum(
            14 + sum(len(entry[part].encode()) for part in ("Source", "DetailType", "Detail"))
            for entry in request["Entries"]
        )
        assert size <= MAX_BYTES
    assert sorted(len(request["Entries"]) for _, request in client.calls) == [1, 2]


@pytest.mark.requirement("SIZE-IN-BYTES")
def test_what_is_above_a_megabyte_fails_alone(make_envelope: Make, client: Any) -> None:
    errors = EventBridgeAnnounce("bus", client=client).deliver_many(
        [make_envelope("a"), make_envelope("b", question="é" * 500_000)], "created"
    )

    assert errors[0] is None
    assert "at most 999999" in str(errors[1])


@pytest.mark.requirement("EB-FAILED-COUNT")
def test_a_failed_entry_in_a_reply_of_200_is_the_right_questions(make_envelope: Make, client: Any) -> None:
    client.replies = [
        {
            "FailedEntryCount": 1,
            "Entries": [{"EventId": "e"}, {"ErrorCode": "ThrottlingException", "ErrorMessage": "slow"}],
        }
    ]

    errors = EventBridgeAnnounce("bus", client=client).deliver_many(
        [make_envelope("a"), make_envelope("b")], "created"
    )

    assert errors[0] is None
    assert isinstance(errors[1], AnnounceError)
    assert (str(errors[1]), errors[1].retryable) == ("ThrottlingException: slow", True)


@pytest.mark.requirement("EB-FAILED-COUNT")
def test_the_only_entry_that_failed_raises(make_envelope: Make, client: Any) -> None:
    client.replies = [{"FailedEntryCount": 1, "Entries": [{"ErrorCode": "InternalFailure"}]}]
    announcer = EventBridgeAnnounce("bus", client=client)

    with pytest.raises(AnnounceError, match="InternalFailure"):
        announcer.deliver(make_envelope(), "created")


@pytest.mark.usefixtures("moto")
def test_a_rule_on_the_detail_reaches_its_queue(make_envelope: Make) -> None:
    events: Any = boto3.client("events")
    sqs: Any = boto3.client("sqs")
    events.create_event_bus(Name="bus")
    queue = sqs.create_queue(QueueName="finance")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    pattern = {
        "source": ["agent-wait"],
        "detail-type": ["wait.created"],
        "detail": {"tags": {"team": ["finance"]}},
    }
    events.put_rule(Name="rule", EventBusName="bus", EventPattern=json.dumps(pattern))
    events.put_targets(Rule="rule", EventBusName="bus", Targets=[{"Id": "1", "Arn": arn}])
    wanted = make_envelope("wanted", tags={"team": "finance"}, question={"text": "é 😀 \ufffe"})

    errors = EventBridgeAnnounce("bus").deliver_many([wanted, make_envelope("other")], "created")

    assert errors == [None, None]
    (message,) = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10)["Messages"]
    event = json.loads(message["Body"])
    assert WaitEnvelope.from_json(json.dumps(event["detail"])) == wanted
    assert event["time"] == "2026-11-30T20:44:52Z"
