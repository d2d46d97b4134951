"""What the refund agent needs of AWS: the names of it, and the making of it where there is no template."""

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from refund_agent import aws

if TYPE_CHECKING:
    from collections.abc import Mapping

VISIBILITY_SECONDS = 30
MAX_RECEIVES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """The agent's queues, topic and tables.

    Attributes:
        entry_queue_url: The way in (FIFO): requests and answers, grouped by thread.
        dead_letter_queue_url: What was refused or could not be handled (FIFO).
        topic_arn: The way out: every question, and that it was closed.
        announcements_queue_url: Subscribed to the topic, so that one can see what went out.
        approvals_table: One row a question; whoever answers claims the row.
        checkpoint_table: Where LangGraph keeps the threads.
        ledger_table: The money that was moved and the notices that were sent.
    """

    entry_queue_url: str
    dead_letter_queue_url: str
    topic_arn: str
    announcements_queue_url: str
    approvals_table: str
    checkpoint_table: str
    ledger_table: str

    @classmethod
    def from_environment(cls) -> Self:
        """What the template tells a function; none of them reads the announcements."""
        return cls(
            entry_queue_url=os.environ["ENTRY_QUEUE_URL"],
            dead_letter_queue_url=os.environ["DEAD_LETTER_QUEUE_URL"],
            topic_arn=os.environ["TOPIC_ARN"],
            announcements_queue_url="",
            approvals_table=os.environ["APPROVALS_TABLE"],
            checkpoint_table=os.environ["CHECKPOINT_TABLE"],
            ledger_table=os.environ["LEDGER_TABLE"],
        )

    @classmethod
    def create(cls, prefix: str) -> Self:
        """Make them where boto3 points, every name beginning with `prefix`."""
        dead_letter_queue_url = _create_queue(f"{prefix}-dead-letters.fifo", _FIFO)
        announcements_queue_url = _create_queue(f"{prefix}-announcements", {})
        redrive = {
            "deadLetterTargetArn": _queue_arn(dead_letter_queue_url),
            "maxReceiveCount": MAX_RECEIVES,
        }
        entry_queue_url = _create_queue(
            f"{prefix}-entry.fifo",
            {**_FIFO, "VisibilityTimeout": str(VISIBILITY_SECONDS), "RedrivePolicy": json.dumps(redrive)},
        )
        return cls(
            entry_queue_url=entry_queue_url,
            dead_letter_queue_url=dead_letter_queue_url,
            topic_arn=_create_topic(f"{prefix}-questions", subscriber=_queue_arn(announcements_queue_url)),
            announcements_queue_url=announcements_queue_url,
            approvals_table=_create_table(
                f"{prefix}-approvals", ("pk", "sk"), {"by_status": ("status", "expires_at")}
            ),
            checkpoint_table=_create_table(f"{prefix}-checkpoints", ("PK", "SK")),
            ledger_table=_create_table(f"{prefix}-ledger", ("key",)),
        )


_FIFO = {
    "FifoQueue": "true",
    "ContentBasedDeduplication": "true",
    "DeduplicationScope": "messageGroup",
    "FifoThroughputLimit": "perMessageGroupId",
}


def _create_queue(name: str, attributes: "Mapping[Any, str]") -> str:
    return aws.sqs().create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]


def _queue_arn(url: str) -> str:
    return aws.sqs().get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def _create_topic(name: str, *, subscriber: str) -> str:
    arn = aws.sns().create_topic(Name=name)["TopicArn"]
    aws.sns().subscribe(
        TopicArn=arn, Protocol="sqs", Endpoint=subscriber, Attributes={"RawMessageDelivery": "true"}
    )
    return arn


def _create_table(
    name: str, key: tuple[str, ...], indexes: "Mapping[str, tuple[str, ...]] | None" = None
) -> str:
    indexes = indexes or {}
    attributes = {*key, *(attribute for index_key in indexes.values() for attribute in index_key)}
    optional: dict[str, Any] = {}
    if indexes:
        optional["GlobalSecondaryIndexes"] = [
            {"IndexName": index, "KeySchema": _key_schema(index_key), "Projection": {"ProjectionType": "ALL"}}
            for index, index_key in indexes.items()
        ]
    aws.dynamodb().create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=_key_schema(key),
        AttributeDefinitions=[{"AttributeName": each, "AttributeType": "S"} for each in sorted(attributes)],
        **optional,
    )
    return name


def _key_schema(names: tuple[str, ...]) -> Any:
    return [
        {"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"), strict=False)
    ]
