"""The agent under Lambda: what the event source mapping brings from the entry queue, in batches.

`refund_agent.lambda_handler.handler` is the function's handler. It reports failures message by message; of
one group nothing is handled after a message of it has failed, and no other group notices.
"""

import functools
import os
from typing import Any

from agent_wait import WaitPublisher
from agent_wait_aws import SchedulerAnnounce
from aws_lambda_powertools import Logger
from aws_lambda_powertools.utilities.batch import (
    SqsFifoPartialProcessor,
    process_partial_response,  # pyright: ignore[reportUnknownVariableType]  # the record handler may return anything
)
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from refund_agent import host
from refund_agent.clock import WindableClock
from refund_agent.resources import Resources
from refund_agent.worker import NOBODY_ELSE_HAS_IT, Delivery, set_aside

logger = Logger(service="refund-agent")


class NotAcknowledged(Exception):
    """Something could not be announced: the message has to come again."""


@functools.cache
def resources() -> Resources:
    return Resources.from_environment()


@functools.cache
def publisher() -> WaitPublisher:
    """The agent; its deadlines are kept by EventBridge Scheduler."""
    deadlines = SchedulerAnnounce(
        group_name=os.environ["SCHEDULE_GROUP"],
        target_arn=os.environ["ENTRY_QUEUE_ARN"],
        role_arn=os.environ["SCHEDULE_ROLE_ARN"],
    )
    return host.build_publisher(resources(), clock=clock(), also=[deadlines])


@functools.cache
def clock() -> WindableClock:
    return WindableClock(float(os.environ.get("CLOCK_AHEAD_SECONDS", "0")))


def handler(event: dict[str, Any], context: Any) -> Any:
    """Handle a batch; an event without one, say to keep a process warm, does nothing."""
    if not event.get("Records"):
        return {"batchItemFailures": []}
    # A new one each time: what failed in the last batch is none of this one's business.
    processor = SqsFifoPartialProcessor(skip_group_on_error=True)
    return process_partial_response(event, handle_record, processor, context)


def handle_record(record: SQSRecord) -> None:
    """Handle one message.

    Raises:
        Exception: The message is not settled, and has to come again.
    """
    delivery = delivery_of(record)
    outcome = host.handle(publisher(), delivery.body, sent_at=delivery.sent_at + clock().ahead)
    if outcome.acknowledge and outcome.kind in NOBODY_ELSE_HAS_IT:
        set_aside(delivery, outcome, queue_url=resources().dead_letter_queue_url)
    logger.info(
        outcome.kind,
        message_id=delivery.message_id,
        receives=delivery.receives,
        thread_id=outcome.thread_id,
        question_id=outcome.question_id,
        detail=outcome.detail,
        acknowledged=outcome.acknowledge,
    )
    if not outcome.acknowledge:
        raise NotAcknowledged(delivery.message_id)


def delivery_of(record: SQSRecord) -> Delivery:
    return Delivery(
        message_id=record.message_id,
        receipt=record.receipt_handle,
        body=record.body,
        group=str(record.attributes.message_group_id),
        receives=int(record.attributes.approximate_receive_count),
        sent_at=int(record.attributes.sent_timestamp) / 1000,
    )


# In the init phase, where the clients are made with a whole CPU, and before there is a message to wait.
if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
    publisher()
