"""Something to answer: five refunds that need somebody in finance."""

import json
import time

from agent_wait import JSON
from agent_wait_aws import group_id
from refund_agent import aws
from refund_agent.approvals import Approvals
from refund_agent.resources import Resources

REQUESTS = (
    (
        "refund-o-1002",
        "o-1002",
        "41000.00",
        "The frame jig never arrived, and the carrier has closed the case.",
    ),
    ("refund-o-1003", "o-1003", "18250.50", "One of two chambers does not hold its pressure."),
    ("refund-o-1005", "o-1005", "27400.00", "Bought twice by mistake; the second desk is unopened."),
    ("refund-o-1008", "o-1008", "15000.00", "The blade guard was missing. Returned on Monday."),
    ("refund-o-1009", "o-1009", "22750.25", "Does not fit the tractor, in spite of what the catalogue says."),
)
ASKED_AGAIN = "refund-o-1008"
"""Somebody has answered this one in a way that the agent cannot use, and it asks again."""

UNUSABLE: JSON = {"action": "approve", "args": {"amount": "half of it"}}
PATIENCE_SECONDS = 60.0


def ask_for_samples(resources: Resources, approvals: Approvals) -> None:
    """Send the requests to the agent, and wait until it has asked about them.

    Raises:
        TimeoutError: The agent does not ask.
    """
    for thread_id, order_id, amount, reason in REQUESTS:
        refund = {"order_id": order_id, "amount": amount, "reason": reason}
        send(resources, thread_id, {"thread_id": thread_id, "start_id": "request-1", "input": refund})
    give_up = time.monotonic() + PATIENCE_SECONDS
    answered = False
    while len(asked := approvals.with_status("open")) < len(REQUESTS) or not answered:
        for approval in asked:
            if approval.question.thread_id == ASKED_AGAIN and not answered:
                approvals.answer(approval.question, UNUSABLE, answered_by="tom")
                answered = True
        if time.monotonic() > give_up:
            raise TimeoutError("the agent has not asked")
        time.sleep(0.2)


def send(resources: Resources, thread_id: str, message: object) -> None:
    aws.sqs().send_message(
        QueueUrl=resources.entry_queue_url,
        MessageBody=json.dumps(message),
        MessageGroupId=group_id(thread_id),
    )
