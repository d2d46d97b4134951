"""Questions as rows of a DynamoDB table."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Protocol

from agent_wait import Clock, SystemClock, Transition, WaitEnvelope

from agent_wait_aws._announce import AwsAnnounce
from agent_wait_aws._batches import batches
from agent_wait_aws._clients import LazyClient, Session, region_of_arn
from agent_wait_aws._faults import as_announce_error, code_of, too_large
from agent_wait_aws._lanes import side_by_side
from agent_wait_aws._row import Attributes, item_of, item_size, key_of

TRANSACTION = 100
"""Items of a TransactWriteItems. Service model 2012-08-10, TransactWriteItemList."""
TRANSACTION_BYTES = 4 * 1024 * 1024
"""Bytes of its items. Service model 2012-08-10, TransactWriteItems."""
ITEM_BYTES = 400 * 1024
"""Bytes of an item, names included. Developer Guide, "Constraints in Amazon DynamoDB"."""

_PRESENT = "ConditionalCheckFailed"
_TRANSACTIONS = 2
_SINGLES = 8


class DynamoDbClient(Protocol):
    """The calls that are made of a boto3 `dynamodb` client."""

    def put_item(self, *args: Any, **kwargs: Any) -> Any:
        """Write one item."""
        ...

    def update_item(self, *args: Any, **kwargs: Any) -> Any:
        """Change one item."""
        ...

    def transact_write_items(self, *args: Any, **kwargs: Any) -> Any:
        """Write up to a hundred."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Write:
    index: int
    size: int
    key: tuple[str, str]
    kind: Literal["Put", "Update"]
    request: dict[str, Any]


class DynamoDbAnnounce(AwsAnnounce[DynamoDbClient]):
    """Keep each question as a row of an approvals table: the question *is* the row.

    `created` writes the row once, with `status` `open`. Publishing again never re-opens, overwrites or
    extends a row that someone has answered or closed; a question that is asked again is a row of its own.
    `resumed` sets `status` to `closed` and keeps who answered; where it overtakes `created`, the row is
    closed from the start. In between, whoever answers sets `status` to `answered`, with `answer` (as JSON
    text), `answered_by` and `answered_at`, on the condition that it is `open`.

    | attribute | type | |
    |---|---|---|
    | `pk`, `sk` | S | `THREAD#<thread_id>`, `WAIT#<ask_id>`: `row_key` |
    | `status` | S | `open`, `answered` or `closed` |
    | `expires_at` | S | RFC 3339, or `never`; sort key of the index `by_status` |
    | `question`, `answer_schema`, `default` | S | JSON text, exact to the digit |
    | `source`, `reply_to`, `reply_with` | S | likewise |
    | `tags`, `correlation` | M of S | |
    | `allowed_actions` | L of S | |
    | `attempt` | N | |
    | the envelope's other fields | S | |
    | `ttl` | N | seconds since the epoch; only once closed, and only with `ttl_seconds` |

    What is null is left out. `envelope_of(row)` reads it all back. One row is a PutItem or UpdateItem, more
    are TransactWriteItems, which cost twice the write units and a hundredth of the time.

    Safe from several threads. Needs `dynamodb:PutItem` and `dynamodb:UpdateItem` on the table.

    Args:
        table_name: The table, by name or ARN, with the string keys `pk` and `sk`.
        ttl_seconds: How long a closed row is kept, from its closing or its deadline, whichever is later; None
            is for ever. Takes effect where the table's time to live is on for `ttl`.
        client: A boto3 `dynamodb` client; None makes one when first needed, with boto3's standard retries.
        region_name: None is the table's, if an ARN names it, else the session's.
        session: A boto3 session to make the client from; None is boto3's default one, or one that all
            announcers share.
        clock: For `ttl`; None is the machine's.
        only: The transitions it wants, such as `("created",)`; None for all.

    Raises:
        ValueError: An empty name, a `ttl_seconds` below 1, or an `only` that names no transition.
    """

    def __init__(
        self,
        table_name: str,
        *,
        ttl_seconds: int | None = None,
        client: DynamoDbClient | None = None,
        region_name: str | None = None,
        session: Session | None = None,
        clock: Clock | None = None,
        only: Iterable[Transition] | None = None,
    ) -> None:
        if not table_name:
            raise ValueError("table_name is empty")
        if ttl_seconds is not None and ttl_seconds < 1:
            raise ValueError(f"ttl_seconds is at least 1, not {ttl_seconds}")
        lazy = LazyClient(
            "dynamodb", client=client, region_name=region_name or region_of_arn(table_name), session=session
        )
        super().__init__(f"dynamodb:{table_name.rpartition('/')[2]}", lazy, only)
        self._table_name = table_name
        self._ttl_seconds = ttl_seconds
        self._clock = clock or SystemClock()

    def deliver_many(
        self, envelopes: Sequence[WaitEnvelope], transition: Transition
    ) -> Sequence[Exception | None]:
        """Write several rows; one entry an envelope, None for written or already there."""
        make = self._open if transition == "created" else self._close
        writes, failures = self._prepare(envelopes, make)
        # The same row twice in one transaction refuses all of it: the first stands for the others.
        firsts: dict[tuple[str, str], _Write] = {}
        for write in writes:
            firsts.setdefault(write.key, write)
        failures |= self._write_all(list(firsts.values()))
        for write in writes:
            if (error := failures.get(firsts[write.key].index)) is not None:
                failures[write.index] = error
        return [failures.get(index) for index in range(len(envelopes))]

    def _open(self, index: int, envelope: WaitEnvelope) -> _Write:
        item = item_of(envelope) | {"status": {"S": "open"}}
        request = {
            "TableName": self._table_name,
            "Item": item,
            "ConditionExpression": "attribute_not_exists(#pk)",
            "ExpressionAttributeNames": {"#pk": "pk"},
        }
        return self._fitting(index, item, "Put", request)

    def _close(self, index: int, envelope: WaitEnvelope) -> _Write:
        """An update that also writes a whole row, closed, if there is none for a late `created` to find."""
        item = item_of(envelope)
        if self._ttl_seconds is not None:
            item["ttl"] = {"N": str(self._keep_until(envelope, self._ttl_seconds))}
        key = key_of(envelope)
        names = [name for name in item if name not in key]
        settings = ["#status = :status", *(f"#{name} = if_not_exists(#{name}, :{name})" for name in names)]
        values: Attributes = {f":{name}": item[name] for name in names}
        request: dict[str, Any] = {
            "TableName": self._table_name,
            "Key": key,
            "UpdateExpression": f"SET {', '.join(settings)}",
            "ExpressionAttributeNames": {f"#{name}": name for name in ("status", *names)},
            "ExpressionAttributeValues": {":status": {"S": "closed"}, **values},
        }
        return self._fitting(index, item | {"status": {"S": "closed"}}, "Update", request)

    def _fitting(
        self, index: int, item: Attributes, kind: Literal["Put", "Update"], request: dict[str, Any]
    ) -> _Write:
        size = item_size(item)
        if size > ITEM_BYTES:
            raise too_large(size, ITEM_BYTES, self.name)
        key = (item["pk"]["S"], item["sk"]["S"])
        return _Write(index=index, size=size, key=key, kind=kind, request=request)

    def _keep_until(self, envelope: WaitEnvelope, ttl_seconds: int) -> int:
        latest = self._clock.now()
        if envelope.expires_at is not None:
            latest = max(latest, datetime.fromisoformat(envelope.expires_at).timestamp())
        return int(latest) + ttl_seconds

    def _write_all(self, writes: Sequence[_Write]) -> dict[int, Exception]:
        runs = list(batches(writes, most=TRANSACTION, limit=TRANSACTION_BYTES))
        return self._gather([lambda run=run: self._transact(run) for run in runs], _TRANSACTIONS)

    def _transact(self, writes: Sequence[_Write]) -> dict[int, Exception]:
        # Twice: what stood already is known after the first time. A third would be a race, or not about that.
        for _ in range(2):
            if len(writes) < 2:
                break
            try:
                self._client.transact_write_items(
                    TransactItems=[{write.kind: write.request} for write in writes]
                )
                return {}
            except Exception as raised:  # noqa: BLE001  # whatever it is, it is reported
                reasons = _reasons(raised, len(writes))
                error = as_announce_error(raised, self.name)
                if reasons is None and error.retryable:
                    return {write.index: error for write in writes}
                if not reasons or _PRESENT not in reasons:
                    break
                writes = [write for write, reason in zip(writes, reasons, strict=True) if reason != _PRESENT]
        return self._gather([lambda write=write: self._write_one(write) for write in writes], _SINGLES)

    def _write_one(self, write: _Write) -> dict[int, Exception]:
        call = self._client.put_item if write.kind == "Put" else self._client.update_item
        try:
            call(**write.request)
        except Exception as raised:  # noqa: BLE001  # whatever it is, it is reported
            if code_of(raised) != "ConditionalCheckFailedException":
                return {write.index: as_announce_error(raised, self.name)}
        return {}

    @staticmethod
    def _gather(jobs: Sequence[Callable[[], Mapping[int, Exception]]], workers: int) -> dict[int, Exception]:
        found: list[Mapping[int, Exception]] = []
        side_by_side([lambda job=job: found.append(job()) for job in jobs], workers)
        return {index: error for failures in found for index, error in failures.items()}


def _reasons(error: Exception, count: int) -> list[str] | None:
    """Why each item of a cancelled transaction was; empty if it does not say, None if none was cancelled."""
    if code_of(error) != "TransactionCanceledException":
        return None
    reasons = getattr(error, "response", {}).get("CancellationReasons", ())
    return [str(reason.get("Code")) for reason in reasons] if len(reasons) == count else []
