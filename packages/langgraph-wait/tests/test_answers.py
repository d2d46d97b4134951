"""An answer reaches the call that it names, in every shape of graph, and no other."""

import random
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from lg_host import APPROVE, REJECT, Host, Router, answer_to
from lg_shapes import OWN_TASKS, SHAPES, TIMINGS, Desk, Item, Saver, build, input_of, results_of

ITEMS: list[Item] = [("o-1", "10.00"), ("o-2", "20.50"), ("o-3", "30")]


@pytest.mark.parametrize("shape", SHAPES)
def test_an_approval_runs_the_body_with_what_was_asked(
    shape: str, mode: str, saver: Saver, host: Host
) -> None:
    desk = Desk(is_async=mode == "async")
    graph = build(shape, desk, saver)
    [asked] = host.start(graph, input_of(shape, ITEMS[:1]))
    assert asked.question == {"function": "refund", "args": {"order_id": "o-1", "amount": "10.00"}}
    assert desk.bodies == []
    result = host.send(graph, answer_to(asked, APPROVE))
    assert results_of(shape, result) == ["refunded 10.00 of o-1"]
    assert [(body.order_id, body.amount) for body in desk.bodies] == [("o-1", Decimal("10.00"))]
    assert host.publish(result) == []


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.requirement("ANSWERS-IN-DISPLAY-ORDER", "TOOLNODE-ONE-OF-N", "APPROVAL-BOUND-TO-NAME")
def test_answers_in_reverse_order_reach_their_own_calls(
    shape: str, mode: str, saver: Saver, host: Host
) -> None:
    desk = Desk(is_async=mode == "async")
    graph = build(shape, desk, saver)
    answers = {"o-1": APPROVE, "o-2": REJECT, "o-3": {"action": "approve", "args": {"amount": "3.01"}}}
    opened = host.start(graph, input_of(shape, ITEMS))
    asked: set[str] = set()
    result: Any = None
    while opened:
        asked |= {envelope.dedupe_key for envelope in opened}
        question: Any = opened[-1].question
        result = host.send(graph, answer_to(opened[-1], answers[question["args"]["order_id"]]))
        opened = host.publish(result)
    assert len(asked) == 3
    assert desk.paid == [("o-1", Decimal("10.00")), ("o-3", Decimal("3.01"))]
    assert ["o-2" in text or "reject" in text for text in results_of(shape, result)].count(True) == 1


@pytest.mark.parametrize("identical", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.requirement("GATHERED-QUESTIONS", "TOOLNODE-ONE-OF-N")
def test_whatever_the_timing_each_call_gets_its_own_answer(
    shape: str, identical: bool, mode: str, run: Callable[..., object]
) -> None:
    for seed in range(TIMINGS):
        chance = random.Random(seed)
        desk = Desk(is_async=mode == "async", yields=partial(chance.randrange, 40))
        graph = build(shape, desk, InMemorySaver())
        host = Host(mode == "async", run)
        items = [("o-1", "10")] * 3 if identical else ITEMS
        opened = host.start(graph, input_of(shape, items))
        amounts = iter(("1", "2", "3"))
        given: dict[str, Decimal] = {}
        while opened:
            envelope = chance.choice(opened)
            assert envelope.dedupe_key not in given
            amount = next(amounts)
            given[envelope.dedupe_key] = Decimal(amount)
            edited = {"action": "approve", "args": {"amount": amount}}
            opened = host.publish(host.send(graph, answer_to(envelope, edited)))
        assert len(given) == 3
        assert sorted(amount for _, amount in desk.paid) == [Decimal(1), Decimal(2), Decimal(3)]
        if shape in OWN_TASKS:
            assert len(desk.bodies) == 3


@pytest.mark.parametrize("shape", OWN_TASKS)
def test_each_approved_body_runs_once_where_each_call_has_its_own_task(
    shape: str, mode: str, saver: Saver, host: Host
) -> None:
    desk = Desk(is_async=mode == "async")
    graph = build(shape, desk, saver)
    opened = host.start(graph, input_of(shape, ITEMS))
    while opened:
        opened = host.publish(host.send(graph, answer_to(opened[0], APPROVE)))
    assert Counter(body.order_id for body in desk.bodies) == {"o-1": 1, "o-2": 1, "o-3": 1}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.requirement("BAD-ANSWER-POISONS-THREAD", "EDIT-TYPES-NOT-RESTORED", "UNKNOWN-EDIT-KEY")
def test_an_edit_that_does_not_fit_is_asked_again_and_the_next_one_counts(
    shape: str, mode: str, saver: Saver, host: Host
) -> None:
    desk = Desk(is_async=mode == "async")
    graph = build(shape, desk, saver)
    [asked] = host.start(graph, input_of(shape, ITEMS[:1]))
    seen = [asked]
    for args in ({"amount": "abc"}, {"amuont": "5"}, ["amount"]):
        opened = host.publish(host.send(graph, answer_to(seen[-1], {"action": "approve", "args": args})))
        seen += opened
    assert [envelope.attempt for envelope in seen] == [1, 2, 3, 4]
    assert [envelope.error and envelope.error.partition(":")[0] for envelope in seen] == [
        None,
        "amount",
        "amuont",
        "args must be an object of argument names and values",
    ]
    assert len({envelope.fingerprint for envelope in seen}) == 1
    assert len({envelope.dedupe_key for envelope in seen}) == 4
    assert desk.bodies == []
    result = host.send(graph, answer_to(seen[-1], {"action": "approve", "args": {"amount": "5.00"}}))
    assert results_of(shape, result) == ["refunded 5.00 of o-1"]
    assert [body.amount for body in desk.bodies] == [Decimal("5.00")]


@pytest.mark.parametrize("shape", ["tool_node", "agent"])
@pytest.mark.requirement("BAD-ANSWER-POISONS-THREAD")
def test_among_parallel_tools_one_is_asked_again_and_the_others_are_not(
    shape: str, mode: str, saver: Saver, host: Host
) -> None:
    desk = Desk(is_async=mode == "async")
    router = Router.of(host, build(shape, desk, saver))
    router.start(input_of(shape, ITEMS))
    attempts: Counter[str] = Counter()
    while opened := router.open():
        envelope = opened[0]
        assert envelope.fingerprint is not None
        attempts[envelope.fingerprint] = envelope.attempt
        bad = {"action": "approve", "args": {"nonsense": 1}}
        outcome = router.handle(answer_to(envelope, bad if envelope.attempt == 1 else APPROVE))
        assert outcome.kind == "resumed"
    assert sorted(attempts.values()) == [2, 2, 2]
    assert desk.paid == [("o-1", Decimal("10.00")), ("o-2", Decimal("20.50")), ("o-3", Decimal(30))]


@pytest.mark.parametrize("answer", [False, 0, 0.0, "", [], {}, None, "approve", {"action": "APPROVE"}])
@pytest.mark.parametrize("shape", ["node", "agent", "entrypoint"])
@pytest.mark.requirement("FALSY-ANSWERS", "NULL-ANSWER", "REJECT-RUNS-ANYWAY")
def test_whatever_is_no_approval_is_returned_in_the_bodys_place(
    shape: str, answer: object, mode: str, saver: Saver, host: Host
) -> None:
    desk = Desk(is_async=mode == "async")
    graph = build(shape, desk, saver)
    [asked] = host.start(graph, input_of(shape, ITEMS[:1]))
    result = host.send(graph, answer_to(asked, answer))
    assert host.publish(result) == []
    assert desk.bodies == []
    if shape != "agent":
        [returned] = results_of(shape, result)
        assert returned == (answer if isinstance(answer, str) else repr(answer))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.requirement("SERVERLESS-MEMORY-SAVER")
def test_another_process_takes_the_answer(
    shape: str, mode: str, reopen: Callable[[], Saver], host: Host
) -> None:
    asked = host.start(build(shape, Desk(is_async=mode == "async"), reopen()), input_of(shape, ITEMS))
    desk = Desk(is_async=mode == "async")
    graph = build(shape, desk, reopen())
    for envelope in Router.of(host, graph).pending():
        assert envelope.id in {one.question_id for one in asked}
    opened = asked
    while opened:
        opened = host.publish(host.send(graph, answer_to(opened[0], APPROVE)))
    assert desk.paid == [("o-1", Decimal("10.00")), ("o-2", Decimal("20.50")), ("o-3", Decimal(30))]
