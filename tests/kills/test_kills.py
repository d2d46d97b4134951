"""Real processes, killed with SIGKILL; whatever the next delivery finds, it makes good.

`KILLS=500 make test-services ARGS="-k many_kills"` kills more of them.
"""

import itertools
import json
import multiprocessing
import os
import random
import signal
from collections.abc import Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest
from local_aws import LocalAws
from refund_agent import deaths, scenarios
from refund_agent.payments import SqliteLedger
from refund_agent.report import Report
from refund_agent.resources import Resources
from refund_agent.world import World

from kills import on_sqlite

SEED = 20261130
FEW, MANY = 5, 30
REQUEST = {"order_id": "o-1002", "amount": "41000.00", "reason": "never delivered"}
START = {"thread_id": "refund-1", "start_id": "request-1", "input": REQUEST}
DELIVERIES = 12


@pytest.fixture(scope="module")
def processes() -> ForkServerContext:
    """Each process is new; what it would import is there already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["refund_agent.host", "langgraph.checkpoint.sqlite"])
    return context


class Transport:
    """Delivers a message until it is acknowledged; the first so many deliveries kill their process."""

    def __init__(self, context: ForkServerContext, folder: Path, chance: random.Random) -> None:
        self._context, self._folder, self._chance = context, folder, chance
        self.killed: list[str] = []

    def deliver(self, message: dict[str, Any], deaths: int) -> None:
        acknowledged = self._folder / "acknowledged"
        acknowledged.unlink(missing_ok=True)
        for delivery in range(DELIVERIES):
            at = self._chance.choice(on_sqlite.POINTS) if delivery < deaths else ""
            nth = self._chance.randrange(3)
            process = self._context.Process(
                target=on_sqlite.handle, args=(self._folder, json.dumps(message), at, nth)
            )
            process.start()
            process.join()
            if process.exitcode == -signal.SIGKILL:
                self.killed.append(at)
            else:
                assert process.exitcode == 0
            if acknowledged.exists():
                return
        pytest.fail("never acknowledged")


def refund_under_fire(context: ForkServerContext, folder: Path, chance: random.Random) -> list[str]:
    """One refund, from the request to the notification; returns where its processes were killed."""
    transport = Transport(context, folder, chance)
    transport.deliver(START, deaths=3)
    asked = on_sqlite.announced(folder, "topic", "wait.created")
    assert len(asked) == 1, "one question"
    assert on_sqlite.announced(folder, "table", "wait.created").keys() == asked.keys()
    [question] = asked.values()
    transport.deliver({**question["reply_with"], "answer": {"action": "approve"}}, deaths=4)
    entries = SqliteLedger(folder / "ledger.db").entries()
    assert sorted(entry.kind for entry in entries) == ["notice", "refund"], "one refund, one notification"
    assert [str(entry.amount) for entry in entries if entry.kind == "refund"] == ["41000.00"]
    for where in ("topic", "table"):
        assert on_sqlite.announced(folder, where, "wait.created").keys() == asked.keys(), "still one question"
        assert len(on_sqlite.announced(folder, where, "wait.resumed")) == 1, "closed, once"
    return transport.killed


def kill(context: ForkServerContext, folder: Path, kills: int) -> list[str]:
    chance, killed = random.Random(SEED), list[str]()
    for number in itertools.count():
        if len(killed) >= kills:
            return killed
        place = folder / str(number)
        place.mkdir()
        killed += refund_under_fire(context, place, chance)
    raise AssertionError


PROMISED = pytest.mark.requirement(*(f"PROMISE-{number}" for number in (1, 2, 4, 5, 7)))


@PROMISED
@pytest.mark.timeout(300)
def test_a_refund_survives_a_few_kills(processes: ForkServerContext, tmp_path: Path) -> None:
    assert len(kill(processes, tmp_path, FEW)) >= FEW


@PROMISED
@pytest.mark.services
@pytest.mark.timeout(3600)
def test_refunds_survive_many_kills_at_every_point(processes: ForkServerContext, tmp_path: Path) -> None:
    kills = int(os.environ.get("KILLS", MANY))
    killed = kill(processes, tmp_path, kills)
    assert len(killed) >= kills
    if kills >= 100:
        assert set(killed) == set(on_sqlite.POINTS)


OF_A_REQUEST = (
    "while its run is stored",
    "between its run and the announcement",
    "between the announcers",
    "before it has deleted the message",
)
OF_AN_ANSWER = (
    "while its run is stored",
    "between the refund and the checkpoint",
    "between the answered node and the next",
    "between its run and the announcement",
)
"""A queue gives a message up after five deliveries: four deaths each."""


@pytest.fixture(scope="module")
def local_aws() -> Iterator[LocalAws]:
    with LocalAws() as aws, aws.in_environment():
        yield aws


@PROMISED
@pytest.mark.services
@pytest.mark.timeout(600)
def test_a_refund_on_aws_survives_a_kill_at_each_point_of_the_request_and_of_the_answer(
    local_aws: LocalAws,
) -> None:
    world = World(Resources.create("kills"), Report())
    world.request("refund-k", "o-1002", "41000.00", "never delivered")
    for at in OF_A_REQUEST:
        assert world.be_killed(at) == scenarios.SIGKILLED, at
    assert scenarios.kinds(world.work()) == ["republished"]
    assert world.answer("refund-k", scenarios.APPROVE, by="mia")
    for at in OF_AN_ANSWER:
        assert world.be_killed(at) == scenarios.SIGKILLED, at
    assert scenarios.kinds(world.work()) == ["already_answered"]
    assert world.seen.refunds("o-1002") == ["41000.00"]
    assert len(world.seen.notices("o-1002")) == 1
    assert len(world.seen.questions("refund-k")) == len(world.seen.closings("refund-k")) == 1
    assert world.seen.statuses("refund-k") == ["closed"]
    assert world.seen.dead_letters() == []
    assert {*OF_A_REQUEST, *OF_AN_ANSWER} == set(deaths.POINTS)
