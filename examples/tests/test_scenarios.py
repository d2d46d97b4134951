"""The demo is the test from end to end."""

import inspect
import io
import re
import subprocess
import sys
from collections import Counter
from decimal import Decimal

import pytest
from local_aws import LocalAws
from refund_agent import graph, scenarios
from refund_agent.report import Report
from refund_agent.world import World


def run(letter: str) -> tuple[int, str]:
    report = Report(out := io.StringIO())
    with LocalAws() as local_aws, local_aws.in_environment():
        return scenarios.run([letter], report), out.getvalue()


@pytest.mark.parametrize("letter", scenarios.SCENARIOS)
def test_the_scenario_holds(letter: str) -> None:
    status, told = run(letter)
    assert status == 0, told


def test_no_two_scenarios_judge_one_order_since_the_demo_runs_them_on_one_ledger() -> None:
    judged = re.compile(r'seen\.(?:refunds|notices|entries)\([^)]*?"(o-[0-9]+)"')
    sources = [inspect.getsource(scenario) for scenario in scenarios.SCENARIOS.values()]
    times = Counter(order for source in sources for order in set(judged.findall(source)))
    assert len(times) >= len(sources) - 1
    assert set(times.values()) == {1}


def test_a_scenario_that_does_not_hold_fails_and_says_what_was_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "FREE_LIMIT", Decimal(100))
    status, told = run("A")
    assert status == 1
    assert (
        "FAILED 120.00 was refunded, once\n             expected  ['120.00']\n             seen      []"
        in told
    )


def test_a_scenario_that_breaks_off_still_shows_what_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_off(world: World) -> None:
        world.check("something", expected=1, seen=1)
        raise ConnectionAbortedError("broken off")

    monkeypatch.setitem(scenarios.SCENARIOS, "A", break_off)
    report = Report(out := io.StringIO())
    with (
        LocalAws() as local_aws,
        local_aws.in_environment(),
        pytest.raises(ConnectionAbortedError, match="broken off"),
    ):
        scenarios.run(["A"], report)
    assert "1 of 1 checks hold" in out.getvalue()


def test_the_command_runs_the_scenarios_it_is_given_and_exits_with_their_status() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "refund_agent.scenarios", "a"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "120.00 refunded on order o-1001, nobody was asked" in done.stdout
    assert "What was checked" in done.stdout


def test_the_command_names_the_scenarios_there_are() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "refund_agent.scenarios", "q"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "there are A, B, C, D, E, F, G, H, Z" in done.stderr
