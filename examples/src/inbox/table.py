"""The approvals table, as the page reads it: by the page, and a thread at a time."""

import base64
import binascii
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from agent_wait import Clock
from agent_wait_aws import row_key
from boto3.dynamodb.conditions import Attr, ConditionBase, Key
from refund_agent import aws
from refund_agent.approvals import Approval, approval_of, deadline, timestamp

log = logging.getLogger(__name__)

Tab = Literal["open", "late", "done"]
State = Literal["open", "late", "answered", "closed"]

PAGE = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some rows of a list, and the cursor of the next page if there is one."""

    approvals: list[Approval]
    after: str | None


class Table:
    """Questions of an approvals table.

    Args:
        name: The table's.
        clock: What says that a deadline has passed.
    """

    def __init__(self, name: str, *, clock: Clock) -> None:
        self._table = aws.table(name)
        self._clock = clock
        self._unreadable: set[str] = set()

    def state(self, approval: Approval) -> State:
        """What one can do with it: an open question past its deadline is not open to people any more."""
        if approval.status == "open":
            return "late" if self._clock.now() >= deadline(approval.question) else "open"
        return "answered" if approval.status == "answered" else "closed"

    def page(self, tab: Tab, *, after: str | None, wanted: Callable[[Approval], bool] | None = None) -> Page:
        """A page of a list; without `wanted` it is one query, however many rows there are.

        Args:
            tab: `open`, nearest deadline first, those without one last; `late`, open past their deadline,
                latest first; `done`, answered or closed, latest deadline first.
            after: The cursor of the page before.
            wanted: Picks rows.

        Raises:
            ValueError: `after` is no cursor.
        """
        now = timestamp(self._clock.now())
        if tab == "open":
            # Digits sort before `never`.
            return self._page(Key("status").eq("open") & Key("expires_at").gt(now), after, wanted)
        if tab == "late":
            late = Key("status").eq("open") & Key("expires_at").lte(now)
            return self._page(late, after, wanted, latest_first=True)
        done = self._page(Key("status").eq("closed"), after, wanted, latest_first=True)
        # What the agent has not taken up yet is little, and is shown above what it has.
        on_the_way = [] if after else self._page(Key("status").eq("answered"), None, wanted).approvals
        return Page(approvals=on_the_way + done.approvals, after=done.after)

    def of_thread(self, thread_id: str) -> list[Approval]:
        """Every question the thread has asked, in order."""
        condition = Key("pk").eq(row_key(thread_id, "")["pk"])
        rows = self._rows(
            KeyConditionExpression=condition, ConsistentRead=True, FilterExpression=self._kept()
        )
        approvals = [approval_of(row) for row in rows]
        return sorted(approvals, key=lambda each: (each.question.asked_at, each.question.attempt))

    def _page(
        self,
        condition: ConditionBase,
        after: str | None,
        wanted: Callable[[Approval], bool] | None,
        *,
        latest_first: bool = False,
    ) -> Page:
        query: dict[str, Any] = {
            "IndexName": "by_status",
            "KeyConditionExpression": condition,
            "ScanIndexForward": not latest_first,
            "FilterExpression": self._kept(),
        }
        if wanted is None:
            query["Limit"] = PAGE + 1
        if after:
            query["ExclusiveStartKey"] = _read_cursor(after)
        found: list[tuple[dict[str, Any], Approval]] = []
        for row in self._rows(**query):
            approval = self._read(row)
            if approval and (wanted is None or wanted(approval)):
                found.append((row, approval))
            if len(found) > PAGE:
                break
        more = len(found) > PAGE
        shown = found[:PAGE]
        return Page(
            approvals=[approval for _, approval in shown], after=_cursor(shown[-1][0]) if more else None
        )

    def _rows(self, **query: Any) -> Any:
        while True:
            reply: Any = self._table.query(**query)
            yield from reply["Items"]
            if "LastEvaluatedKey" not in reply:
                return
            query["ExclusiveStartKey"] = reply["LastEvaluatedKey"]

    def _read(self, row: dict[str, Any]) -> Approval | None:
        """None: it is not of this library's making; it hides no other, and is told of once."""
        try:
            return approval_of(row)
        except (KeyError, ValueError) as error:
            if (key := f"{row['pk']} {row['sk']}") not in self._unreadable:
                self._unreadable.add(key)
                log.warning("the row %s cannot be read: %s", key, type(error).__name__)
            return None

    def _kept(self) -> ConditionBase:
        """DynamoDB deletes a row up to days after its `ttl`; until then it is there and is not."""
        return Attr("ttl").not_exists() | Attr("ttl").gt(int(self._clock.now()))


_CURSOR = ("pk", "sk", "status", "expires_at")


def _cursor(row: dict[str, Any]) -> str:
    key = json.dumps([row[name] for name in _CURSOR]).encode()
    return base64.urlsafe_b64encode(key).decode()


def _read_cursor(text: str) -> dict[str, str]:
    try:
        key: Any = json.loads(base64.urlsafe_b64decode(text))
        pk, sk, status, expires_at = key
        return dict(zip(_CURSOR, map(str, (pk, sk, status, expires_at)), strict=True))
    except (binascii.Error, TypeError, ValueError) as error:
        raise ValueError("that is no page of the list") from error
