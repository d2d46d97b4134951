"""The way in: an SQS FIFO queue, read by a loop. Under Lambda the event source mapping takes its place."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent_wait import Outcome

from refund_agent import aws
from refund_agent.resources import Resources

log = logging.getLogger(__name__)

NOBODY_ELSE_HAS_IT = ("refused", "busy")
"""Outcomes after which only the dead-letter queue still has what was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message as it was received; it comes again unless it is deleted under this receipt.

    Attributes:
        sent_at: When the queue took it, in seconds since the epoch: the same each time that it comes.
    """

    message_id: str
    receipt: str
    body: str
    group: str
    receives: int
    sent_at: float


class Worker:
    """Receives, handles, and deletes only what is safe to forget.

    Args:
        resources: Whose entry queue is read.
        handle: What does the work, such as `host.handle` with a publisher, given the body and `sent_at`.
    """

    def __init__(self, resources: Resources, handle: Callable[[Delivery], Outcome]) -> None:
        self._queue_url = resources.entry_queue_url
        self._dead_letter_queue_url = resources.dead_letter_queue_url
        self._handle = handle
        self._sqs = aws.sqs()

    def run(self, stop: threading.Event) -> None:
        """Work until told to stop."""
        while not stop.is_set():
            self.work_one(wait_seconds=1)

    def work_one(self, *, wait_seconds: int = 0) -> Outcome | None:
        """Receive one message and do all that it takes.

        One at a time: of several from one group, none after a failed one may be handled.

        Returns:
            None when there was none, or it could not be handled; it then comes again.
        """
        for delivery in self.receive(wait_seconds=wait_seconds):
            try:
                outcome = self.handle(delivery)
            except Exception:
                log.exception("message %s failed and will come again", delivery.message_id)
                return None
            self.settle(delivery, outcome)
            return outcome
        return None

    def receive(self, *, wait_seconds: int = 0, at_most: int = 1) -> list[Delivery]:
        reply = self._sqs.receive_message(
            QueueUrl=self._queue_url,
            WaitTimeSeconds=wait_seconds,
            MaxNumberOfMessages=at_most,
            MessageSystemAttributeNames=["MessageGroupId", "ApproximateReceiveCount", "SentTimestamp"],
        )
        return [_delivery(message) for message in reply.get("Messages", [])]

    def handle(self, delivery: Delivery) -> Outcome:
        outcome = self._handle(delivery)
        log.info("message %s: %s %s", delivery.message_id, outcome.kind, outcome.detail)
        return outcome

    def settle(self, delivery: Delivery, outcome: Outcome) -> None:
        """Delete the message if that loses nothing; else its group waits until it comes again."""
        if not outcome.acknowledge:
            return
        if outcome.kind in NOBODY_ELSE_HAS_IT:
            set_aside(delivery, outcome, queue_url=self._dead_letter_queue_url)
        self._sqs.delete_message(QueueUrl=self._queue_url, ReceiptHandle=delivery.receipt)


def set_aside(delivery: Delivery, outcome: Outcome, *, queue_url: str) -> None:
    """Put what was sent on the dead-letter queue, with why; once, however often it is delivered."""
    aws.sqs().send_message(
        QueueUrl=queue_url,
        MessageBody=delivery.body,
        MessageGroupId=delivery.group,
        MessageDeduplicationId=delivery.message_id,
        MessageAttributes={
            "outcome": {"DataType": "String", "StringValue": outcome.kind},
            "detail": {"DataType": "String", "StringValue": outcome.detail or outcome.kind},
        },
    )


def _delivery(message: Any) -> Delivery:
    return Delivery(
        message_id=message["MessageId"],
        receipt=message["ReceiptHandle"],
        body=message["Body"],
        group=message["Attributes"]["MessageGroupId"],
        receives=int(message["Attributes"]["ApproximateReceiveCount"]),
        sent_at=int(message["Attributes"]["SentTimestamp"]) / 1000,
    )
