"""What the documents show, on services: Sybil has run the blocks, which call none."""

import re
from pathlib import Path
from typing import Any

import agent_wait_aws
import boto3
import pytest
from agent_wait import Question, WaitPolicy

README = (Path(__file__).parent.parent / "README.md").read_text()


def names_of(text: str) -> dict[str, Any]:
    """What the Python blocks of a text define."""
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(block, names)
    return names


@pytest.fixture
def services(moto: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    """All that the documents name; gives the table."""
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    session: Any = boto3.session.Session()
    client = session.client
    client("sns").create_topic(Name="questions")
    client("sqs").create_queue(
        QueueName="agent.fifo", Attributes={"FifoQueue": "true", "ContentBasedDeduplication": "true"}
    )
    client("scheduler").create_schedule_group(Name="deadlines")
    return boto3.resource("dynamodb").create_table(
        TableName="approvals",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        BillingMode="PAY_PER_REQUEST",
    )


def test_the_example_of_the_package_announces(services: Any) -> None:
    names = names_of(agent_wait_aws.__doc__ or "")

    names["announce"](Question("q-1", "May I?"), "thread-1")

    assert [row["question_id"] for row in services.scan()["Items"]] == ["q-1"]


def test_the_example_of_the_readme_announces_and_the_first_answer_wins(services: Any) -> None:
    names, sqs = names_of(README), boto3.client("sqs")
    policy = WaitPolicy(timeout="P3D", default={"action": "reject"})
    names["announce"]([Question("q-1", "May I?", policy, asked_at=4_000_000_000.0)], "thread-1")
    (row,) = services.scan()["Items"]

    names["answer"](services, sqs, row, {"action": "approve"}, "zoe")
    with pytest.raises(services.meta.client.exceptions.ConditionalCheckFailedException):
        names["answer"](services, sqs, row, {"action": "reject"}, "ben")

    (message,) = sqs.receive_message(
        QueueUrl=sqs.get_queue_url(QueueName="agent.fifo")["QueueUrl"], MaxNumberOfMessages=10
    )["Messages"]
    assert '"answered_by": "zoe"' in message.get("Body", "")
    (row,) = services.scan()["Items"]
    assert (row["status"], row["answered_by"]) == ("answered", "zoe")
