"""Answering: whoever answers claims the question's row first, so that the first answer wins."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, TypeAlias

from agent_wait import Clock, SystemClock
from agent_wait_aws import group_id
from boto3.dynamodb.conditions import Attr, ConditionBase, Key

from refund_agent import aws
from refund_agent.resources import Resources

Row: TypeAlias = Mapping[str, Any]
"""A question in the approvals table: the envelope's fields, `status`, and who answered what."""


class NotOpen(Exception):
    """Somebody was first, or the deadline has passed; nothing was sent."""


class Approvals:
    """The questions that are open, and the way to answer them.

    Args:
        resources: Whose approvals table and entry queue.
        clock: For deadlines and for when an answer was given.
    """

    def __init__(self, resources: Resources, *, clock: Clock | None = None) -> None:
        self._table = aws.table(resources.approvals_table)
        self._queue_url = resources.entry_queue_url
        self._sqs = aws.sqs()
        self._clock = clock or SystemClock()

    def answer(self, row: Row, answer: Any, *, answered_by: str, past_deadline: bool = False) -> None:
        """Claim the row, send the answer to the agent, and note that it was sent.

        A crash after the claim loses nothing: the sweep sends what has no `sent_at`.

        Args:
            row: The question.
            answer: JSON, such as `{"action": "approve", "args": {"amount": "300.00"}}`.
            answered_by: Who, as the caller has made sure.
            past_deadline: Also when it is too late for a person, as the sweep does with the default.

        Raises:
            NotOpen: Somebody was first, or the deadline has passed. Nothing was sent.
        """
        now = timestamp(self._clock.now())
        still_open = Attr("status").eq("open")
        if not past_deadline:
            still_open &= Attr("expires_at").gt(now)
        claim = {"status": "answered", "answer": answer, "answered_by": answered_by, "answered_at": now}
        claimed = self._update(row, claim, only_if=still_open)
        if claimed is None:
            raise NotOpen(f"{row['question_id']} is answered, closed or past its deadline")
        self.send(claimed)

    def send(self, row: Row) -> None:
        """Put the answer that the row holds into the agent's queue, and note that it was sent."""
        message = {**row["reply_with"], "answer": row["answer"], "answered_by": row["answered_by"]}
        # Not by content alone: what was given up on the way may be answered the same again.
        once = hashlib.sha256(f"{row['sk']} {row['answered_at']}".encode()).hexdigest()
        self._sqs.send_message(
            QueueUrl=self._queue_url,
            MessageBody=json.dumps(message, default=_from_item),
            MessageGroupId=group_id(row["thread_id"]),
            MessageDeduplicationId=once,
        )
        self._update(
            row, {"sent_at": timestamp(self._clock.now())}, only_if=Attr("answered_at").eq(row["answered_at"])
        )

    def close(self, row: Row) -> bool:
        """For the sweep, when the agent has moved past it. False: it was closed already."""
        return self._update(row, {"status": "closed"}, only_if=Attr("status").ne("closed")) is not None

    def reopen(self, row: Row) -> bool:
        """For the sweep, when the answer was given up on the way and the agent still waits for one."""
        given_up = Attr("status").eq("answered") & Attr("answered_at").eq(row["answered_at"])
        remove = ("answer", "answered_by", "answered_at", "sent_at")
        return self._update(row, {"status": "open"}, remove=remove, only_if=given_up) is not None

    def with_status(self, status: str, *, until: str | None = None) -> list[Row]:
        """Rows of one status, nearest deadline first; `until`: only those whose deadline is before it."""
        condition = Key("status").eq(status)
        if until is not None:
            condition &= Key("expires_at").lt(until)
        return self._query(IndexName="by_status", KeyConditionExpression=condition)

    def of_thread(self, thread_id: str) -> list[Row]:
        """Every question the thread has asked, in the order they were asked."""
        rows = self._query(KeyConditionExpression=Key("pk").eq(f"THREAD#{thread_id}"), ConsistentRead=True)
        return sorted(rows, key=lambda row: (row["asked_at"], row["attempt"]))

    def _query(self, **query: Any) -> list[Row]:
        rows: list[Row] = []
        while True:
            page: Any = self._table.query(**query)
            rows += page["Items"]
            if "LastEvaluatedKey" not in page:
                return rows
            query["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def _update(
        self, row: Row, changes: Mapping[str, Any], *, only_if: ConditionBase, remove: Sequence[str] = ()
    ) -> Row | None:
        """The row as it then is; None: the condition does not hold, and nothing was changed."""
        update = "SET " + ", ".join(f"#{name} = :{name}" for name in changes)
        if remove:
            update += " REMOVE " + ", ".join(f"#{name}" for name in remove)
        try:
            return self._table.update_item(
                Key={"pk": row["pk"], "sk": row["sk"]},
                UpdateExpression=update,
                ConditionExpression=only_if,
                ExpressionAttributeNames={f"#{name}": name for name in (*changes, *remove)},
                ExpressionAttributeValues={f":{name}": _to_item(value) for name, value in changes.items()},
                ReturnValues="ALL_NEW",
            )["Attributes"]
        except self._table.meta.client.exceptions.ConditionalCheckFailedException:
            return None


def timestamp(seconds: float) -> str:
    """RFC 3339 UTC in whole seconds, as in the envelope."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _to_item(value: Any) -> Any:
    """JSON as DynamoDB takes it: its numbers are Decimals."""
    return json.loads(json.dumps(value, allow_nan=False), parse_float=Decimal)


def _from_item(value: Any) -> int | float:
    """What `json.dumps` is to make of a Decimal."""
    if not isinstance(value, Decimal):
        raise TypeError(f"{type(value).__name__} is not JSON")
    return int(value) if value == value.to_integral_value() else float(value)
