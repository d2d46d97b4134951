"""Waits in nodes and entrypoints: beside bare interrupts, over retries and flips, on raw resumes."""

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable
from decimal import Decimal
from operator import add
from typing import Annotated, Any, TypedDict

import pytest
from agent_wait import WaitError, WaitPolicy, current_wait, make_wait
from langgraph.cache.memory import InMemoryCache
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint, task
from langgraph.graph import START, StateGraph
from langgraph.types import CachePolicy, Command, RetryPolicy, interrupt
from langgraph_wait import LangGraphFramework, ask, resume_command, wait
from lg_host import APPROVE, REJECT, THREAD, Host, Router, answer_to, config_of
from lg_shapes import Graph, Saver


class Log(TypedDict, total=False):
    got: Annotated[list[Any], add]


def one_node(work: Callable[..., Any], saver: Saver | None, *, cache: Any = None, **options: Any) -> Graph:
    builder: Any = StateGraph(Log)
    builder.add_node("work", work, **options)
    builder.add_edge(START, "work")
    return builder.compile(checkpointer=saver, cache=cache)


@wait
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


BEGIN: dict[str, list[Any]] = {"got": []}


def test_ask_gives_the_answer_verbatim(mode: str, saver: Saver, host: Host) -> None:
    policy = WaitPolicy(tags={"team": "finance"})
    graph = one_node(lambda _: {"got": [ask({"which": "one"}, policy), ask("and then?")]}, saver)
    [first] = host.start(graph, BEGIN)
    assert (first.question, first.allowed_actions, first.tags) == (
        {"which": "one"},
        ("resume",),
        {"team": "finance"},
    )
    assert first.source == {"function": None, "framework": "langgraph"}
    [second] = host.publish(host.send(graph, answer_to(first, {"action": "approve", "args": 1})))
    assert host.send(graph, answer_to(second, 0))["got"] == [{"action": "approve", "args": 1}, 0]


@pytest.mark.requirement("SAME-ID-FOR-NEXT-QUESTION")
def test_two_questions_of_one_node_have_two_ids(mode: str, saver: Saver, host: Host) -> None:
    graph = one_node(lambda _: {"got": [ask("q1"), ask("q2")]}, saver)
    [first] = host.start(graph, BEGIN)
    [second] = host.publish(host.send(graph, answer_to(first, 1)))
    assert first.question_id != second.question_id
    assert first.dedupe_key != second.dedupe_key


def test_three_equal_calls_in_one_node_are_three_questions(mode: str, saver: Saver, host: Host) -> None:
    graph = one_node(lambda _: {"got": [pay(5), pay(5), pay(5)]}, saver)
    opened = host.start(graph, BEGIN)
    fingerprints: list[str | None] = []
    result: Any = None
    answers = iter([REJECT, APPROVE, {"action": "approve", "args": {"amount": 3}}])
    while opened:
        fingerprints.append(opened[0].fingerprint)
        result = host.send(graph, answer_to(opened[0], next(answers)))
        opened = host.publish(result)
    assert len(set(fingerprints)) == 3
    assert result["got"] == [REJECT, "paid 5", "paid 3"]


def test_waits_and_bare_interrupts_of_one_node_each_get_their_own(
    mode: str, saver: Saver, host: Host
) -> None:
    def work(_: Log) -> Log:
        return {"got": [interrupt("a?"), pay(1), interrupt("b?"), ask("c?"), pay(2), interrupt("d?")]}

    router = Router.of(host, one_node(work, saver))
    outcome = router.start(BEGIN)
    answers: dict[str, Any] = {"a?": "A", "b?": "B", "c?": "C", "d?": "D"}
    asked: list[Any] = []
    while router.pending():
        envelope = host.asked
        asked.append(envelope.question)
        bad = {"action": "approve", "args": {"amount": "many"}}
        good = {"action": "approve"} if envelope.attempt > 2 else bad
        answer = answers[envelope.question] if isinstance(envelope.question, str) else good
        outcome = router.handle(answer_to(envelope, answer))
        assert outcome.kind == "resumed"
    assert outcome.result["got"] == ["A", "paid 1", "B", "C", "paid 2", "D"]
    assert len(asked) == 4 + 3 + 3


@pytest.mark.requirement("WHEN-FLIPS-ON-REPLAY")
def test_an_answer_that_was_given_is_honoured_when_the_predicate_flips(
    mode: str, saver: Saver, host: Host
) -> None:
    needed, ran = [True], list[int]()

    @wait(when=lambda: needed[0])
    def guarded(amount: int) -> str:
        ran.append(amount)
        return "ran"

    graph = one_node(lambda _: {"got": [guarded(1), pay(2)]}, saver)
    [asked] = host.start(graph, BEGIN)
    needed[0] = False
    [other] = host.publish(host.send(graph, answer_to(asked, REJECT)))
    assert other.question == {"function": "pay", "args": {"amount": 2}}
    assert host.send(graph, answer_to(other, APPROVE))["got"] == [REJECT, "paid 2"]
    assert ran == []


@pytest.mark.requirement("WHEN-FLIPS-ON-REPLAY")
def test_a_question_that_is_no_longer_asked_gives_its_answer_to_no_other(
    mode: str, saver: Saver, host: Host
) -> None:
    asks = [True]

    @wait
    def first(amount: int) -> str:
        return "never"

    def work(_: Log) -> Log:
        return {"got": [first(1) if asks[0] else "skipped", pay(2)]}

    graph = one_node(work, saver)
    [asked] = host.start(graph, BEGIN)
    asks[0] = False
    [other] = host.publish(host.send(graph, answer_to(asked, APPROVE)))
    assert other.question == {"function": "pay", "args": {"amount": 2}}
    assert host.send(graph, answer_to(other, APPROVE))["got"] == ["skipped", "paid 2"]


@pytest.mark.requirement("GATHERED-QUESTIONS")
def test_coroutines_that_are_awaited_together_each_get_their_own_answer(run: Callable[[Any], Any]) -> None:
    @wait
    async def charge(amount: int, to: str) -> str:
        return f"{to} {amount}"

    async def work(_: Log) -> Log:
        return {"got": list(await asyncio.gather(charge(1, "a"), charge(1, "b"), charge(1, "b")))}

    host = Host(is_async=True, run=run)
    graph = one_node(work, InMemorySaver())
    opened = host.start(graph, BEGIN)
    answers = iter(range(10, 13))
    result: Any = None
    while opened:
        edit = {"action": "approve", "args": {"amount": next(answers)}}
        result = host.send(graph, answer_to(opened[-1], edit))
        opened = host.publish(result)
    assert sorted(result["got"]) == ["a 10", "b 11", "b 12"]


def test_a_body_that_is_tried_again_by_its_node_keeps_its_approval(
    mode: str, saver: Saver, host: Host
) -> None:
    failures, keys = [RuntimeError("down")], list[str]()

    @wait
    def flaky(amount: int) -> str:
        current = current_wait()
        assert current is not None
        keys.append(current.idempotency_key)
        if failures:
            raise failures.pop()
        return f"paid {amount}"

    def work(_: Log) -> Log:
        try:
            return {"got": [flaky(1)]}
        except RuntimeError:
            return {"got": [flaky(1)]}

    graph = one_node(work, saver)
    [asked] = host.start(graph, BEGIN)
    assert host.send(graph, answer_to(asked, APPROVE))["got"] == ["paid 1"]
    assert keys == [keys[0]] * 2


def test_a_node_with_a_retry_policy_keeps_the_approvals_of_its_first_try(
    mode: str, saver: Saver, host: Host
) -> None:
    failures = [ConnectionError("down")]

    def work(_: Log) -> Log:
        done = [pay(1), pay(1)]
        if failures:
            raise failures.pop()
        return {"got": done}

    policy = RetryPolicy(initial_interval=0, jitter=False, max_attempts=2)
    graph = one_node(work, saver, retry_policy=policy)
    [first] = host.start(graph, BEGIN)
    [second] = host.publish(host.send(graph, answer_to(first, APPROVE)))
    assert host.send(graph, answer_to(second, APPROVE))["got"] == ["paid 1", "paid 1"]
    assert failures == []


def test_a_wait_within_an_approved_body_is_a_question_of_its_own(mode: str, saver: Saver, host: Host) -> None:
    @wait
    def outer(amount: int) -> str:
        return f"outer {pay(amount)}"

    graph = one_node(lambda _: {"got": [outer(1), outer(1)]}, saver)
    opened = host.start(graph, BEGIN)
    functions: list[Any] = []
    result: Any = None
    while opened:
        assert opened[0].source is not None
        functions.append(opened[0].source["function"])
        result = host.send(graph, answer_to(opened[0], APPROVE))
        opened = host.publish(result)
    assert functions == ["outer", "pay", "outer", "pay"]
    assert result["got"] == ["outer paid 1", "outer paid 1"]


def test_a_park_within_an_approved_body_gives_its_approval_to_no_equal_call(
    run: Callable[[Any], Any],
) -> None:
    ran: list[int] = []

    @wait
    async def outer(amount: int) -> str:
        ran.append(amount)
        return f"outer {pay(amount)}"

    async def work(_: Log) -> Log:
        return {"got": list(await asyncio.gather(outer(1), outer(1)))}

    host = Host(is_async=True, run=run)
    graph = one_node(work, InMemorySaver())
    [first] = host.start(graph, BEGIN)
    [inner] = host.publish(host.send(graph, answer_to(first, APPROVE)))
    assert (inner.question, ran) == ({"function": "pay", "args": {"amount": 1}}, [1])
    opened = [inner]
    asked: list[Any] = []
    while opened:
        assert opened[0].source is not None
        asked.append(opened[0].source["function"])
        opened = host.publish(host.send(graph, answer_to(opened[0], APPROVE)))
    assert sorted(asked) == ["outer", "pay", "pay"]


# What a host does by itself, without `resume_command`.


def test_a_raw_answer_by_the_questions_id_serves_the_call_that_asked(
    mode: str, saver: Saver, host: Host
) -> None:
    graph = one_node(lambda _: {"got": [pay(1), ask("then?"), pay(2)]}, saver)
    [first] = host.start(graph, BEGIN)
    [second] = host.publish(host.invoke(graph, Command(resume={first.question_id: APPROVE})))
    [third] = host.publish(host.invoke(graph, Command(resume={second.question_id: {}})))
    result = host.invoke(graph, Command(resume={third.question_id: REJECT}))
    assert result["got"] == ["paid 1", {}, REJECT]


@pytest.mark.requirement("BAD-ANSWER-POISONS-THREAD")
def test_a_raw_answer_that_cannot_be_used_is_asked_again(mode: str, saver: Saver, host: Host) -> None:
    graph = one_node(lambda _: {"got": [pay(1)]}, saver)
    host.start(graph, BEGIN)
    [again] = host.publish(host.invoke(graph, Command(resume={"action": "approve", "args": {"x": 1}})))
    assert (again.attempt, again.error) == (2, "x: is no argument that was shown")
    [third] = host.publish(
        host.invoke(graph, Command(resume={again.question_id: {"action": "approve", "args": {"amount": []}}}))
    )
    assert third.attempt == 3
    assert host.invoke(graph, Command(resume=APPROVE))["got"] == ["paid 1"]


def test_a_raw_answer_keeps_naming_the_call_that_took_it(mode: str, saver: Saver, host: Host) -> None:
    skip = [False]

    def work(_: Log) -> Log:
        return {"got": ["skipped" if skip[0] else pay(1), pay(2)]}

    graph = one_node(work, saver)
    [first] = host.start(graph, BEGIN)
    [second] = host.publish(host.invoke(graph, Command(resume={first.question_id: APPROVE})))
    skip[0] = True
    [still] = host.publish(host.invoke(graph, None))
    assert still.dedupe_key == second.dedupe_key


def test_a_raw_answer_to_a_bare_interrupt_is_no_approval_of_a_wait_beside_it(
    mode: str, saver: Saver, host: Host
) -> None:
    swap = [False]

    def work(_: Log) -> Log:
        if swap[0]:
            return {"got": [pay(2), interrupt("bare?")]}
        return {"got": [interrupt("bare?"), pay(2)]}

    graph = one_node(work, saver)
    [bare] = host.start(graph, BEGIN)
    swap[0] = True
    [asked] = host.publish(host.invoke(graph, Command(resume={bare.question_id: APPROVE})))
    assert asked.question == {"function": "pay", "args": {"amount": 2}}


@pytest.mark.requirement("STALE-Q1-APPROVES-Q2")
def test_a_value_without_an_id_serves_the_question_it_was_given_for_and_not_the_next(
    mode: str, saver: Saver, host: Host
) -> None:
    graph = one_node(lambda _: {"got": [pay(1), pay(2)]}, saver)
    host.start(graph, BEGIN)
    [second] = host.publish(host.invoke(graph, Command(resume=APPROVE)))
    [still] = host.publish(host.invoke(graph, None))
    assert still.dedupe_key == second.dedupe_key
    assert host.invoke(graph, Command(resume=APPROVE))["got"] == ["paid 1", "paid 2"]


@pytest.mark.requirement("STALE-Q1-APPROVES-Q2")
def test_the_same_raw_answer_sent_twice_serves_one_question(mode: str, saver: Saver, host: Host) -> None:
    graph = one_node(lambda _: {"got": [pay(1), pay(2)]}, saver)
    [first] = host.start(graph, BEGIN)
    host.invoke(graph, Command(resume={first.question_id: APPROVE}))
    [second] = host.publish(host.invoke(graph, Command(resume={first.question_id: APPROVE})))
    assert second.question == {"function": "pay", "args": {"amount": 2}}


@pytest.mark.parametrize("bad", ["nope", "", "AB" * 16, 7, None])
def test_a_message_whose_id_langgraph_would_take_for_the_answer_is_refused(bad: Any) -> None:
    with pytest.raises(ValueError, match="32 hex digits"):
        resume_command({"thread_id": THREAD, "question_id": bad, "answer": APPROVE})


def test_a_message_without_an_answer_is_refused() -> None:
    with pytest.raises(ValueError, match="no answer"):
        resume_command({"thread_id": THREAD, "question_id": "ab" * 16})


# Where a wait cannot work.


def test_a_wait_outside_of_a_run_says_what_it_needs() -> None:
    with pytest.raises(WaitError, match="needs a LangGraph run"):
        pay(1)
    with pytest.raises(WaitError, match="needs a LangGraph run"):
        ask("anyone?")


def test_a_call_that_needs_no_answer_runs_outside_of_a_run() -> None:
    @wait(when=lambda: False)
    def small(amount: int) -> str:
        return f"paid {amount}"

    assert small(1) == "paid 1"


def test_without_a_thread_there_is_no_key() -> None:
    with pytest.raises(WaitError, match="thread_id"):
        LangGraphFramework().current_thread_id({})


@pytest.mark.requirement("NO-CHECKPOINTER")
def test_without_a_checkpointer_a_wait_says_what_to_do(mode: str, host: Host) -> None:
    with pytest.raises(WaitError, match="compile the graph with a checkpointer"):
        host.invoke(one_node(lambda _: {"got": [pay(1)]}, None), BEGIN)


@pytest.mark.requirement("CACHED-APPROVAL")
def test_a_cached_node_may_not_wait(mode: str, saver: Saver, host: Host) -> None:
    graph = one_node(lambda _: {"got": [pay(1)]}, saver, cache=InMemoryCache(), cache_policy=CachePolicy())
    with pytest.raises(WaitError, match="cache_policy"):
        host.invoke(graph, BEGIN)


@pytest.mark.requirement("CACHED-APPROVAL")
def test_a_cached_task_may_not_wait(saver: Saver, host: Host) -> None:
    @task(cache_policy=CachePolicy())
    def pays() -> Any:
        return pay(1)

    @entrypoint(checkpointer=saver, cache=InMemoryCache())
    def work(_: Any) -> Any:
        return pays().result()

    with pytest.raises(WaitError, match="cache_policy"):
        work.invoke({}, config_of()) if not host.is_async else host.run(work.ainvoke({}, config_of()))


@pytest.mark.parametrize("with_context", [False, True])
def test_a_thread_of_ones_own_needs_the_context_of_the_run(with_context: bool) -> None:
    raised: list[BaseException] = []

    def in_thread() -> None:
        try:
            pay(1)
        except BaseException as error:  # noqa: BLE001  # handed over to the node
            raised.append(error)

    def work(_: Log) -> Log:
        target = contextvars.copy_context().run
        args: tuple[Any, ...] = (in_thread,)
        thread = threading.Thread(
            target=target if with_context else in_thread, args=args if with_context else ()
        )
        thread.start()
        thread.join()
        raise raised[0]

    graph = one_node(work, InMemorySaver())
    if with_context:
        assert graph.invoke(BEGIN, config_of())["__interrupt__"]
    else:
        with pytest.raises(WaitError, match="copy_context"):
            graph.invoke(BEGIN, config_of())


@pytest.mark.requirement("EXCEPT-EXCEPTION-EATS-IT")
def test_a_swallowed_park_publishes_nothing_and_runs_nothing(mode: str, saver: Saver, host: Host) -> None:
    def work(_: Log) -> Log:
        try:
            return {"got": [pay(1)]}
        except Exception:  # noqa: BLE001  # what many a node does
            return {"got": ["swallowed"]}

    graph = one_node(work, saver)
    assert host.start(graph, BEGIN) == []
    assert host.invoke(graph, None)["got"] == ["swallowed"]


# What stays the same, and what is told.


@pytest.mark.requirement("CUSTOM-TYPES-IN-PARKED-VALUE")
def test_what_is_parked_is_plain_json(saver: Saver, host: Host) -> None:
    @wait(WaitPolicy(timeout="P3D", default={"action": "reject"}))
    def buy(price: Decimal, items: tuple[str, ...], seen: set[int]) -> None: ...

    graph = one_node(lambda _: {"got": [buy(Decimal("1.50"), ("a", "b"), {2, 1})]}, saver)
    [asked] = host.start(graph, BEGIN)
    assert asked.question == {
        "function": "buy",
        "args": {"price": "1.50", "items": ["a", "b"], "seen": [1, 2]},
    }
    snapshot = host.run(graph.aget_state(config_of())) if host.is_async else graph.get_state(config_of())
    assert _is_plain(snapshot.interrupts[0].value)


def _is_plain(value: Any) -> bool:
    if type(value) is dict:
        return all(type(key) is str and _is_plain(item) for key, item in value.items())  # pyright: ignore[reportUnknownVariableType]
    if type(value) is list:
        return all(map(_is_plain, value))
    return value is None or type(value) in (str, int, float, bool)


def test_the_key_of_an_effect_differs_by_call_and_by_thread_and_stays_over_runs(
    mode: str, saver: Saver, host: Host
) -> None:
    keys: list[tuple[str, str]] = []

    @wait
    def keyed(amount: int) -> str:
        current = current_wait()
        assert current is not None
        keys.append((f"{current.thread_id} {amount}", current.idempotency_key))
        return ""

    graph = one_node(lambda _: {"got": [keyed(1), keyed(2)]}, saver)
    for thread_id in ("t-1", "t-2"):
        opened = host.start(graph, BEGIN, thread_id)
        while opened:
            result = host.send(graph, answer_to(opened[0], APPROVE))
            opened = host.publish(result, thread_id)
    assert len(keys) == 6
    assert len(set(keys)) == 4
    assert len({key for _, key in keys}) == 4


def test_a_call_that_was_let_through_has_a_key_too(mode: str, saver: Saver, host: Host) -> None:
    keys: list[str] = []

    @wait(when=lambda amount: amount > 100)
    def small(amount: int) -> str:
        current = current_wait()
        assert current is not None
        keys.append(current.idempotency_key)
        return ""

    graph = one_node(lambda _: {"got": [small(1), small(1), pay(2)]}, saver)
    [asked] = host.start(graph, BEGIN)
    host.send(graph, answer_to(asked, APPROVE))
    assert keys[:2] == keys[2:]
    assert keys[0] != keys[1]


def test_a_body_that_runs_again_for_a_later_question_is_warned_of_once(
    mode: str, saver: Saver, host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    @make_wait(LangGraphFramework())
    def again(amount: int) -> str:
        return f"paid {amount}"

    graph = one_node(lambda _: {"got": [again(1), again(2), again(3)]}, saver)
    with caplog.at_level(logging.WARNING, "langgraph_wait"):
        opened = host.start(graph, BEGIN)
        while opened:
            opened = host.publish(host.send(graph, answer_to(opened[0], APPROVE)))
    warnings = [record.getMessage() for record in caplog.records if record.name == "langgraph_wait"]
    assert len(warnings) == 1
    assert warnings[0].startswith("again: ")


def test_a_single_wait_is_never_warned_of(
    mode: str, saver: Saver, host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    @make_wait(LangGraphFramework())
    def single(amount: int) -> str:
        return f"paid {amount}"

    graph = one_node(lambda _: {"got": [single(1)]}, saver)
    [asked] = host.start(graph, BEGIN)
    [again] = host.publish(host.send(graph, answer_to(asked, {"action": "approve", "args": 0})))
    host.send(graph, answer_to(again, APPROVE))
    assert [record for record in caplog.records if record.name == "langgraph_wait"] == []


def test_a_decision_parameter_gets_the_answer_and_a_default_when_nothing_was_asked(
    mode: str, saver: Saver, host: Host
) -> None:
    @wait(when=lambda amount: amount > 1)
    def decide(amount: int, decision: Any = "none asked") -> Any:
        return [amount, decision]

    graph = one_node(lambda _: {"got": [decide(1), decide(2)]}, saver)
    [asked] = host.start(graph, BEGIN)
    assert asked.question == {"function": "decide", "args": {"amount": 2}}
    assert host.send(graph, answer_to(asked, False))["got"] == [[1, "none asked"], [2, False]]
