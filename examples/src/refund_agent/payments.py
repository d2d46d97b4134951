"""The outside world: a ledger of money refunded and customers told, which does everything once per key."""

import sqlite3
from abc import ABC, abstractmethod
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from refund_agent import aws

CENT = Decimal("0.01")
MOST = Decimal("999999999999.99")


def payable(amount: Decimal) -> bool:
    """Whether it is above zero, in whole cents, and within reason. Money is never rounded here."""
    return amount.is_finite() and 0 < amount <= MOST and amount % CENT == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One thing that was done.

    Attributes:
        key: The idempotency key it was done under.
        kind: `refund` moved money, `notice` told the customer.
        order_id: The order it was about.
        amount: The money that was moved, to the cent; zero for a notice.
        text: Why it was refunded, or what the customer was told.
        approved_by: Who approved it, when somebody was asked.
    """

    key: str
    kind: Literal["refund", "notice"]
    order_id: str
    amount: Decimal = Decimal("0.00")
    text: str
    approved_by: str | None = None


class Ledger(ABC):
    """Does everything once per key: what is done again under a key it has seen, is not.

    Safe from several threads and processes at once.
    """

    def refund(
        self, order_id: str, amount: Decimal, reason: str, *, key: str, approved_by: str | None = None
    ) -> Entry:
        """Give the money back, unless that was done under this key before.

        Returns:
            What was done under the key, now or before; its amount is what was really refunded.

        Raises:
            ValueError: The amount is not `payable`.
        """
        if not payable(amount):
            raise ValueError(f"{amount} cannot be paid")
        return self.put_once(
            Entry(
                key=f"refund:{key}",
                kind="refund",
                order_id=order_id,
                amount=amount.quantize(CENT),
                text=reason,
                approved_by=approved_by,
            )
        )

    def notify(self, order_id: str, text: str, *, key: str) -> Entry:
        """Tell the customer, unless that was done under this key before; returns what they were told."""
        return self.put_once(Entry(key=f"notice:{key}", kind="notice", order_id=order_id, text=text))

    @abstractmethod
    def put_once(self, entry: Entry) -> Entry:
        """Store the entry unless its key is taken; returns what is stored under the key."""

    @abstractmethod
    def entries(self) -> list[Entry]:
        """Everything that was done, in no particular order."""


class SqliteLedger(Ledger):
    """A ledger in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with closing(self._connect()) as database, database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS ledger (key TEXT PRIMARY KEY, kind TEXT NOT NULL, "
                "order_id TEXT NOT NULL, cents INTEGER NOT NULL, text TEXT NOT NULL, approved_by TEXT)"
            )

    def put_once(self, entry: Entry) -> Entry:
        with closing(self._connect()) as database, database:
            database.execute(
                "INSERT INTO ledger VALUES (:key, :kind, :order_id, :cents, :text, :approved_by) "
                "ON CONFLICT (key) DO NOTHING",
                _to_row(entry),
            )
            return _from_row(database.execute("SELECT * FROM ledger WHERE key = ?", (entry.key,)).fetchone())

    def entries(self) -> list[Entry]:
        with closing(self._connect()) as database:
            return [_from_row(row) for row in database.execute("SELECT * FROM ledger")]

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, timeout=30)
        database.row_factory = sqlite3.Row
        return database


class DynamoDbLedger(Ledger):
    """A ledger in a DynamoDB table whose key is `key`."""

    def __init__(self, table_name: str) -> None:
        self._table = aws.table(table_name)

    def put_once(self, entry: Entry) -> Entry:
        try:
            self._table.put_item(
                Item=_to_row(entry),
                ConditionExpression="attribute_not_exists(#key)",
                ExpressionAttributeNames={"#key": "key"},
            )
        except self._table.meta.client.exceptions.ConditionalCheckFailedException:
            stored = self._table.get_item(Key={"key": entry.key}, ConsistentRead=True)
            return _from_row(stored.get("Item"))
        return entry

    def entries(self) -> list[Entry]:
        page: Any = self._table.scan(ConsistentRead=True)
        rows = list(page["Items"])
        while "LastEvaluatedKey" in page:
            page = self._table.scan(ConsistentRead=True, ExclusiveStartKey=page["LastEvaluatedKey"])
            rows += page["Items"]
        return [_from_row(row) for row in rows]


def _to_row(entry: Entry) -> dict[str, Any]:
    return {
        "key": entry.key,
        "kind": entry.kind,
        "order_id": entry.order_id,
        "cents": int(entry.amount / CENT),
        "text": entry.text,
        "approved_by": entry.approved_by,
    }


def _from_row(row: Any) -> Entry:
    return Entry(
        key=row["key"],
        kind=row["kind"],
        order_id=row["order_id"],
        amount=int(row["cents"]) * CENT,
        text=row["text"],
        approved_by=row["approved_by"],
    )
