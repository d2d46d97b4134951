"""Answering: whoever answers claims the question's row first, so that the first answer wins."""

import hashlib
import json
import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from agent_wait import JSON, Clock, SystemClock, WaitEnvelope
from agent_wait_aws import envelope_of, group_id, row_key
from boto3.dynamodb.conditions import Attr, ConditionBase, Key

from refund_agent import aws
from refund_agent.resources import Resources

log = logging.getLogger(__name__)


class NotOpen(Exception):
    """Somebody was first, or the deadline has passed; nothing was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """A row of the approvals table: a question, and who answered what.

    Attributes:
        question: As it was announced.
        status: `open`, `answered` (claimed by somebody, with an answer) or `closed` (the agent has moved on).
        answer: JSON; None also while there is none.
        answered_by: Who.
        answered_at: RFC 3339.
        sent_at: When the answer was in the agent's queue, RFC 3339.
    """

    question: WaitEnvelope
    status: str
    answer: JSON = None
    answered_by: str | None = None
    answered_at: str | None = None
    sent_at: str | None = None


class Approvals:
    """The questions, and the way to answer them.

    Args:
        resources: Whose approvals table and entry queue.
        clock: For deadlines and for when an answer was given.
    """

    def __init__(self, resources: Resources, *, clock: Clock | None = None) -> None:
        self._table = aws.table(resources.approvals_table)
        self._queue_url = resources.entry_queue_url
        self._sqs = aws.sqs()
        self._clock = clock or SystemClock()

    def answer(
        self, question: WaitEnvelope, answer: JSON, *, answered_by: str, past_deadline: bool = False
    ) -> None:
        """Claim the row, send the answer to the agent, and note that it was sent.

        A crash after the claim loses nothing: the sweep sends what has no `sent_at`.

        Args:
            question: What is answered, as the table has it.
            answer: Such as `{"action": "approve", "args": {"amount": "300.00"}}`.
            answered_by: Who, as the caller has made sure.
            past_deadline: Also when it is too late for a person, as the sweep does with the default.

        Raises:
            NotOpen: Somebody was first, or the deadline has passed. Nothing was sent.
        """
        now = self._clock.now()
        if not past_deadline and now >= deadline(question):
            raise NotOpen(f"{question.ask_id} is past its deadline")
        claim = {
            "status": "answered",
            "answer": json.dumps(answer, allow_nan=False),
            "answered_by": answered_by,
            "answered_at": timestamp(now),
        }
        claimed = self._update(question, claim, only_if=Attr("status").eq("open"))
        if claimed is None:
            raise NotOpen(f"{question.ask_id} is answered or closed")
        self.send(claimed)

    def send(self, approval: Approval) -> None:
        """Put the answer that the row holds into the agent's queue, and note that it was sent."""
        question = approval.question
        message = {**question.reply_with, "answer": approval.answer, "answered_by": approval.answered_by}
        # Not by content alone: what was given up on the way may be answered the same again.
        once = hashlib.sha256(f"{question.ask_id} {approval.answered_at}".encode()).hexdigest()
        self._sqs.send_message(
            QueueUrl=self._queue_url,
            MessageBody=json.dumps(message),
            MessageGroupId=group_id(question.thread_id),
            MessageDeduplicationId=once,
        )
        same = Attr("answered_at").eq(approval.answered_at)
        self._update(question, {"sent_at": timestamp(self._clock.now())}, only_if=same)

    def close(self, approval: Approval) -> bool:
        """For the sweep, when the agent has moved past it. False: it was closed already."""
        not_closed = Attr("status").ne("closed")
        return self._update(approval.question, {"status": "closed"}, only_if=not_closed) is not None

    def reopen(self, approval: Approval) -> bool:
        """For the sweep, when the answer was given up on the way and the agent still waits for one."""
        still_that = Attr("status").eq("answered") & Attr("answered_at").eq(approval.answered_at)
        forget = ("answer", "answered_by", "answered_at", "sent_at")
        opened = self._update(approval.question, {"status": "open"}, forget=forget, only_if=still_that)
        return opened is not None

    def with_status(self, status: str, *, until: str | None = None) -> list[Approval]:
        """All of one status, nearest deadline first; `until`: only those whose deadline is before it."""
        condition = Key("status").eq(status)
        if until is not None:
            condition &= Key("expires_at").lt(until)
        return self._query(IndexName="by_status", KeyConditionExpression=condition)

    def of_thread(self, thread_id: str) -> list[Approval]:
        """Every question the thread has asked, in the order they were asked."""
        mine = Key("pk").eq(row_key(thread_id, "")["pk"])
        asked = self._query(KeyConditionExpression=mine, ConsistentRead=True)
        return sorted(asked, key=lambda approval: (approval.question.asked_at, approval.question.attempt))

    def _query(self, **query: Any) -> list[Approval]:
        approvals: list[Approval] = []
        while True:
            page: Any = self._table.query(**query)
            approvals += map(approval_of, page["Items"])
            if "LastEvaluatedKey" not in page:
                return approvals
            query["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def _update(
        self,
        question: WaitEnvelope,
        changes: Mapping[str, str],
        *,
        only_if: ConditionBase,
        forget: Sequence[str] = (),
    ) -> Approval | None:
        """The row as it then is; None: the condition does not hold, and nothing was changed."""
        update = "SET " + ", ".join(f"#{name} = :{name}" for name in changes)
        if forget:
            update += " REMOVE " + ", ".join(f"#{name}" for name in forget)
        try:
            changed = self._table.update_item(
                Key=row_key(question.thread_id, question.ask_id),
                UpdateExpression=update,
                ConditionExpression=only_if,
                ExpressionAttributeNames={f"#{name}": name for name in (*changes, *forget)},
                ExpressionAttributeValues={f":{name}": value for name, value in changes.items()},
                ReturnValues="ALL_NEW",
            )
        except self._table.meta.client.exceptions.ConditionalCheckFailedException:
            return None
        return approval_of(changed["Attributes"])


def approval_of(row: Mapping[str, Any]) -> Approval:
    """A row, as `boto3.resource("dynamodb").Table` gives it."""
    return Approval(
        question=envelope_of(row),
        status=row["status"],
        answer=json.loads(row.get("answer", "null")),
        answered_by=row.get("answered_by"),
        answered_at=row.get("answered_at"),
        sent_at=row.get("sent_at"),
    )


def timestamp(seconds: float) -> str:
    """RFC 3339 UTC in whole seconds, as in the envelope."""
    return datetime.fromtimestamp(seconds, UTC).strftime(_RFC_3339)


def deadline(question: WaitEnvelope) -> float:
    """Seconds since the epoch; one that cannot be read has passed."""
    if question.expires_at is None:
        return math.inf
    try:
        return datetime.strptime(question.expires_at, _RFC_3339).replace(tzinfo=UTC).timestamp()
    except ValueError:
        log.warning("the deadline of %s cannot be read", question.ask_id)
        return -math.inf


_RFC_3339 = "%Y-%m-%dT%H:%M:%SZ"
