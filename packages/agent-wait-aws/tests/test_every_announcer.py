"""What holds for each announcer alike, on a client that only notes what it is sent."""

import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from agent_wait import (
    AnnounceError,
    BaseAnnounce,
    InMemoryAnnounce,
    Question,
    WaitEnvelope,
    WaitPolicy,
    publish,
)
from agent_wait_aws import (
    DynamoDbAnnounce,
    EventBridgeAnnounce,
    SchedulerAnnounce,
    SnsAnnounce,
    SqsAnnounce,
    envelope_of,
)
from botocore import exceptions

BUILD: Mapping[str, Callable[[Any], BaseAnnounce]] = {
    "sns": lambda client: SnsAnnounce("arn:aws:sns:us-east-1:123456789012:t", client=client),
    "sqs": lambda client: SqsAnnounce("https://sqs.us-east-1.amazonaws.com/123456789012/q", client=client),
    "fifo": lambda client: SqsAnnounce(
        "https://sqs.us-east-1.amazonaws.com/123456789012/q.fifo", client=client
    ),
    "events": lambda client: EventBridgeAnnounce("bus", client=client),
    "dynamodb": lambda client: DynamoDbAnnounce("approvals", client=client),
    "scheduler": lambda client: SchedulerAnnounce(
        group_name="g", target_arn="t", role_arn="r", client=client
    ),
}
each = pytest.mark.parametrize("kind", BUILD)
each_with_the_envelope = pytest.mark.parametrize("kind", [kind for kind in BUILD if kind != "scheduler"])
POLICY = WaitPolicy(timeout="P1D", default={"action": "reject"})
LATER = 4_000_000_000.0


def question(id: str = "q-1", value: Any = "May I?", policy: WaitPolicy = POLICY) -> Question:
    return Question(id, value, policy, asked_at=LATER)


def sent(kind: str, call: tuple[str, dict[str, Any]]) -> WaitEnvelope:
    """The envelope in a call that carries one."""
    request = call[1]
    match kind:
        case "sns":
            return WaitEnvelope.from_json(request["Message"])
        case "events":
            return WaitEnvelope.from_json(request["Entries"][0]["Detail"])
        case "dynamodb":
            return envelope_of(request["Item"])
        case _:
            return WaitEnvelope.from_json(request["MessageBody"])


class Colour(Enum):
    RED = "red"


def strict(text: str) -> Any:
    def refuse(token: str) -> None:
        raise ValueError(token)

    return json.loads(text, parse_constant=refuse)


@each_with_the_envelope
@pytest.mark.requirement("DECIMAL-TO-FLOAT")
@pytest.mark.requirement("DDB-TYPES")
@pytest.mark.requirement("DDB-NUMBER-EDGES")
@pytest.mark.requirement("NAN-TOKEN")
def test_odd_values_are_the_same_everywhere_and_exact(kind: str, client: Any) -> None:
    odd: dict[str, Any] = {
        "amounts": [Decimal("19.90"), Decimal("0.1") + Decimal("0.2"), Decimal("12345678901234567890.12")],
        "large": [Decimal("1" * 39), Decimal("1e100"), 2**127, 2**63 - 1],
        "none of these is a number in JSON": [math.nan, math.inf, -math.inf],
        "float": 30.40,
        "when": [datetime(2026, 11, 30, tzinfo=UTC), date(2026, 11, 30), timedelta(days=3)],
        "id": UUID(int=1),
        "set": {1, "a"},
        "empty": [set[str](), (), b"", ""],
        "tuple": (1, 2),
        "keys": {1: "x"},
        "kind": Colour.RED,
    }

    (published,) = publish([question(value=odd)], "thread-1", BUILD[kind](client))

    (call,) = client.calls
    arrived = sent(kind, call)
    assert arrived == published
    assert arrived.to_json() == published.to_json()
    read = strict(arrived.to_json())["question"]
    assert read["amounts"] == ["19.90", "0.3", "12345678901234567890.12"]
    assert read["float"] == 30.40


@each
@pytest.mark.requirement("ANNOUNCER-EXCEPTION")
@pytest.mark.parametrize(
    "raised",
    [
        exceptions.ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "Publish"),
        exceptions.EndpointConnectionError(endpoint_url="http://127.0.0.1"),
        exceptions.ParamValidationError(report="SECRET"),
        exceptions.NoCredentialsError(),
        TypeError("SECRET is not JSON serializable"),
        UnicodeEncodeError("utf-8", "SECRET", 0, 1, "SECRET"),
        RecursionError("SECRET"),
    ],
    ids=lambda raised: type(raised).__name__,
)
@pytest.mark.parametrize("count", [1, 3])
def test_whatever_a_client_raises_is_a_failure_of_each_question_and_of_nobody_else(
    kind: str, client: Any, raised: Exception, count: int
) -> None:
    client.replies = [raised] * 20
    other = InMemoryAnnounce()

    publication = publish(
        [question(f"q-{n}") for n in range(count)], "thread-1", [BUILD[kind](client), other]
    )

    assert [failure.envelope for failure in publication.failures] == list(publication)
    assert all(isinstance(failure.error, AnnounceError) for failure in publication.failures)
    assert "SECRET" not in "".join(str(failure.error) for failure in publication.failures)
    assert other.events == list(publication)


class Interrupted:
    """A client that is interrupted in the middle of every call."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(**_: Any) -> Any:
            raise KeyboardInterrupt

        return call


@pytest.mark.requirement("FAILED-IS-VISIBLE")
@pytest.mark.parametrize("kind", ["sns", "sqs", "events"])
@pytest.mark.parametrize(
    "reply",
    [
        {"Successful": [{"Id": "1"}], "Entries": [{}, {"EventId": "e"}]},
        {"Successful": [{"Id": "1"}, {"Id": "7"}, {}], "Failed": [], "Entries": [{}, {"EventId": "e"}, {}]},
        {"Successful": [{"Id": "1"}], "Failed": [{"Id": "9"}, {}], "Entries": [{"x": 1}, {"EventId": "e"}]},
    ],
)
def test_what_a_reply_of_200_does_not_mention_may_have_arrived(
    kind: str, reply: dict[str, Any], client: Any
) -> None:
    client.replies = [reply]

    publication = publish([question(f"q-{n}") for n in range(3)], "thread-1", BUILD[kind](client))

    assert [failure.envelope for failure in publication.failures] == [publication[0], publication[2]]
    for failure in publication.failures:
        assert isinstance(failure.error, AnnounceError)
        assert "unknown, may have arrived" in str(failure.error)
        assert failure.error.retryable
    assert len(client.calls) == 1


@pytest.mark.parametrize("kind", ["sns", "sqs", "events"])
def test_a_failed_entry_without_a_reason_is_worth_a_repeat(kind: str, client: Any) -> None:
    client.replies = [
        {"Failed": [{"Id": "0", "Code": "Busy"}, {"Id": "1"}], "Entries": [{"ErrorCode": "Busy"}]}
    ]

    publication = publish([question(f"q-{n}") for n in range(2)], "thread-1", BUILD[kind](client))

    errors = [failure.error for failure in publication.failures]
    assert str(errors[0]) == "Busy"
    assert str(errors[1])
    assert all(isinstance(error, AnnounceError) and error.retryable for error in errors)


@each
@pytest.mark.requirement("ANNOUNCER-EXCEPTION")
@pytest.mark.parametrize("count", [1, 25])
def test_an_interrupt_passes(kind: str, count: int) -> None:
    questions = [question(f"q-{n}") for n in range(count)]
    envelopes = publish(questions, "thread-1", InMemoryAnnounce())
    announcer = BUILD[kind](Interrupted())

    with pytest.raises(KeyboardInterrupt):
        announcer.deliver_many(envelopes, "created")


@each
def test_a_transition_that_is_not_wanted_makes_no_call(kind: str, client: Any) -> None:
    announcer = BUILD[kind](client)
    announcer.only = frozenset({"created"})

    publish([question()], "thread-1", announcer, transition="resumed").raise_for_failures()

    assert client.calls == []


@each
def test_nothing_to_deliver_makes_no_call(kind: str, client: Any) -> None:
    assert BUILD[kind](client).deliver_many([], "created") == []
    assert client.calls == []
