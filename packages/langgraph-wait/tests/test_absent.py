"""With LangGraph's private names missing, nothing runs on another call's answer."""

import random
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_wait import _private as private
from lg_host import APPROVE, REJECT, Host, Router, answer_to
from lg_shapes import OWN_TASKS, SHAPES, Desk, build, input_of


@pytest.fixture
def _missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private, "KEYED", False)


@pytest.mark.usefixtures("_missing")
@pytest.mark.parametrize("shape", ["node", *OWN_TASKS])
def test_one_waiting_call_a_task_works_by_langgraphs_own_order(
    shape: str, mode: str, run: Callable[[Any], Any]
) -> None:
    desk, host = Desk(is_async=mode == "async"), Host(mode == "async", run)
    router = Router.of(host, build(shape, desk, InMemorySaver()))
    router.start(input_of(shape, [("o-1", "10")]))
    router.handle(answer_to(host.asked, {"action": "approve", "args": {"amount": "x"}}))
    assert (host.asked.attempt, host.asked.error is not None) == (2, True)
    router.handle(answer_to(host.asked, {"action": "approve", "args": {"amount": "3"}}))
    assert desk.paid == [("o-1", Decimal(3))]
    assert router.pending() == []


@pytest.mark.usefixtures("_missing")
def test_several_waits_in_a_row_work_by_langgraphs_own_order(mode: str, run: Callable[[Any], Any]) -> None:
    desk, host = Desk(is_async=mode == "async"), Host(mode == "async", run)
    router = Router.of(host, build("node", desk, InMemorySaver()))
    router.start(input_of("node", [("o-1", "1"), ("o-2", "2"), ("o-3", "3")]))
    for answer in (APPROVE, REJECT, APPROVE):
        router.handle(answer_to(host.asked, answer))
    assert desk.paid == [("o-1", Decimal(1)), ("o-3", Decimal(3))]


@pytest.mark.usefixtures("_missing")
def test_among_racing_tools_no_body_runs_on_an_answer_to_another(
    mode: str, run: Callable[[Any], Any]
) -> None:
    for seed in range(10):
        chance = random.Random(seed)
        desk = Desk(is_async=mode == "async", yields=partial(chance.randrange, 40))
        host = Host(mode == "async", run)
        graph = build("tool_node", desk, InMemorySaver())
        opened = host.start(graph, input_of("tool_node", [("o-1", "1"), ("o-2", "2"), ("o-3", "3")]))
        approved: set[str] = set()
        for number in range(12):
            if not opened:
                break
            question: Any = opened[0].question
            answer = APPROVE if number % 2 else REJECT
            if answer is APPROVE:
                approved.add(question["args"]["order_id"])
            opened = host.publish(host.send(graph, answer_to(opened[0], answer)))
        assert {body.order_id for body in desk.bodies} <= approved


@pytest.mark.parametrize("name", ["RESUME", "CONFIG_KEY_SEND"])
def test_a_name_that_means_something_else_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert private._are_known()
    monkeypatch.setattr(f"langgraph._internal._constants.{name}", "renamed")
    assert not private._are_known()


def test_a_name_that_is_gone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("langgraph.types._interrupt_id")
    assert not private._are_known()


MISSING = """
import {module} as module
del module.{name}
from langgraph_wait import _private, wait
assert _private.KEYED is False
assert _private.scratchpad_in({{}}) is None
"""


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("langgraph._internal._constants", "CONFIG_KEY_SCRATCHPAD"),
        ("langgraph._internal._constants", "RESUME"),
        ("langgraph.types", "_interrupt_id"),
    ],
)
def test_the_package_imports_without_a_private_name(module: str, name: str) -> None:
    # What LangGraph itself needs of it is imported first.
    code = "import langgraph.graph, langgraph.prebuilt, langgraph.pregel\n" + MISSING.format(
        module=module, name=name
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=50)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_scratchpad_of_another_form_is_left_alone(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private, "_SCRATCHPAD", "__pregel_renamed")
    desk, host = Desk(), Host(is_async=False, run=lambda _: None)
    graph = build(shape, desk, InMemorySaver())
    [asked] = host.start(graph, input_of(shape, [("o-1", "10")]))
    host.send(graph, answer_to(asked, APPROVE))
    assert desk.paid == [("o-1", Decimal(10))]
