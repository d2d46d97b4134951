"""Everything around the agent, as the scenarios need it: who sends, who answers, and what could be seen."""

import json
import time
from typing import Any

from agent_wait import Outcome
from agent_wait_aws import group_id

from refund_agent import aws, host
from refund_agent.approvals import Approvals, NotOpen
from refund_agent.payments import DynamoDbLedger, Entry
from refund_agent.report import Report, answer_text, plural, question_text
from refund_agent.resources import Resources
from refund_agent.sweep import sweep
from refund_agent.worker import Worker


class WindableClock:
    """The machine's clock, which a scenario can put forward."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def now(self) -> float:
        return time.time() + self._ahead

    def put_forward(self, *, hours: float) -> None:
        self._ahead += hours * 3600


class World:
    """The shop, finance, the customer and the queues, on one set of resources.

    Args:
        resources: Where all of it is.
        report: What a person sees.
    """

    def __init__(self, resources: Resources, report: Report) -> None:
        self.resources = resources
        self.report = report
        self.clock = WindableClock()
        self.approvals = Approvals(resources, clock=self.clock)
        self.ledger = DynamoDbLedger(resources.ledger_table)
        self._sqs = aws.sqs()
        self._sent = 0
        self._told: set[str] = set()
        self._envelopes: list[dict[str, Any]] = []
        self._dead_letters: list[str] = []
        self.check = report.check

    # What people do

    def request(
        self, thread_id: str, order_id: str, amount: str, reason: str, *, start_id: str = "request-1"
    ) -> None:
        """The shop asks for a refund."""
        self.report.say("shop", f"asks to refund {amount} on order {order_id}: {reason}")
        refund = {"order_id": order_id, "amount": amount, "reason": reason}
        self.send(thread_id, {"thread_id": thread_id, "start_id": start_id, "input": refund})

    def answer(self, thread_id: str, answer: Any, *, by: str) -> bool:
        """Somebody answers the thread's newest question on the approvals table; False: it was too late."""
        newest = self.approvals.of_thread(thread_id)[-1]
        try:
            self.approvals.answer(newest.question, answer, answered_by=by)
        except NotOpen:
            self.report.say("finance", f"{by} answers {answer_text(answer)}, in vain: it is no longer open")
            return False
        self.report.say("finance", f"{by} answers {answer_text(answer)}")
        return True

    def send(self, thread_id: str, body: Any, *, say: str = "") -> None:
        """Put a message straight into the agent's queue, past the approvals table; text as it is."""
        if say:
            self.report.say("queue", f"brings {say}")
        self._sent += 1
        self._sqs.send_message(
            QueueUrl=self.resources.entry_queue_url,
            MessageBody=self.text(body),
            MessageGroupId=group_id(thread_id),
            MessageDeduplicationId=f"{self._sent}-{time.time_ns()}",
        )

    @staticmethod
    def text(body: Any) -> str:
        return body if isinstance(body, str) else json.dumps(body)

    def put_forward(self, *, hours: float) -> None:
        self.report.say("clock", f"{hours:g} hours pass")
        self.clock.put_forward(hours=hours)

    # What the agent does

    def worker(self) -> Worker:
        """A new agent process: it knows nothing but what is stored."""
        publisher = host.build_publisher(self.resources, clock=self.clock)
        return Worker(self.resources, lambda body: host.handle(publisher, body))

    def work(self) -> list[Outcome]:
        """Let a new agent process handle everything that is in the queue."""
        worker = self.worker()
        outcomes: list[Outcome] = []
        while deliveries := worker.receive():
            for delivery in deliveries:
                outcome = worker.handle(delivery)
                worker.settle(delivery, outcome)
                self._tell(outcome, receives=delivery.receives)
                outcomes.append(outcome)
        return outcomes

    def handle_and_die(self) -> list[Outcome]:
        """Let a new agent process handle what it receives at once, and die before it deletes any of it.

        Its messages come again as when their visibility timeout has passed; that is only not waited for.
        """
        worker = self.worker()
        deliveries = worker.receive(at_most=10)
        outcomes = [worker.handle(delivery) for delivery in deliveries]
        for delivery, outcome in zip(deliveries, outcomes, strict=True):
            self._tell(outcome, receives=delivery.receives)
        self.report.say("agent", f"dies before it has deleted {plural(len(deliveries), 'message')}")
        for delivery in reversed(deliveries):
            self._sqs.change_message_visibility(
                QueueUrl=self.resources.entry_queue_url, ReceiptHandle=delivery.receipt, VisibilityTimeout=0
            )
        return outcomes

    def sweep(self) -> None:
        """What the clock does every minute."""
        swept = sweep(
            self.approvals, host.build_publisher(self.resources, clock=self.clock), clock=self.clock
        )
        for approval in swept.defaulted:
            default = answer_text(approval.question.default)
            self.report.say("sweep", f"the deadline has passed: answers the default, {default}")

    def _tell(self, outcome: Outcome, *, receives: int) -> None:
        again = f", delivered {receives} times" if receives > 1 else ""
        detail = f": {outcome.detail}" if outcome.detail else ""
        self.report.say("agent", f"{outcome.kind}{again}{detail}")
        for envelope in outcome.publication:
            if envelope.type == "wait.resumed":
                continue
            if envelope.dedupe_key in self._told:
                self.report.say("agent", "announces the same question once more")
                continue
            self._told.add(envelope.dedupe_key)
            if envelope.error:
                self.report.say("agent", f"cannot use that: {envelope.error}")
            self.report.say("agent", f"asks for {question_text(envelope)}")

    # What could be seen

    def questions(self, thread_id: str) -> list[dict[str, Any]]:
        """The questions that went out on the topic, each once however often it went out."""
        return list(
            {key: each for key, each in self._announced(thread_id) if key.startswith("wait.created")}.values()
        )

    def closings(self, thread_id: str) -> int:
        """How many questions were announced as closed, each once however often it was."""
        return len({key for key, _ in self._announced(thread_id) if key.startswith("wait.resumed")})

    def refunds(self, order_id: str) -> list[str]:
        """The money that was moved for an order."""
        return [str(entry.amount) for entry in self._entries("refund", order_id)]

    def approvers(self, order_id: str) -> list[str | None]:
        return [entry.approved_by for entry in self._entries("refund", order_id)]

    def notices(self, order_id: str) -> list[str]:
        """What the customer of an order was told."""
        return [entry.text for entry in self._entries("notice", order_id)]

    def statuses(self, thread_id: str) -> list[str]:
        """The thread's rows in the approvals table, in the order they were asked."""
        return [approval.status for approval in self.approvals.of_thread(thread_id)]

    def dead_letters(self) -> list[str]:
        """The bodies in the dead-letter queue."""
        self._dead_letters += self._drain(self.resources.dead_letter_queue_url)
        return list(self._dead_letters)

    def show(self, order_id: str) -> None:
        """Tell what the outside world holds about an order."""
        for entry in self._entries("refund", order_id):
            approval = f"approved by {entry.approved_by}" if entry.approved_by else "nobody was asked"
            self.report.say("ledger", f"{entry.amount} refunded on order {order_id}, {approval}")
        for text in self.notices(order_id):
            self.report.say("customer", f"is told: {text}")

    def _entries(self, kind: str, order_id: str) -> list[Entry]:
        return [entry for entry in self.ledger.entries() if (entry.kind, entry.order_id) == (kind, order_id)]

    def _announced(self, thread_id: str) -> list[tuple[str, dict[str, Any]]]:
        self._envelopes += map(json.loads, self._drain(self.resources.announcements_queue_url))
        return [(each["dedupe_key"], each) for each in self._envelopes if each["thread_id"] == thread_id]

    def _drain(self, queue_url: str) -> list[str]:
        bodies: list[str] = []
        while messages := self._sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10).get(
            "Messages"
        ):
            for message in messages:
                bodies.append(message.get("Body", ""))
                self._sqs.delete_message(QueueUrl=queue_url, ReceiptHandle=message.get("ReceiptHandle", ""))
        return bodies
