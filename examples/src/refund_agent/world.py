"""Everything around the agent, as the scenarios need it: who sends, who answers, and what could be seen."""

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agent_wait import Outcome
from agent_wait_aws import group_id

from refund_agent import aws, deaths, host
from refund_agent.approvals import Approvals, NotOpen
from refund_agent.clock import WindableClock
from refund_agent.report import Report, answer_text, plural, question_text
from refund_agent.resources import Resources
from refund_agent.seen import Seen
from refund_agent.sweep import sweep
from refund_agent.worker import Delivery, Worker


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
        self.seen = Seen(resources)
        self.check = report.check
        self._sqs = aws.sqs()
        self._sent = 0
        self._told: set[str] = set()
        self._unsettled: list[Delivery] = []
        self._announces_to = resources
        self._start_process()

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

    def restart(self) -> None:
        """A new agent process takes over: it knows nothing but what is stored."""
        self.report.say("agent", "ends, and another one takes over")
        self._start_process()

    def deliver_by_hand(self) -> None:
        """For a scenario with `handle_and_die`: nothing is handled but in there and in `work`."""

    def work(self) -> list[Outcome]:
        """Let the agent handle everything that is in its queue."""
        outcomes: list[Outcome] = []
        while deliveries := self._worker.receive():
            for delivery in deliveries:
                outcome = self._worker.handle(delivery)
                self._worker.settle(delivery, outcome)
                self._tell(outcome, receives=delivery.receives)
                outcomes.append(outcome)
                if not outcome.acknowledge:
                    self.report.say("agent", "could not announce all of it: the message stays")
                    self._unsettled.append(delivery)
        return outcomes

    def come_again(self) -> None:
        """Let what was not acknowledged come again, as when its visibility timeout has passed."""
        self.give_back(self._unsettled)
        self._unsettled.clear()

    def handle_and_die(self) -> list[Outcome]:
        """Let the agent handle what it receives at once, and die before it deletes any of it.

        Its messages come again as when their visibility timeout has passed; that is only not waited for.
        """
        deliveries = self._worker.receive(at_most=10)
        outcomes = [self._worker.handle(delivery) for delivery in deliveries]
        for delivery, outcome in zip(deliveries, outcomes, strict=True):
            self._tell(outcome, receives=delivery.receives)
        self.report.say("agent", f"dies before it has deleted {plural(len(deliveries), 'message')}")
        self.give_back(deliveries)
        self._start_process()
        return outcomes

    def be_killed(self, at: str) -> int:
        """Let a process of its own handle what comes next and be killed at a marked point; its status."""
        (delivery,) = self._worker.receive()
        status = deaths.let_die(self.resources, delivery, at)
        self.report.say("agent", f"is killed {at}")
        self.give_back([delivery])
        return status

    def broker(self, *, up: bool) -> None:
        """Take the topic away from the agent, or give it back."""
        self.report.say("broker", "is back" if up else "is down")
        nowhere = f"{self.resources.topic_arn}-nowhere"
        self._announces_to = self.resources if up else replace(self.resources, topic_arn=nowhere)
        self._start_process()

    def give_back(self, deliveries: Sequence[Delivery]) -> None:
        """Let them come again now, in order."""
        for delivery in reversed(deliveries):
            self._sqs.change_message_visibility(
                QueueUrl=self.resources.entry_queue_url, ReceiptHandle=delivery.receipt, VisibilityTimeout=0
            )

    def sweep(self) -> None:
        """What the clock does every minute."""
        swept = sweep(self.approvals, self._publisher, clock=self.clock)
        for approval in swept.defaulted:
            default = answer_text(approval.question.default)
            self.report.say("sweep", f"the deadline has passed: answers the default, {default}")

    def show(self, order_id: str) -> None:
        """Tell what the ledger holds about an order, and what its customer was told."""
        for entry in self.seen.entries("refund", order_id):
            approval = f"approved by {entry.approved_by}" if entry.approved_by else "nobody was asked"
            self.report.say("ledger", f"{entry.amount} refunded on order {order_id}, {approval}")
        for text in self.seen.notices(order_id):
            self.report.say("customer", f"is told: {text}")

    def _start_process(self) -> None:
        self._publisher = host.build_publisher(self._announces_to, clock=self.clock)
        self._worker = Worker(self.resources, self._handle)

    def _handle(self, delivery: Delivery) -> Outcome:
        """Everything was sent as long ago by the scenario's clock as by the queue's."""
        return host.handle(self._publisher, delivery.body, sent_at=delivery.sent_at + self.clock.ahead)

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
