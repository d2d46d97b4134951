"""The asset under Lambda's own runtime client, against the services of a local AWS."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lambda_runtime import Function, FunctionFailed
from local_aws import LocalAws
from local_stack import ALL_WELL, batch, request
from refund_agent import aws
from refund_agent.resources import Resources
from refund_agent.seen import Seen

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def local_aws() -> Iterator[LocalAws]:
    with LocalAws() as local_aws, local_aws.in_environment():
        yield local_aws


@pytest.fixture(scope="module")
def resources(local_aws: LocalAws) -> Resources:
    aws.client("scheduler").create_schedule_group(Name="deadlines")
    return Resources.create("runtime")


Start = Callable[..., Function]


@pytest.fixture
def start(asset: Any, client: Path, local_aws: LocalAws, resources: Resources) -> Iterator[Start]:
    """Start the function in a new process."""
    running: list[Function] = []
    queue = aws.sqs().get_queue_attributes(QueueUrl=resources.entry_queue_url, AttributeNames=["QueueArn"])

    def start(handler: str = "refund_agent.lambda_handler.handler", **changes: str) -> Function:
        environment = {
            **local_aws.settings,
            "ENTRY_QUEUE_URL": resources.entry_queue_url,
            "ENTRY_QUEUE_ARN": queue["Attributes"]["QueueArn"],
            "DEAD_LETTER_QUEUE_URL": resources.dead_letter_queue_url,
            "TOPIC_ARN": resources.topic_arn,
            "APPROVALS_TABLE": resources.approvals_table,
            "CHECKPOINT_TABLE": resources.checkpoint_table,
            "LEDGER_TABLE": resources.ledger_table,
            "SCHEDULE_GROUP": "deadlines",
            "SCHEDULE_ROLE_ARN": "arn:aws:iam::000000000000:role/deadlines",
            **changes,
        }
        running.append(Function(asset.folder, handler, client, environment))
        return running[-1]

    yield start
    for function in running:
        function.kill()


def test_a_question_asked_by_one_process_is_answered_in_another_that_knows_only_what_is_stored(
    start: Start, resources: Resources
) -> None:
    first = start()
    assert first.invoke(batch(("m1", "t-1", request("t-1", "o-1002", "41000.00")))) == ALL_WELL
    first.kill()
    (question,) = Seen(resources).questions("t-1")

    second = start()
    answer = {**question["reply_with"], "answer": {"action": "approve"}, "answered_by": "mia"}
    assert second.invoke(batch(("m2", "t-1", json.dumps(answer)))) == ALL_WELL

    assert second.pid != first.pid
    assert Seen(resources).refunds("o-1002") == ["41000.00"]
    assert Seen(resources).statuses("t-1") == ["closed"]


def test_what_fails_is_reported_by_its_message_and_the_rest_of_the_batch_is_done(
    start: Start, resources: Resources
) -> None:
    function = start(TOPIC_ARN=resources.topic_arn + "-gone")

    reply = function.invoke(
        batch(
            ("m1", "t-2", request("t-2", "o-1004", "9999.99")),
            ("m2", "t-2", request("t-2", "o-1004", "9.99")),
            ("m3", "t-3", request("t-3", "o-1001", "120.00")),
        )
    )

    assert reply == {"batchItemFailures": [{"itemIdentifier": "m1"}, {"itemIdentifier": "m2"}]}
    assert Seen(resources).refunds("o-1001") == ["120.00"]


def test_the_sweep_is_in_the_same_asset(start: Start) -> None:
    function = start("refund_agent.sweep.handler")

    assert function.invoke({}).keys() == {"defaulted", "sent", "closed", "reopened"}


def test_a_function_that_is_not_told_its_tables_says_so_at_its_start(start: Start) -> None:
    function = start(APPROVALS_TABLE="")

    with pytest.raises(FunctionFailed, match="table_name is empty"):
        function.invoke({})
