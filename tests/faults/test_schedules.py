"""The promises under random schedules; `make faults` plays many more."""

import logging

import pytest

from faults import campaign, hosts
from faults.graphs import ITEMS
from faults.machine import Tally, search
from faults.others import OTHERS

SCHEDULES = 200
SEED = 20261130


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    # Threads of a process that has died tell so, and every graph here has tasks that run again.
    caplog.set_level(logging.CRITICAL, logger="concurrent.futures")
    caplog.set_level(logging.ERROR, logger="langgraph_wait")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("share", list(campaign.shares(SCHEDULES, SEED)), ids=str)
@pytest.mark.requirement(*(f"PROMISE-{number}" for number in campaign.PROMISES))
def test_the_promises_hold_whatever_happens(share: campaign.Share) -> None:
    _, tally, found = campaign.play(share)
    assert found is None, campaign.told(share, found)
    assert tally.schedules >= share.schedules
    assert set(tally.checked) == set(campaign.PROMISES)


def test_the_shares_are_all_of_the_schedules_on_every_graph_saver_and_way_of_driving() -> None:
    shares = list(campaign.shares(2000, 1))
    assert sum(share.schedules for share in shares) == 2000
    assert {(share.kind, share.saver, share.is_async) for share in shares} == {
        (kind, saver, is_async)
        for kind in ITEMS
        for saver in ("memory", "sqlite")
        for is_async in (False, True)
    } | {(kind, "memory", is_async) for kind in OTHERS for is_async in (False, True)}
    assert len({share.seed for share in shares}) == len(shares)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("host", list(hosts.BROKEN), ids=lambda host: host.__name__)
def test_a_host_that_makes_a_well_known_mistake_is_caught_within_200_schedules(
    host: type[hosts.Host],
) -> None:
    found = search("after", schedules=SCHEDULES, seed_of=1, host=host, shrink=False)
    assert found is not None, "the world cannot tell it from a host that keeps its promises"
    assert found.violation.promise in hosts.BROKEN[host], found.violation


def test_there_are_ten_of_them_and_each_promise_is_broken_by_one() -> None:
    assert len(hosts.BROKEN) == 10
    assert set().union(*hosts.BROKEN.values()) == set(campaign.PROMISES)


@pytest.mark.timeout(300)
def test_what_is_found_is_shrunk_and_can_be_played_again() -> None:
    share = campaign.Share("after", "memory", False, SCHEDULES, 1)
    found = search("after", schedules=SCHEDULES, seed_of=1, host=hosts.SwallowsFailures, tally=Tally())
    assert found is not None
    assert len(found.schedule) <= 3
    assert "Start(thread='t-1')" in campaign.told(share, found)
