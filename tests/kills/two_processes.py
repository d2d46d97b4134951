"""Two hosts that are handed answers to one question at the same instant."""

import os
from collections.abc import Mapping
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from typing import Any

from agent_wait_aws import row_key
from boto3.dynamodb.conditions import Attr
from refund_agent import aws, host
from refund_agent.resources import Resources
from refund_agent.worker import Worker

Seen = SimpleQueue[str]


def read_the_queue(
    settings: Mapping[str, str], resources: Resources, together: Barrier, seen: Seen, own: Mapping[str, Any]
) -> None:
    """A worker on the FIFO queue, which gives out one message of a group at a time."""
    del own
    os.environ.update(settings)
    publisher = host.build_publisher(resources)
    worker = Worker(resources, lambda it: host.handle(publisher, it.body, sent_at=it.sent_at))
    together.wait()
    for _ in range(4):
        outcome = worker.work_one(wait_seconds=1)
        if outcome is not None:
            seen.put(outcome.kind)


def serve_a_request(
    settings: Mapping[str, str], resources: Resources, together: Barrier, seen: Seen, own: Mapping[str, Any]
) -> None:
    """A host that is called over HTTP: it claims the question's row before it handles the answer."""
    os.environ.update(settings)
    publisher = host.build_publisher(resources)
    together.wait()
    seen.put(publisher.handle(own).kind if claim(resources, own) else "already_answered")


def claim(resources: Resources, message: Mapping[str, Any]) -> bool:
    """Whether this is the first answer; what is claimed and not carried out is the sweep's to send."""
    table = aws.table(resources.approvals_table)
    try:
        table.update_item(
            Key=row_key(message["thread_id"], message["ask_id"]),
            UpdateExpression="SET #status = :answered",
            ConditionExpression=Attr("status").eq("open"),
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={":answered": "answered"},
        )
    except table.meta.client.exceptions.ConditionalCheckFailedException:
        return False
    return True
