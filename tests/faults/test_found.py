"""What the schedules have found, shrunk; each failed before it was mended."""

import pytest

from faults.steps import Answer, DeadlinesPass, Deliver, Start, Step
from faults.world import run

FOUND: dict[str, tuple[str, tuple[Step, ...]]] = {
    # The refund was paid, the answer came again too late, and the customer was told that there was no refund.
    # An answer is late by when it was sent.
    "an answer that a process has died of is not late when it comes again": (
        "after",
        (
            Start("t-1"),
            Deliver("t-1"),
            Answer("t-1", 0, "approve"),
            Deliver("t-1", ("before writes", 0)),
            DeadlinesPass(),
        ),
    ),
    # Pydantic AI keeps answers until all are there. The last one, come again, closed itself and no other.
    "what was kept is closed by the answer that completed it, also when that comes again": (
        "pydantic_ai",
        (
            Start("t-1"),
            Deliver("t-1"),
            Answer("t-1", 0, "approve"),
            Deliver("t-1"),
            Answer("t-1", 1, "approve"),
            Deliver("t-1"),
            Answer("t-1", 2, "approve"),
            Deliver("t-1", ("after put", 0)),
        ),
    ),
}


@pytest.mark.parametrize("name", list(FOUND))
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("saver", ["memory", "sqlite"])
@pytest.mark.requirement("PROMISE-4", "PROMISE-7")
def test_what_was_found_stays_mended(name: str, saver: str, is_async: bool) -> None:
    kind, steps = FOUND[name]
    run(kind, *steps, saver=saver, is_async=is_async)
