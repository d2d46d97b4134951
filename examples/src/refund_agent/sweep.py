"""What a clock has to do: send defaults at the deadline, send what was claimed and not sent, reconcile.

Run it every minute or so, from any scheduler; several at once do no harm.
"""

from collections import defaultdict
from dataclasses import dataclass, field

from agent_wait import Clock, SystemClock, WaitPublisher

from refund_agent.approvals import Approvals, NotOpen, Row, timestamp

UNSENT_SECONDS = 60
"""How long an answer may be claimed and not sent before the sweep sends it."""

RECONCILE_SECONDS = 15 * 60
"""How old a row is before it is compared with the thread: longer than a message is tried."""


@dataclass(slots=True)
class Swept:
    """What one sweep did."""

    defaulted: list[Row] = field(default_factory=list[Row])
    sent: list[Row] = field(default_factory=list[Row])
    closed: list[Row] = field(default_factory=list[Row])
    reopened: list[Row] = field(default_factory=list[Row])


def sweep(approvals: Approvals, publisher: WaitPublisher, *, clock: Clock | None = None) -> Swept:
    """Do all of it once.

    Args:
        approvals: The questions.
        publisher: Whose threads they belong to; only looked at.
        clock: What says that a deadline has passed.
    """
    now = (clock or SystemClock()).now()
    swept = Swept()
    for row in approvals.with_status("open", until=timestamp(now)):
        if row.get("default") is not None and _send_default(approvals, row):
            swept.defaulted.append(row)
    for row in approvals.with_status("answered"):
        if "sent_at" not in row and row["answered_at"] <= timestamp(now - UNSENT_SECONDS):
            approvals.send(row)
            swept.sent.append(row)
    _reconcile(approvals, publisher, timestamp(now - RECONCILE_SECONDS), swept)
    return swept


def _send_default(approvals: Approvals, row: Row) -> bool:
    try:
        approvals.answer(row, row["default"], answered_by="deadline", past_deadline=True)
    except NotOpen:
        return False
    return True


def _reconcile(approvals: Approvals, publisher: WaitPublisher, before: str, swept: Swept) -> None:
    old: defaultdict[str, list[Row]] = defaultdict(list)
    for row in (*approvals.with_status("open"), *approvals.with_status("answered")):
        if row.get("sent_at", row["asked_at"]) <= before and (row["status"] == "open" or "sent_at" in row):
            old[row["thread_id"]].append(row)
    for thread_id, rows in old.items():
        asked = {
            (question.id, question.fingerprint, question.attempt) for question in publisher.pending(thread_id)
        }
        for row in rows:
            pending = (row["question_id"], row.get("fingerprint"), row["attempt"]) in asked
            if not pending and approvals.close(row):
                swept.closed.append(row)
            if pending and row["status"] == "answered" and approvals.reopen(row):
                swept.reopened.append(row)
