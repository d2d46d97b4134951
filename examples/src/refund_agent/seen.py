"""What could be seen from outside: messages, rows and letters, by which the scenarios judge."""

import json
from typing import Any

from refund_agent import aws
from refund_agent.approvals import Approvals
from refund_agent.payments import DynamoDbLedger, Entry
from refund_agent.resources import Resources


class Seen:
    """Looks at everything and changes nothing that the agent looks at.

    Args:
        resources: What is looked at.
        wait_seconds: How long a queue is listened to before it counts as empty, 0 to 20.
    """

    def __init__(self, resources: Resources, *, wait_seconds: int = 0) -> None:
        self._resources = resources
        self._wait_seconds = wait_seconds
        self._approvals = Approvals(resources)
        self._ledger = DynamoDbLedger(resources.ledger_table)
        self._sqs = aws.sqs()
        self._envelopes: list[dict[str, Any]] = []
        self._dead_letters: list[str] = []

    def questions(self, thread_id: str) -> list[dict[str, Any]]:
        """The questions that went out on the topic, oldest first, each once however often it went out."""
        return self._announced(thread_id, "wait.created")

    def closings(self, thread_id: str) -> list[dict[str, Any]]:
        """What went out to say that a question is closed, likewise."""
        return self._announced(thread_id, "wait.resumed")

    def refunds(self, order_id: str) -> list[str]:
        """The money that was moved for an order."""
        return [str(entry.amount) for entry in self.entries("refund", order_id)]

    def notices(self, order_id: str) -> list[str]:
        """What the customer of an order was told."""
        return [entry.text for entry in self.entries("notice", order_id)]

    def entries(self, kind: str, order_id: str) -> list[Entry]:
        """What the ledger holds."""
        return [entry for entry in self._ledger.entries() if (entry.kind, entry.order_id) == (kind, order_id)]

    def statuses(self, thread_id: str) -> list[str]:
        """Those of the thread's rows in the approvals table, in the order they were asked."""
        return [approval.status for approval in self._approvals.of_thread(thread_id)]

    def dead_letters(self) -> list[str]:
        """The bodies in the dead-letter queue."""
        self._dead_letters += self._drain(self._resources.dead_letter_queue_url)
        return list(self._dead_letters)

    def _announced(self, thread_id: str, kind: str) -> list[dict[str, Any]]:
        self._envelopes += map(json.loads, self._drain(self._resources.announcements_queue_url))
        mine = [each for each in self._envelopes if (each["thread_id"], each["type"]) == (thread_id, kind)]
        once = {each["dedupe_key"]: each for each in mine}
        return sorted(once.values(), key=lambda each: (each["asked_at"], each["attempt"]))

    def _drain(self, queue_url: str) -> list[str]:
        bodies: list[str] = []
        while received := self._receive(queue_url):
            for message in received:
                bodies.append(message["Body"])
                self._sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=message["ReceiptHandle"])
        return bodies

    def _receive(self, queue_url: str) -> list[Any]:
        received = self._sqs.receive_message(
            QueueUrl=queue_url, MaxNumberOfMessages=10, WaitTimeSeconds=self._wait_seconds
        )
        return received.get("Messages", [])
