"""Many schedules, on every graph, saver and way of driving, and what they found."""

import argparse
import logging
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import NamedTuple

from faults.graphs import ITEMS
from faults.machine import Found, Tally, search
from faults.others import OTHERS

PROMISES = {
    1: "no question is lost",
    2: "no question has two identities",
    3: "no body runs without an approval of exactly that",
    4: "an effect happens once",
    5: "nothing is acknowledged too early, and nothing wedges",
    6: "nothing is swallowed",
    7: "what is closed is announced as closed",
}


class Share(NamedTuple):
    """A part of the schedules: those of one graph, one saver and one way of driving."""

    kind: str
    saver: str
    is_async: bool
    schedules: int
    seed: int


def shares(schedules: int, seed: int) -> Iterator[Share]:
    """Memory twice as often as SQLite, sync as often as async; agents, which are slow, seldom.

    Agents of other frameworks keep their threads in stores of their own.
    """
    weights = [
        (kind, saver, is_async, (1 if kind == "agent" else 4) * (2 if saver == "memory" else 1))
        for kind in ITEMS
        for saver in ("memory", "sqlite")
        for is_async in (False, True)
    ]
    weights += [(kind, "memory", is_async, 2) for kind in OTHERS for is_async in (False, True)]
    total = sum(weight for *_, weight in weights)
    given = 0.0
    for place, (kind, saver, is_async, weight) in enumerate(weights):
        before, given = round(given), given + schedules * weight / total
        if round(given) > before:
            yield Share(kind, saver, is_async, round(given) - before, seed * 1000 + place)


def play(share: Share) -> tuple[Share, Tally, Found | None]:
    """All schedules of a share."""
    # LangGraph's own threads tell what they died of.
    logging.getLogger("concurrent.futures").setLevel(logging.CRITICAL)
    logging.getLogger("langgraph_wait").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    tally = Tally()
    found = search(
        share.kind,
        schedules=share.schedules,
        seed_of=share.seed,
        saver=share.saver,
        is_async=share.is_async,
        tally=tally,
    )
    return share, tally, found


def say(line: str) -> None:
    """Tell whoever runs it."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Run it; returns the exit status."""
    parser = argparse.ArgumentParser(prog="faults", description="Random schedules of faults.")
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 1_000_000)
    arguments = parser.parse_args()
    started, total, violations = time.monotonic(), Tally(), 0
    say(f"seed {arguments.seed}: {arguments.schedules} schedules")
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        for share, tally, found in pool.map(play, shares(arguments.schedules, arguments.seed)):
            total.schedules += tally.schedules
            total.faults += tally.faults
            total.checked += tally.checked
            if found is not None:
                violations += 1
                say(f"\n{told(share, found)}")
    seconds = time.monotonic() - started
    say(f"\n{total.schedules} schedules in {seconds:.0f} s, {total.schedules / seconds:.1f} a second")
    say("\nfaults injected")
    for fault, count in sorted(total.faults.items()):
        say(f"  {count:7} {fault}")
    say("\npromises checked")
    for promise, what in PROMISES.items():
        say(f"  {total.checked[promise]:7} PROMISE-{promise}: {what}")
    say(f"\n{violations} violations (seed {arguments.seed})")
    return 1 if violations else 0


def told(share: Share, found: Found) -> str:
    """A violation, as it can be played again."""
    driven = "async" if share.is_async else "sync"
    return "\n".join(
        [
            f"{found.violation}",
            f"  graph {share.kind}, {share.saver}, {driven}, seed {share.seed}",
            *(f"    {step!r}," for step in found.schedule),
            *(f"    # {line}" for line in found.trace),
        ]
    )
