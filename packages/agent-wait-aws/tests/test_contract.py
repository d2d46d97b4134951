"""Every announcer of this package keeps the contract of announcers."""

import dataclasses
import json
import threading
import uuid
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import boto3
import pytest
from agent_wait import BaseAnnounce, Transition, WaitEnvelope
from agent_wait.testing import AnnouncerContract
from agent_wait_aws import (
    DynamoDbAnnounce,
    EventBridgeAnnounce,
    SchedulerAnnounce,
    SnsAnnounce,
    SqsAnnounce,
    envelope_of,
)
from botocore.exceptions import EndpointConnectionError


class OnAws(AnnouncerContract):
    """A backend whose client can be broken and hung, right before it sends."""

    hang_budget = 1.0

    def setup_method(self) -> None:
        self.released = threading.Event()

    def teardown_method(self) -> None:
        self.released.set()

    def make(self) -> BaseAnnounce:
        self.announcer = self.build()
        return self.announcer

    @abstractmethod
    def build(self) -> Any: ...

    def break_backend(self) -> None:
        def refuse(**_: object) -> None:
            raise EndpointConnectionError(endpoint_url="http://127.0.0.1")

        self._before_send(refuse)

    def hang_backend(self) -> None:
        self._before_send(lambda **_: self.released.wait(50) and None)

    def _before_send(self, handler: Any) -> None:
        self.announcer._client.meta.events.register_first("before-send", handler)


class OnAQueue(OnAws):
    """A backend whose envelopes end in an SQS queue."""

    def new_queue(self, *, fifo: bool = False) -> str:
        self.sqs: Any = boto3.client("sqs")
        name = f"q-{uuid.uuid4().hex}{'.fifo' if fifo else ''}"
        attributes = {"FifoQueue": "true"} if fifo else {}
        self.queue: str = self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        return self.queue

    @property
    def queue_arn(self) -> str:
        attributes = self.sqs.get_queue_attributes(QueueUrl=self.queue, AttributeNames=["QueueArn"])
        return attributes["Attributes"]["QueueArn"]

    def received(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        while messages := self.sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10).get(
            "Messages"
        ):
            for message in messages:
                found.append(self.read(json.loads(message["Body"])))
                self.sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=message["ReceiptHandle"])
        return found

    def read(self, body: dict[str, Any]) -> dict[str, Any]:
        return body


@pytest.mark.usefixtures("moto")
class TestSqs(OnAQueue):
    def build(self) -> SqsAnnounce:
        return SqsAnnounce(self.new_queue())


@pytest.mark.usefixtures("ministack")
class TestSqsFifo(OnAQueue):
    def build(self) -> SqsAnnounce:
        return SqsAnnounce(self.new_queue(fifo=True))


@pytest.mark.usefixtures("moto")
class TestSns(OnAQueue):
    fifo = False

    def build(self) -> SnsAnnounce:
        self.new_queue(fifo=self.fifo)
        sns: Any = boto3.client("sns")
        name = f"t-{uuid.uuid4().hex}{'.fifo' if self.fifo else ''}"
        attributes = {"FifoTopic": "true"} if self.fifo else {}
        topic = sns.create_topic(Name=name, Attributes=attributes)["TopicArn"]
        sns.subscribe(
            TopicArn=topic,
            Protocol="sqs",
            Endpoint=self.queue_arn,
            Attributes={"RawMessageDelivery": "true"},
        )
        return SnsAnnounce(topic)


@pytest.mark.usefixtures("ministack")
class TestSnsFifo(TestSns):
    fifo = True


@pytest.mark.usefixtures("moto")
class TestEventBridge(OnAQueue):
    def build(self) -> EventBridgeAnnounce:
        self.new_queue()
        events: Any = boto3.client("events")
        bus = f"bus-{uuid.uuid4().hex}"
        events.create_event_bus(Name=bus)
        events.put_rule(Name="all", EventBusName=bus, EventPattern=json.dumps({"source": ["agent-wait"]}))
        events.put_targets(Rule="all", EventBusName=bus, Targets=[{"Id": "1", "Arn": self.queue_arn}])
        return EventBridgeAnnounce(bus)

    def read(self, body: dict[str, Any]) -> dict[str, Any]:
        return body["detail"]


@pytest.mark.usefixtures("moto")
class TestDynamoDb(OnAws):
    def build(self) -> DynamoDbAnnounce:
        self.table: Any = boto3.resource("dynamodb").create_table(
            TableName=f"approvals-{uuid.uuid4().hex}",
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
            BillingMode="PAY_PER_REQUEST",
        )
        return DynamoDbAnnounce(self.table.name)

    def received(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        page: dict[str, Any] = {}
        while True:
            page = self.table.scan(**({"ExclusiveStartKey": page["LastEvaluatedKey"]} if page else {}))
            rows += page["Items"]
            if "LastEvaluatedKey" not in page:
                return [envelope_of(row).to_dict() for row in rows]


class WithDeadline(SchedulerAnnounce):
    """The contract's questions have none."""

    def deliver_many(
        self, envelopes: Sequence[WaitEnvelope], transition: Transition
    ) -> Sequence[Exception | None]:
        due = [dataclasses.replace(envelope, expires_at="2100-01-01T00:00:00Z") for envelope in envelopes]
        return super().deliver_many(due, transition)


@pytest.mark.usefixtures("moto")
class TestScheduler(OnAws):
    def build(self) -> SchedulerAnnounce:
        self.group = f"g-{uuid.uuid4().hex}"
        self.scheduler: Any = boto3.client("scheduler")
        self.scheduler.create_schedule_group(Name=self.group)
        return WithDeadline(
            group_name=self.group,
            target_arn="arn:aws:sqs:us-east-1:123456789012:agent.fifo",
            role_arn="arn:aws:iam::123456789012:role/scheduler",
        )

    def received(self) -> list[dict[str, Any]]:
        pages = self.scheduler.get_paginator("list_schedules").paginate(GroupName=self.group)
        names = [schedule["Name"] for page in pages for schedule in page["Schedules"]]
        schedules = [self.scheduler.get_schedule(Name=name, GroupName=self.group) for name in names]
        return [json.loads(schedule["Target"]["Input"]) for schedule in schedules]

    def expected(self, envelope: WaitEnvelope) -> dict[str, Any]:
        return {**envelope.reply_with, "answer": envelope.default}
