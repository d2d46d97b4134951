"""The host: whatever brings a message in hands its body to `handle` and acts on the outcome."""

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from agent_wait import AnnounceAdapter, Clock, EntryPoint, Outcome, WaitPublisher, is_answer
from agent_wait_aws import DynamoDbAnnounce, SnsAnnounce
from langgraph_checkpoint_aws import DynamoDBSaver
from langgraph_wait import LangGraphAdapter

from refund_agent.graph import build_graph
from refund_agent.payments import DynamoDbLedger
from refund_agent.resources import Resources
from refund_agent.shop import find_order


def build_publisher(
    resources: Resources, *, clock: Clock | None = None, also: Sequence[AnnounceAdapter] = ()
) -> WaitPublisher:
    """The agent, and where its questions go: to the topic, the approvals table, and wherever else."""
    graph = build_graph(DynamoDbLedger(resources.ledger_table), DynamoDBSaver(resources.checkpoint_table))
    return WaitPublisher(
        LangGraphAdapter(graph),
        announce=[SnsAnnounce(resources.topic_arn), DynamoDbAnnounce(resources.approvals_table), *also],
        reply_to=EntryPoint("sqs", resources.entry_queue_url),
        late_answers="refuse",
        clock=clock,
    )


def handle(publisher: WaitPublisher, body: str, *, sent_at: float | None = None) -> Outcome:
    """Route one message: a request for a refund, or an answer to a question.

    A request is `{"thread_id", "start_id", "input": {"order_id", "amount", "reason"}}`. `start_id` is the
    sender's name for it, the same when it is sent again; `amount` is text, since money is no float.

    Args:
        publisher: The agent.
        body: The message, as it came.
        sent_at: When the transport took it, by which an answer is late or not, however late it comes.

    Raises:
        Exception: Whatever the graph raises; the message was not handled and should come again.
    """
    message = parse(body)
    if message is None:
        return refused({}, "the body is no JSON object")
    if not is_answer(message):
        try:
            message = {**message, "input": read_request(message)}
        except ValueError as why:
            return refused(message, str(why))
    return publisher.handle(message, sent_at=sent_at)


def parse(body: str) -> dict[str, Any] | None:
    try:
        message: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None  # pyright: ignore[reportUnknownVariableType]  # JSON's keys are text


def read_request(message: dict[str, Any]) -> dict[str, Any]:
    """The graph's input, from what somebody sent.

    Raises:
        ValueError: It is no request for a refund; says why, without repeating what was sent.
    """
    thread_id, start_id, sent = message.get("thread_id"), message.get("start_id"), message.get("input")
    if not (isinstance(thread_id, str) and isinstance(start_id, str) and start_id):
        raise ValueError("a request has a thread_id and a start_id")
    match sent:
        case {"order_id": str(order_id), "amount": str(amount), "reason": str(reason)}:
            pass
        case _:
            raise ValueError("a request's input has order_id, amount and reason, all text")
    if not re.fullmatch(r"[0-9]{1,12}(\.[0-9]{1,2})?", amount):
        raise ValueError("amount is not a sum of money")
    if find_order(order_id) is None:
        raise ValueError("there is no such order")
    return {
        "request_id": f"{thread_id}/{start_id}",
        "order_id": order_id,
        "amount": Decimal(amount),
        "reason": reason,
    }


def refused(message: dict[str, Any], detail: str) -> Outcome:
    thread_id = message.get("thread_id")
    return Outcome(
        "refused", thread_id if isinstance(thread_id, str) else None, detail=detail, acknowledge=True
    )
