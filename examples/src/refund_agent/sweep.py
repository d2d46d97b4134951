"""What a clock has to do: send defaults at the deadline, send what was claimed and not sent, reconcile.

Run it every minute or so, from any scheduler; several at once do no harm. As a Lambda its handler is
`refund_agent.sweep.handler`.
"""

import functools
import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from agent_wait import Clock, Question, SystemClock

from refund_agent import host
from refund_agent.approvals import Approval, Approvals, NotOpen, timestamp
from refund_agent.clock import WindableClock
from refund_agent.resources import Resources

UNSENT_SECONDS = 60
"""How long an answer may be claimed and not sent before the sweep sends it."""

SETTLED_SECONDS = 15 * 60
"""How old a row is before it is compared with its thread: longer than a message is tried for."""


class Threads(Protocol):
    """What the sweep needs of a `WaitPublisher`: a look at what a thread is parked on."""

    def pending(self, thread_id: str) -> list[Question]: ...


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep did."""

    defaulted: list[Approval] = field(default_factory=list[Approval])
    sent: list[Approval] = field(default_factory=list[Approval])
    closed: list[Approval] = field(default_factory=list[Approval])
    reopened: list[Approval] = field(default_factory=list[Approval])


def sweep(approvals: Approvals, threads: Threads, *, clock: Clock | None = None) -> Swept:
    """Do all of it once.

    Args:
        approvals: The questions.
        threads: The publisher of the agent that asked.
        clock: What says that a deadline has passed.
    """
    now = (clock or SystemClock()).now()
    swept = Swept()
    for approval in approvals.with_status("open", until=timestamp(now)):
        if approval.question.default is not None and _send_default(approvals, approval):
            swept.defaulted.append(approval)
    for approval in approvals.with_status("answered"):
        if approval.sent_at is None and _before(approval.answered_at, now - UNSENT_SECONDS):
            approvals.send(approval)
            swept.sent.append(approval)
    _reconcile(approvals, threads, now - SETTLED_SECONDS, swept)
    return swept


def _send_default(approvals: Approvals, approval: Approval) -> bool:
    question = approval.question
    try:
        approvals.answer(question, question.default, answered_by="deadline", past_deadline=True)
    except NotOpen:
        return False
    return True


def _reconcile(approvals: Approvals, threads: Threads, until: float, swept: Swept) -> None:
    """What is closed there is closed here; what is open there and was given up on the way is open again."""
    settled: defaultdict[str, list[Approval]] = defaultdict(list)
    for approval in (*approvals.with_status("open"), *approvals.with_status("answered")):
        since = approval.question.asked_at if approval.status == "open" else approval.sent_at
        if _before(since, until):
            settled[approval.question.thread_id].append(approval)
    for thread_id, approvals_of_it in settled.items():
        asked = {(each.id, each.fingerprint, each.attempt) for each in threads.pending(thread_id)}
        for approval in approvals_of_it:
            question = approval.question
            pending = (question.question_id, question.fingerprint, question.attempt) in asked
            if not pending and approvals.close(approval):
                swept.closed.append(approval)
            if pending and approval.status == "answered" and approvals.reopen(approval):
                swept.reopened.append(approval)


def _before(moment: str | None, seconds: float) -> bool:
    return moment is not None and moment <= timestamp(seconds)


def handler(event: Mapping[str, Any], context: Any) -> dict[str, int]:
    """Sweep once, as a Lambda on a schedule.

    The scenarios say how far their clock is ahead, where the function's own environment allows it: whoever
    may invoke the sweep must not be able to end every question before its time.
    """
    del context
    resources, threads = deployed()
    ahead = float(event.get("clock_ahead_seconds", 0)) if os.environ.get("SCENARIO_CLOCK") else 0.0
    clock = WindableClock(ahead)
    swept = sweep(Approvals(resources, clock=clock), threads, clock=clock)
    return {each.name: len(getattr(swept, each.name)) for each in fields(swept)}


@functools.cache
def deployed() -> tuple[Resources, Threads]:
    resources = Resources.from_environment()
    return resources, host.build_publisher(resources)
