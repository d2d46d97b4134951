import re
from collections.abc import Callable
from typing import Any

import boto3
import pytest
from agent_wait import AnnounceError, FakeClock, WaitEnvelope
from agent_wait_aws import DynamoDbAnnounce, envelope_of, row_key
from botocore.exceptions import ClientError, EndpointConnectionError

Make = Callable[..., WaitEnvelope]


def cancelled(*reasons: str) -> ClientError:
    return ClientError(
        {
            "Error": {"Code": "TransactionCanceledException", "Message": ""},
            "CancellationReasons": [{"Code": reason} for reason in reasons],
        },
        "TransactWriteItems",
    )


def client_error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": ""}}, "PutItem")


def names(client: Any) -> list[str]:
    return [name for name, _ in client.calls]


class Table:
    """An approvals table on moto, read the way an inbox does."""

    def __init__(self) -> None:
        self.table: Any = boto3.resource("dynamodb").create_table(
            TableName="approvals",
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "status", "expires_at")
            ],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by_status",
                    "KeySchema": [
                        {"AttributeName": "status", "KeyType": "HASH"},
                        {"AttributeName": "expires_at", "KeyType": "RANGE"},
                    ],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
            BillingMode="PAY_PER_REQUEST",
        )

    def row(self, envelope: WaitEnvelope) -> dict[str, Any]:
        return self.table.get_item(Key=row_key(envelope.thread_id, envelope.ask_id))["Item"]

    def answer(self, envelope: WaitEnvelope) -> None:
        self.table.update_item(
            Key=row_key(envelope.thread_id, envelope.ask_id),
            UpdateExpression="SET #status = :answered, #answer = :answer, #answered_by = :by",
            ConditionExpression="#status = :open",
            ExpressionAttributeNames={
                "#status": "status",
                "#answer": "answer",
                "#answered_by": "answered_by",
            },
            ExpressionAttributeValues={
                ":answered": "answered",
                ":answer": "{}",
                ":by": "zoe",
                ":open": "open",
            },
        )

    def by_status(self, status: str) -> list[dict[str, Any]]:
        return self.table.query(
            IndexName="by_status",
            KeyConditionExpression="#status = :status",
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={":status": status},
        )["Items"]


@pytest.fixture
def table(moto: None) -> Table:
    return Table()


@pytest.fixture
def announcer() -> DynamoDbAnnounce:
    return DynamoDbAnnounce("approvals", ttl_seconds=100, clock=FakeClock(1_796_071_500.9))


def test_a_question_is_an_open_row(table: Table, announcer: DynamoDbAnnounce, make_envelope: Make) -> None:
    envelope = make_envelope()

    announcer.deliver(envelope, "created")

    row = table.row(envelope)
    assert row["status"] == "open"
    assert "ttl" not in row
    assert envelope_of(row) == envelope


@pytest.mark.requirement("ANSWERED-ROW-RESET")
@pytest.mark.parametrize("count", [1, 3])
def test_publishing_again_leaves_an_answered_row_alone(
    table: Table, announcer: DynamoDbAnnounce, make_envelope: Make, count: int
) -> None:
    envelopes = [make_envelope(f"q-{number}") for number in range(count)]
    announcer.deliver_many(envelopes, "created")
    table.answer(envelopes[0])
    before = table.row(envelopes[0])

    again = [
        make_envelope(f"q-{number}", event_id="01ARZ3NDEKTSV4RRFFQ69G5FAV") for number in range(count + 1)
    ]
    assert announcer.deliver_many(again, "created") == [None] * (count + 1)

    assert table.row(envelopes[0]) == before
    assert len(table.by_status("open")) == count
    assert table.by_status("answered") == [before]


@pytest.mark.parametrize("count", [1, 3])
def test_a_closed_row_keeps_who_answered_and_is_not_opened_again(
    table: Table, announcer: DynamoDbAnnounce, make_envelope: Make, count: int
) -> None:
    envelopes = [make_envelope(f"q-{number}") for number in range(count)]
    closings = [
        make_envelope(f"q-{number}", type="wait.resumed", question=None, source=None)
        for number in range(count)
    ]
    announcer.deliver_many(envelopes, "created")
    table.answer(envelopes[0])

    assert announcer.deliver_many(closings, "resumed") == [None] * count
    assert announcer.deliver_many(envelopes, "created") == [None] * count

    row = table.row(envelopes[0])
    assert (row["status"], row["answered_by"], row["answer"]) == ("closed", "zoe", "{}")
    assert envelope_of(row) == envelopes[0]
    assert table.by_status("open") == []


@pytest.mark.parametrize("count", [1, 3])
def test_a_closing_that_comes_first_refuses_the_late_question(
    table: Table, announcer: DynamoDbAnnounce, make_envelope: Make, count: int
) -> None:
    closings = [make_envelope(f"q-{number}", type="wait.resumed") for number in range(count)]
    envelopes = [make_envelope(f"q-{number}") for number in range(count)]

    assert announcer.deliver_many(closings, "resumed") == [None] * count
    assert announcer.deliver_many(envelopes, "created") == [None] * count

    assert len(table.by_status("closed")) == count
    assert table.by_status("open") == []
    assert envelope_of(table.row(envelopes[0])) == closings[0]


def test_a_question_asked_again_is_a_row_of_its_own(
    table: Table, announcer: DynamoDbAnnounce, make_envelope: Make
) -> None:
    first, second = make_envelope(ask_id=f"q-1:{1:016x}"), make_envelope(ask_id=f"q-1:{2:016x}", attempt=2)
    announcer.deliver(first, "created")
    table.answer(first)

    announcer.deliver(second, "created")

    assert (table.row(first)["status"], table.row(second)["status"]) == ("answered", "open")


@pytest.mark.requirement("DDB-TTL-LINGERS")
def test_a_closed_row_is_kept_for_its_time_after_closing_or_deadline_whichever_is_later(
    table: Table, announcer: DynamoDbAnnounce, make_envelope: Make
) -> None:
    without, soon = make_envelope("a"), make_envelope("b", expires_at="2026-11-30T20:44:52Z")
    later = make_envelope("c", expires_at="2026-12-03T20:44:52Z")

    announcer.deliver_many([without, soon, later], "resumed")

    assert table.row(without)["ttl"] == table.row(soon)["ttl"] == 1_796_071_500 + 100
    assert table.row(later)["ttl"] == 1_796_330_692 + 100


def test_closing_again_does_not_keep_a_row_any_longer(table: Table, make_envelope: Make) -> None:
    clock = FakeClock(1_796_065_207.0)
    announcer = DynamoDbAnnounce("approvals", ttl_seconds=100, clock=clock)
    announcer.deliver(make_envelope(), "resumed")
    clock.advance(50)

    announcer.deliver(make_envelope(), "resumed")

    assert table.row(make_envelope())["ttl"] == 1_796_065_307


def test_without_a_time_a_closed_row_is_kept_for_ever(table: Table, make_envelope: Make) -> None:
    DynamoDbAnnounce("approvals").deliver(make_envelope(), "resumed")

    assert "ttl" not in table.row(make_envelope())


@pytest.mark.requirement("DDB-RESERVED")
def test_every_attribute_in_an_expression_is_a_placeholder(make_envelope: Make, client: Any) -> None:
    announcer = DynamoDbAnnounce("approvals", ttl_seconds=1, client=client)
    announcer.deliver(make_envelope(tags={"name": "x"}, default=1, error="e"), "created")
    announcer.deliver(make_envelope(tags={"name": "x"}, default=1, error="e"), "resumed")

    for _, request in client.calls:
        for expression in ("ConditionExpression", "UpdateExpression"):
            words = re.findall(r"[#:]?\w+", request.get(expression, ""))
            bare = {word for word in words if word[0] not in "#:"}
            assert bare <= {"attribute_not_exists", "if_not_exists", "SET"}
            placeholders = {word for word in words if word.startswith("#")}
            assert placeholders <= request["ExpressionAttributeNames"].keys()


def test_one_row_is_a_put_or_an_update(make_envelope: Make, client: Any) -> None:
    announcer = DynamoDbAnnounce("approvals", client=client)

    announcer.deliver(make_envelope(), "created")
    announcer.deliver(make_envelope(), "resumed")

    assert names(client) == ["put_item", "update_item"]


def test_more_are_transactions_of_up_to_a_hundred(make_envelope: Make, client: Any) -> None:
    envelopes = [make_envelope(f"q-{number}") for number in range(250)]

    assert DynamoDbAnnounce("approvals", client=client).deliver_many(envelopes, "created") == [None] * 250

    assert names(client) == ["transact_write_items"] * 3
    assert sorted(len(request["TransactItems"]) for _, request in client.calls) == [50, 100, 100]


def test_a_transaction_keeps_within_four_megabytes(make_envelope: Make, client: Any) -> None:
    envelopes = [make_envelope(f"q-{number}", question="x" * 400_000) for number in range(12)]

    assert DynamoDbAnnounce("approvals", client=client).deliver_many(envelopes, "created") == [None] * 12

    assert sorted(len(request["TransactItems"]) for _, request in client.calls) == [2, 10]


def test_rows_that_stand_already_are_dropped_and_the_rest_is_written(
    make_envelope: Make, client: Any
) -> None:
    client.replies = [cancelled("None", "ConditionalCheckFailed", "None")]
    envelopes = [make_envelope(f"q-{number}") for number in range(3)]

    assert DynamoDbAnnounce("approvals", client=client).deliver_many(envelopes, "created") == [None] * 3

    written = [
        [item["Put"]["Item"]["question_id"]["S"] for item in request["TransactItems"]]
        for _, request in client.calls
    ]
    assert written == [["q-0", "q-1", "q-2"], ["q-0", "q-2"]]


def test_when_all_stand_already_there_is_nothing_left_to_write(make_envelope: Make, client: Any) -> None:
    client.replies = [cancelled("ConditionalCheckFailed", "ConditionalCheckFailed")]

    errors = DynamoDbAnnounce("approvals", client=client).deliver_many(
        [make_envelope("a"), make_envelope("b")], "created"
    )

    assert (errors, names(client)) == ([None, None], ["transact_write_items"])


def test_rows_that_somebody_else_writes_meanwhile_are_written_one_by_one(
    make_envelope: Make, client: Any
) -> None:
    client.replies = [
        cancelled("ConditionalCheckFailed", "None", "None", "None"),
        cancelled("ConditionalCheckFailed", "None", "None"),
    ]

    errors = DynamoDbAnnounce("approvals", client=client).deliver_many(
        [make_envelope(f"q-{number}") for number in range(4)], "created"
    )

    assert errors == [None] * 4
    assert names(client) == ["transact_write_items", "transact_write_items", "put_item", "put_item"]


@pytest.mark.parametrize("reason", ["TransactionConflict", "ThrottlingError", "ValidationError"])
def test_a_transaction_cancelled_for_anything_else_is_written_one_by_one(
    make_envelope: Make, client: Any, reason: str
) -> None:
    client.replies = [cancelled("None", reason), {}, client_error("ConditionalCheckFailedException")]

    errors = DynamoDbAnnounce("approvals", client=client).deliver_many(
        [make_envelope("a"), make_envelope("b")], "created"
    )

    assert (errors, names(client)) == ([None, None], ["transact_write_items", "put_item", "put_item"])


@pytest.mark.parametrize("raised", [client_error("ValidationException"), cancelled()])
def test_a_transaction_refused_without_reasons_is_written_one_by_one(
    make_envelope: Make, client: Any, raised: Exception
) -> None:
    client.replies = [raised]

    errors = DynamoDbAnnounce("approvals", client=client).deliver_many(
        [make_envelope("a"), make_envelope("b")], "resumed"
    )

    assert (errors, names(client)) == ([None, None], ["transact_write_items", "update_item", "update_item"])


def test_the_one_that_fails_of_those_written_one_by_one_is_the_one(make_envelope: Make, client: Any) -> None:
    def put_item(**request: Any) -> None:
        if request["Item"]["question_id"]["S"] == "q-1":
            raise client_error("ProvisionedThroughputExceededException")

    client.put_item = put_item
    client.replies = [cancelled("None", "TransactionConflict", "None")]

    errors = DynamoDbAnnounce("approvals", client=client).deliver_many(
        [make_envelope(f"q-{number}") for number in range(3)], "created"
    )

    assert (errors[0], errors[2]) == (None, None)
    assert isinstance(errors[1], AnnounceError)
    assert (errors[1].announcer, errors[1].retryable) == ("dynamodb:approvals", True)


@pytest.mark.parametrize(
    "raised",
    [
        client_error("ThrottlingException"),
        client_error("AccessDeniedException"),
        EndpointConnectionError(endpoint_url="x"),
    ],
)
def test_what_may_work_later_is_not_tried_a_hundred_times_now(
    make_envelope: Make, client: Any, raised: Exception
) -> None:
    client.replies = [raised]

    errors = DynamoDbAnnounce("approvals", client=client).deliver_many(
        [make_envelope("a"), make_envelope("b")], "created"
    )

    assert names(client) == ["transact_write_items"]
    assert all(isinstance(error, AnnounceError) and error.retryable for error in errors)


def test_a_row_that_comes_twice_is_written_once_and_fails_twice(make_envelope: Make, client: Any) -> None:
    twice = [make_envelope("a"), make_envelope("b"), make_envelope("a")]

    assert DynamoDbAnnounce("approvals", client=client).deliver_many(twice, "created") == [None] * 3
    assert len(client.calls[0][1]["TransactItems"]) == 2

    client.replies = [client_error("ThrottlingException")]
    errors = DynamoDbAnnounce("approvals", client=client).deliver_many(twice, "created")
    assert all(isinstance(error, AnnounceError) for error in errors)


@pytest.mark.requirement("DDB-400KB")
@pytest.mark.parametrize("transition", ["created", "resumed"])
def test_what_dynamodb_cannot_hold_fails_alone_and_before_the_call(
    make_envelope: Make, client: Any, transition: Any
) -> None:
    errors = DynamoDbAnnounce("approvals", client=client).deliver_many(
        [make_envelope("a"), make_envelope("b", question="é" * 250_000), make_envelope("c")], transition
    )

    assert (errors[0], errors[2]) == (None, None)
    assert isinstance(errors[1], AnnounceError)
    assert "at most 409600" in str(errors[1])
    assert len(client.calls[0][1]["TransactItems"]) == 2


@pytest.mark.odd_envelope("what a caller without types may build")
def test_an_envelope_that_cannot_be_written_fails_alone(make_envelope: Make, client: Any) -> None:
    errors = DynamoDbAnnounce("approvals", client=client).deliver_many(
        [make_envelope("a"), make_envelope("b", question=float("nan")), make_envelope("c", tags={"x": 1})],
        "created",
    )

    assert errors[0] is None
    assert [type(error) for error in errors[1:]] == [AnnounceError, AnnounceError]
