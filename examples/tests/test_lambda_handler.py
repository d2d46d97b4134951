"""The handler on batches as the event source mapping brings them; deployed it is tried in tests/aws."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from aws_lambda_powertools.utilities.batch.exceptions import BatchProcessingError
from refund_agent import aws, host, lambda_handler, sweep
from refund_agent.payments import DynamoDbLedger
from refund_agent.resources import Resources
from refund_agent.seen import Seen

DEEP = "[" * 1_000_000


@pytest.fixture(autouse=True)
def function(resources: Resources, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The environment that the template gives the function, and a process that has handled nothing yet."""
    arn = aws.sqs().get_queue_attributes(QueueUrl=resources.entry_queue_url, AttributeNames=["QueueArn"])[
        "Attributes"
    ]["QueueArn"]
    group = resources.ledger_table
    boto3.client("scheduler").create_schedule_group(Name=group)
    for name, value in {
        "ENTRY_QUEUE_URL": resources.entry_queue_url,
        "ENTRY_QUEUE_ARN": arn,
        "DEAD_LETTER_QUEUE_URL": resources.dead_letter_queue_url,
        "TOPIC_ARN": resources.topic_arn,
        "APPROVALS_TABLE": resources.approvals_table,
        "CHECKPOINT_TABLE": resources.checkpoint_table,
        "LEDGER_TABLE": resources.ledger_table,
        "SCHEDULE_GROUP": group,
        "SCHEDULE_ROLE_ARN": "arn:aws:iam::000000000000:role/scheduler",
    }.items():
        monkeypatch.setenv(name, value)
    caches = (lambda_handler.resources, lambda_handler.publisher, lambda_handler.clock, sweep.deployed)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


def request(thread_id: str, order_id: str = "o-1001", amount: str = "120.00") -> str:
    refund = {"order_id": order_id, "amount": amount, "reason": "damp"}
    return json.dumps({"thread_id": thread_id, "start_id": "request-1", "input": refund})


def batch(*messages: tuple[str, str, str]) -> dict[str, Any]:
    """The event for messages given as (message id, group, body)."""
    return {
        "Records": [
            {
                "messageId": message_id,
                "receiptHandle": f"receipt-{message_id}",
                "body": body,
                "attributes": {
                    "MessageGroupId": group,
                    "ApproximateReceiveCount": "1",
                    "SentTimestamp": "1796065207000",
                },
                "messageAttributes": {},
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:entry.fifo",
                "awsRegion": "us-east-1",
            }
            for message_id, group, body in messages
        ]
    }


def failed(reply: Any) -> list[str]:
    return [failure["itemIdentifier"] for failure in reply["batchItemFailures"]]


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Bodies at which the graph raises."""
    bodies: set[str] = set()
    handle = host.handle

    def handle_or_raise(publisher: Any, body: str, **options: Any) -> Any:
        if body in bodies:
            raise RuntimeError("boom")
        return handle(publisher, body, **options)

    monkeypatch.setattr(host, "handle", handle_or_raise)
    return bodies


@pytest.mark.requirement("POISON-BODY")
@pytest.mark.parametrize("body", ["not json", "", "null", "[]", "42", '{"type": "?"}', "eyJhIjogMX0=", DEEP])
def test_a_body_that_is_no_message_is_set_aside_and_its_neighbours_are_handled(
    resources: Resources, body: str
) -> None:
    reply = lambda_handler.handler(
        batch(
            ("m1", "g1", request("t-1")),
            ("m2", "g2", body),
            ("m3", "g3", request("t-3", "o-1007", "4800.00")),
        ),
        None,
    )

    assert Seen(resources).refunds("o-1001") == ["120.00"]
    assert Seen(resources).refunds("o-1007") == ["4800.00"]
    # SQS neither brings nor takes an empty body: that one fails by itself.
    assert failed(reply) == ([] if body else ["m2"])
    assert Seen(resources).dead_letters() == ([body] if body else [])


@pytest.mark.requirement("ERROR-DROPS-MESSAGE")
def test_a_failed_message_fails_the_later_ones_of_its_group_and_no_other_group(
    resources: Resources, failing: set[str]
) -> None:
    failing.add("boom")

    reply = lambda_handler.handler(
        batch(
            ("m1", "a", request("t-1")),
            ("m2", "b", "boom"),
            ("m3", "b", request("t-2", "o-1007", "4800.00")),
            ("m4", "a", request("t-4", "o-1002", "9.00")),
        ),
        None,
    )

    assert failed(reply) == ["m2", "m3"]
    seen = Seen(resources)
    assert [seen.refunds(order) for order in ("o-1001", "o-1007", "o-1002")] == [["120.00"], [], ["9.00"]]


@pytest.mark.requirement("WARM-STATE-LEAK")
def test_what_failed_in_one_invocation_is_handled_in_the_next_of_the_same_process(
    resources: Resources, failing: set[str]
) -> None:
    message = request("t-1")
    failing.add(message)
    with pytest.raises(BatchProcessingError):
        lambda_handler.handler(batch(("m1", "a", message)), None)
    failing.clear()

    assert failed(lambda_handler.handler(batch(("m1", "a", message)), None)) == []
    assert Seen(resources).refunds("o-1001") == ["120.00"]


@pytest.mark.parametrize("event", [{}, {"Records": []}])
def test_an_event_without_messages_does_nothing(event: dict[str, Any]) -> None:
    assert failed(lambda_handler.handler(event, None)) == []


def test_a_busy_message_is_set_aside_and_does_not_block_its_thread(resources: Resources) -> None:
    asking = request("t-1", "o-1002", "41000.00")
    other = asking.replace("request-1", "request-2")
    lambda_handler.handler(batch(("m1", "a", asking)), None)

    assert failed(lambda_handler.handler(batch(("m2", "a", other)), None)) == []
    assert Seen(resources).dead_letters() == [other]


def test_a_question_that_could_not_be_announced_is_not_acknowledged(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = ("m1", "a", request("t-1", "o-1002", "41000.00"))
    with monkeypatch.context() as broken:
        broken.setenv("TOPIC_ARN", resources.topic_arn + "-gone")
        with pytest.raises(BatchProcessingError):
            lambda_handler.handler(batch(asking), None)
    for cache in (lambda_handler.resources, lambda_handler.publisher):
        cache.cache_clear()

    assert failed(lambda_handler.handler(batch(asking), None)) == []
    assert len(Seen(resources).questions("t-1")) == 1


def test_each_message_has_one_line_in_the_log_without_what_was_asked(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lambda_handler.handler(batch(("m1", "a", request("t-1", "o-1002", "41000.00"))), None)

    (line,) = (vars(record) for record in caplog.records if record.name == "refund-agent")
    assert (line["msg"], line["message_id"], line["thread_id"]) == ("started", "m1", "t-1")
    assert "41000" not in str(line)


def test_a_deadline_becomes_a_schedule_that_is_gone_once_it_is_answered(resources: Resources) -> None:
    scheduler = boto3.client("scheduler")
    lambda_handler.handler(batch(("m1", "a", request("t-1", "o-1002", "41000.00"))), None)
    (schedule,) = scheduler.list_schedules(GroupName=resources.ledger_table)["Schedules"]
    reply = Seen(resources).questions("t-1")[0]["reply_with"]

    answer = json.dumps({**reply, "answer": {"action": "approve"}})
    lambda_handler.handler(batch(("m2", "a", answer)), None)

    assert str(schedule.get("Name")).startswith("aw-")
    assert scheduler.list_schedules(GroupName=resources.ledger_table)["Schedules"] == []


def test_the_sweep_as_a_lambda_sends_the_default_once_the_deadline_has_passed(
    resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    lambda_handler.handler(batch(("m1", "a", request("t-1", "o-1002", "41000.00"))), None)

    nothing = {"defaulted": 0, "sent": 0, "closed": 0, "reopened": 0}
    assert sweep.handler({}, None) == nothing
    # Whoever may invoke it cannot wind its clock, unless its own environment says so.
    assert sweep.handler({"clock_ahead_seconds": 73 * 3600}, None) == nothing
    monkeypatch.setenv("SCENARIO_CLOCK", "1")
    assert sweep.handler({"clock_ahead_seconds": 73 * 3600}, None) == {**nothing, "defaulted": 1}

    (message,) = aws.sqs().receive_message(QueueUrl=resources.entry_queue_url)["Messages"]
    assert failed(lambda_handler.handler(batch(("m2", "a", message.get("Body", ""))), None)) == []
    assert DynamoDbLedger(resources.ledger_table).entries()[0].kind == "notice"
