"""`LangGraphAdapter` under `WaitPublisher.handle`: what a thread is, and what a message does to it."""

import random
import threading
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, TypedDict

import pytest
from agent_wait import FakeClock, Question, QuestionClosed
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_config
from langgraph.errors import UnknownInterruptError
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.runtime import get_runtime
from langgraph.types import interrupt
from langgraph_wait import LangGraphAdapter, LangGraphFramework, ask, wait
from lg_host import APPROVE, REJECT, THREAD, Host, Router, answer_to
from lg_shapes import SHAPES, TIMINGS, Chat, Desk, Graph, Item, Saver, build, input_of

ONE: list[Item] = [("o-1", "10.00")]
THREE: list[Item] = [("o-1", "10.00"), ("o-2", "20.50"), ("o-3", "30")]


class Log(TypedDict, total=False):
    """A state that holds nothing of interest."""

    done: str


class Context(TypedDict):
    """A runtime context."""

    user: str


def one_node(work: Callable[[Log], Any], saver: Saver | None, **options: Any) -> Graph:
    builder: Any = StateGraph(Log)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    return builder.compile(checkpointer=saver, **options)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.requirement("RESOLVED-KEEPS-FIRING", "STREAM-AND-V2-SHAPES")
def test_the_state_lists_what_each_run_stopped_on(shape: str, mode: str, saver: Saver, host: Host) -> None:
    router = Router.of(host, build(shape, Desk(is_async=mode == "async"), saver))
    outcome = router.start(input_of(shape, THREE))
    steps = 0
    while router.pending():
        listed = {(question.id, question.attempt) for question in router.pending()}
        stopped = LangGraphFramework().interrupts_in(outcome.result)
        assert listed == {(one, Question.unpack(one, value).attempt) for one, value in stopped}
        bad = {"action": "approve", "args": {"nonsense": True}}
        envelope = router.open()[0]
        outcome = router.handle(answer_to(envelope, APPROVE if envelope.attempt > 1 else bad))
        assert outcome.kind == "resumed"
        steps += 1
    assert steps == 6
    assert Counter(host.announced.transitions) == {"created": 6, "resumed": 6}
    assert len({envelope.dedupe_key for envelope in host.announced.events}) == 12


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.requirement("REPUBLISH-BY-INVOKE-NONE", "START-WHILE-PARKED")
def test_a_start_on_a_parked_thread_runs_nothing(shape: str, mode: str, saver: Saver, host: Host) -> None:
    router = Router.of(host, build(shape, Desk(is_async=mode == "async"), saver))
    router.start(input_of(shape, ONE))
    first = host.asked
    again = router.start(input_of(shape, ONE))
    assert (again.kind, again.result, again.acknowledge) == ("republished", None, True)
    other = router.start(input_of(shape, ONE), start_id="start-2")
    assert (other.kind, other.result) == ("busy", None)
    assert [envelope.to_dict() | {"event_id": ""} for envelope in host.announced.events] == [
        first.to_dict() | {"event_id": ""}
    ] * 3


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.requirement("SEQUENTIAL-DOUBLE-ANSWER")
def test_a_message_that_comes_again_after_the_end_runs_nothing(
    shape: str, mode: str, saver: Saver, host: Host
) -> None:
    desk = Desk(is_async=mode == "async")
    router = Router.of(host, build(shape, desk, saver))
    router.start(input_of(shape, ONE))
    message = answer_to(host.asked, APPROVE)
    assert router.handle(message).kind == "resumed"
    assert router.handle(message).kind == "already_answered"
    assert router.handle({**message, "answer": REJECT}).kind == "already_answered"
    assert router.start(input_of(shape, ONE)).kind == "republished"
    assert len(desk.bodies) == 1
    assert host.announced.transitions == ["created", "resumed", "resumed", "resumed"]
    assert len({envelope.dedupe_key for envelope in host.announced.of("resumed")}) == 1


@pytest.mark.requirement("UNKNOWN-THREAD-STARTS-A-RUN")
def test_an_answer_to_an_unknown_thread_starts_nothing_and_leaves_nothing(
    mode: str, saver: Saver, host: Host
) -> None:
    desk = Desk(is_async=mode == "async")
    graph = build("node", desk, saver)
    router = Router.of(host, graph)
    outcome = router.handle({"thread_id": "nope", "question_id": "ab" * 16, "answer": APPROVE})
    assert (outcome.kind, outcome.result) == ("unknown_question", None)
    assert router.pending("nope") == []
    adapter = LangGraphAdapter(graph)
    state = host.run(adapter.astate("nope")) if host.is_async else adapter.state("nope")
    assert state.known is False
    assert desk.bodies == []
    assert host.announced.events == []


@pytest.mark.requirement("STALE-Q1-APPROVES-Q2")
def test_the_first_questions_answer_never_serves_the_second(mode: str, saver: Saver, host: Host) -> None:
    desk = Desk(is_async=mode == "async")
    router = Router.of(host, build("node", desk, saver))
    router.start(input_of("node", THREE[:2]))
    first = answer_to(host.asked, APPROVE)
    router.handle(first)
    [second] = router.pending()
    assert router.handle(first).kind == "already_answered"
    assert router.handle({**first, "question_id": second.id}).kind == "refused"
    assert router.handle({**first, "question_id": second.id, "ask_id": None}).kind == "refused"
    assert [question.id for question in router.pending()] == [second.id]
    assert [body.order_id for body in desk.bodies] == ["o-1"]


def test_an_answer_to_the_ask_before_is_not_taken_for_the_one_that_is_open(
    mode: str, saver: Saver, host: Host
) -> None:
    desk = Desk(is_async=mode == "async")
    router = Router.of(host, build("node", desk, saver))
    router.start(input_of("node", ONE))
    first = host.asked
    router.handle(answer_to(first, {"action": "approve", "args": {"amount": "x"}}))
    assert router.handle(answer_to(first, APPROVE)).kind == "already_answered"
    assert [question.attempt for question in router.pending()] == [2]
    assert desk.bodies == []


@pytest.mark.parametrize("reasked", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.requirement("CLAIM-THEN-CRASH")
def test_a_body_that_raised_runs_again_when_its_approval_comes_again(
    shape: str, reasked: bool, mode: str, saver: Saver, host: Host
) -> None:
    desk, router, message = _failed(shape, reasked, mode, saver, host)
    assert router.handle(message).kind == "continued"
    assert router.pending() == []
    assert [body.amount for body in desk.bodies] == [Decimal("10.00")] * 2
    assert len({body.key for body in desk.bodies}) == 1


@pytest.mark.parametrize("reasked", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.requirement("CLAIM-THEN-CRASH")
def test_a_body_that_raised_can_be_rejected_or_approved_anew(
    shape: str, reasked: bool, mode: str, saver: Saver, host: Host
) -> None:
    desk, router, message = _failed(shape, reasked, mode, saver, host)
    desk.fails = 1
    edited = {"action": "approve", "args": {"amount": "4"}}
    with pytest.raises(RuntimeError, match="payment service"):
        router.handle({**message, "answer": edited})
    assert router.handle({**message, "answer": REJECT}).kind == "resumed"
    assert router.pending() == []
    assert [body.amount for body in desk.bodies] == [Decimal("10.00"), Decimal(4)]


def _failed(
    shape: str, reasked: bool, mode: str, saver: Saver, host: Host
) -> tuple[Desk, Router, dict[str, Any]]:
    desk = Desk(is_async=mode == "async", fails=1)
    router = Router.of(host, build(shape, desk, saver))
    router.start(input_of(shape, ONE))
    if reasked:
        router.handle(answer_to(host.asked, {"action": "approve", "args": 1}))
    message = answer_to(host.asked, APPROVE)
    with pytest.raises(RuntimeError, match="payment service"):
        router.handle(message)
    [question] = router.pending()
    assert question.id == message["question_id"]
    return desk, router, message


@pytest.mark.parametrize("nested", [False, True])
def test_a_bare_interrupt_keeps_the_answer_that_it_took_before_its_node_raised(
    nested: bool, mode: str, saver: Saver, host: Host
) -> None:
    failures = [RuntimeError("between the two")]
    got: list[object] = []

    def work(_: Log) -> Log:
        got.append(interrupt("first?"))
        if failures:
            raise failures.pop()
        got.append(interrupt("second?"))
        return {}

    inner = one_node(work, None)
    graph = one_node(inner, saver) if nested else one_node(work, saver)  # pyright: ignore[reportArgumentType]
    router = Router.of(host, graph)
    router.start({"done": ""})
    message = answer_to(host.asked, "A")
    with pytest.raises(RuntimeError, match="between"):
        router.handle(message)
    assert router.handle({**message, "answer": "B"}).kind == "refused"
    assert router.handle(message).kind == "continued"
    [second] = router.pending()
    assert second.question == "second?"
    assert router.handle(message).kind == "already_answered"
    assert got == ["A", "A"]
    router.handle(answer_to(host.asked, "C"))
    assert got[-1] == "C"


def test_a_branch_that_died_is_taken_up_beside_one_that_is_parked(
    mode: str, saver: Saver, host: Host
) -> None:
    failures = [RuntimeError("died")]
    worked: list[str] = []

    def asks(_: Log) -> Log:
        ask("go on?")
        return {}

    def works(_: Log) -> Log:
        if failures:
            raise failures.pop()
        worked.append("done")
        return {}

    builder: Any = StateGraph(Log)
    builder.add_node("asks", asks)
    builder.add_node("works", works)
    builder.add_edge(START, "asks")
    builder.add_edge(START, "works")
    router = Router.of(host, builder.compile(checkpointer=saver))
    with pytest.raises(RuntimeError, match="died"):
        router.start({"done": ""})
    outcome = router.start({"done": ""})
    assert outcome.kind == "continued"
    assert worked == ["done"]
    assert len(router.pending()) == 1
    assert router.handle(answer_to(host.asked, "yes")).kind == "resumed"
    assert router.pending() == []


def test_beside_nodes_that_ask_a_tool_node_shows_a_question_until_it_is_answered(
    mode: str, run: Callable[[Any], Any]
) -> None:
    for seed in range(TIMINGS):
        chance = random.Random(seed)
        desk = Desk(is_async=mode == "async", yields=partial(chance.randrange, 40))
        builder: Any = StateGraph(Chat)
        builder.add_node("tools", ToolNode([tool(desk.refund_of())]))
        builder.add_edge(START, "tools")
        for name in ("left", "right"):
            builder.add_node(name, lambda _, name=name: ask(name) and {})
            builder.add_edge(START, name)
        host = Host(mode == "async", run)
        router = Router.of(host, builder.compile(checkpointer=InMemorySaver()))
        router.start(input_of("tool_node", THREE))
        answered: list[str] = []
        while opened := router.open():
            envelope = chance.choice(opened)
            answered.append(envelope.dedupe_key.removeprefix("wait.created:"))
            router.handle(answer_to(envelope, APPROVE))
        closed = [one.dedupe_key.removeprefix("wait.resumed:") for one in host.announced.of("resumed")]
        assert closed == answered
        assert len(answered) == 5
        assert desk.paid == [("o-1", Decimal("10.00")), ("o-2", Decimal("20.50")), ("o-3", Decimal(30))]


class Crash(BaseException):
    """The process dies here."""


class DyingSaver(InMemorySaver):
    """Dies at what `dies` says, and takes nothing from then on, until it is born again."""

    dies: Callable[[str], bool] | None = None
    dead: bool = False

    def put(self, *args: Any, **kwargs: Any) -> Any:
        self._live("checkpoint")
        return super().put(*args, **kwargs)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self._live(f"writes {list(writes)}")
        super().put_writes(config, writes, task_id, task_path)

    def _live(self, what: str) -> None:
        if self.dead or (self.dies is not None and self.dies(what)):
            self.dead = True
            raise Crash

    def born_again(self) -> None:
        self.dead, self.dies = False, None


@pytest.mark.requirement("NEXT-IS-EMPTY")
def test_a_thread_that_died_between_its_last_write_and_the_checkpoint_is_not_finished() -> None:
    saver = DyingSaver()
    desk = Desk()
    host = Host(is_async=False, run=lambda _: None)
    router = Router.of(host, build("node", desk, saver))
    router.start(input_of("node", ONE))
    saver.dies = lambda what: what == "checkpoint"
    message = answer_to(host.asked, APPROVE)
    with pytest.raises(Crash):
        router.handle(message)
    saver.born_again()
    state = LangGraphAdapter(build("node", desk, saver)).state(THREAD)
    assert (state.pending, state.unfinished, state.held) == ((), True, False)
    assert router.handle(message).kind == "continued"
    assert LangGraphAdapter(build("node", desk, saver)).state(THREAD).unfinished is False
    assert len(desk.bodies) == 1
    assert host.announced.transitions == ["created", "resumed"]


@pytest.mark.parametrize("where", ["interrupt_before", "interrupt_after"])
@pytest.mark.requirement("STATIC-BREAKPOINT-INVISIBLE")
def test_a_thread_at_a_static_breakpoint_never_goes_on_by_itself(
    where: str, mode: str, saver: Saver, host: Host
) -> None:
    ran: list[str] = []
    builder: Any = StateGraph(Log)
    builder.add_node("a", lambda _: ran.append("a") or {})
    builder.add_node("b", lambda _: ran.append("b") or {})
    builder.add_edge(START, "a")
    builder.add_edge("a", "b")
    stop = {where: ["b" if where == "interrupt_before" else "a"]}
    graph = builder.compile(checkpointer=saver, **stop)
    router = Router.of(host, graph)
    assert router.start({"done": ""}).kind == "started"
    assert host.announced.events == []
    assert router.start({"done": ""}).kind == "republished"
    assert router.start({"done": ""}, start_id=None).kind == "busy"
    assert router.start({"done": ""}, start_id="start-2").kind == "busy"
    message = {"thread_id": THREAD, "question_id": "ab" * 16, "answer": 1}
    assert router.handle(message).kind == "already_answered"
    assert ran == ["a"]
    host.invoke(graph, None)
    assert ran == ["a", "b"]
    assert router.start({"done": ""}, start_id="start-2").kind == "started"


def test_a_breakpoint_inside_a_subgraph_holds_the_thread_too(mode: str, saver: Saver, host: Host) -> None:
    ran: list[str] = []
    inner = one_node(lambda _: ran.append("inner") or {}, None, interrupt_before=["work"])
    router = Router.of(host, one_node(inner, saver))  # pyright: ignore[reportArgumentType]
    router.start({"done": ""})
    assert router.start({"done": ""}, start_id="start-2").kind == "busy"
    assert ran == []


def test_a_process_that_died_at_a_node_before_any_breakpoint_is_continued(saver: Saver, host: Host) -> None:
    failures = [RuntimeError("died")]
    ran: list[str] = []

    def first(_: Log) -> Log:
        if failures:
            raise failures.pop()
        ran.append("first")
        return {}

    builder: Any = StateGraph(Log)
    builder.add_node("first", first)
    builder.add_node("last", lambda _: ran.append("last") or {})
    builder.add_edge(START, "first")
    builder.add_edge("first", "last")
    router = Router.of(host, builder.compile(checkpointer=saver, interrupt_before=["last"]))
    with pytest.raises(RuntimeError, match="died"):
        router.start({"done": ""})
    assert router.start({"done": ""}).kind == "continued"
    assert ran == ["first"]


def test_where_a_breakpoint_is_set_a_step_that_failed_is_continued_all_the_same(
    mode: str, saver: Saver, host: Host
) -> None:
    failures = [RuntimeError("died")]
    ran: list[str] = []

    def work(_: Log) -> Log:
        if failures:
            raise failures.pop()
        ran.append("work")
        return {}

    router = Router.of(host, one_node(work, saver, interrupt_after=["work"]))
    with pytest.raises(RuntimeError, match="died"):
        router.start({"done": ""})
    assert router.start({"done": ""}).kind == "continued"
    assert ran == ["work"]


def test_where_a_breakpoint_is_set_a_step_that_died_half_way_is_continued_all_the_same() -> None:
    saver, ran = DyingSaver(), list[str]()
    saver.dies = lambda what: "'b'" in what
    builder: Any = StateGraph(Log)
    builder.add_node("a", lambda _: ran.append("a") or {})
    builder.add_node("b", lambda _: ran.append("b") or {"done": "b"})
    builder.add_edge(START, "a")
    builder.add_edge(START, "b")
    graph = builder.compile(checkpointer=saver, interrupt_after=["b"])
    router = Router.of(Host(is_async=False, run=lambda _: None), graph)
    with pytest.raises(Crash):
        router.start({"done": ""})
    saver.born_again()
    assert router.start({"done": ""}).kind == "continued"
    assert sorted(ran) == ["a", "b", "b"]


@pytest.mark.requirement("CONCURRENT-DOUBLE-APPROVE")
def test_two_answers_at_the_same_time_run_one_body() -> None:
    saver, desk = InMemorySaver(), Desk()
    host = Host(is_async=False, run=lambda _: None)
    graph = build("node", desk, saver)
    Router.of(host, graph).start(input_of("node", ONE))
    message = answer_to(host.asked, APPROVE)
    barrier = threading.Barrier(4)
    kinds: list[str] = []

    def answer(content: Any) -> None:
        router = Router.of(host, graph)
        barrier.wait()
        kinds.append(router.handle({**message, "answer": content}).kind)

    threads = [
        threading.Thread(target=answer, args=[content]) for content in (APPROVE, REJECT, APPROVE, REJECT)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(kinds) == {"resumed": 1, "already_answered": 3}
    assert len(desk.bodies) <= 1


def test_an_answer_that_another_process_was_faster_with_runs_nothing(
    mode: str, saver: Saver, host: Host, run: Callable[[Any], Any]
) -> None:
    desk = Desk(is_async=mode == "async")
    graph = build("node", desk, saver)
    adapter = LangGraphAdapter(graph)
    [asked] = host.start(graph, input_of("node", ONE))
    message = answer_to(asked, APPROVE)
    value = adapter.resume_value(message, Question(asked.question_id, None, fingerprint=asked.fingerprint))
    host.send(graph, message)
    config = adapter.config_for(THREAD)
    with pytest.raises(QuestionClosed):
        run(adapter.ainvoke(value, config)) if mode == "async" else adapter.invoke(value, config)
    assert len(desk.bodies) == 1


def test_an_error_of_the_graphs_own_about_another_graph_is_not_taken_for_the_answers(
    mode: str, saver: Saver, host: Host
) -> None:
    other = one_node(lambda _: {}, InMemorySaver())

    def work(_: Log) -> Log:
        ask("go on?")
        strict: Any = {"configurable": {"thread_id": "other", "__pregel_strict_resume": True}}
        error = UnknownInterruptError("of another", reason="not_pending", interrupt_ids=["ab" * 16])
        if other.get_state(strict).created_at is None:
            raise error
        return {}

    router = Router.of(host, one_node(work, saver))
    router.start({"done": ""})
    with pytest.raises(UnknownInterruptError, match="of another"):
        router.handle(answer_to(host.asked, "yes"))


@pytest.mark.parametrize("stored", ["not json", "{}", 7, '["s-1"'])
def test_start_ids_that_somebody_else_wrote_are_none(
    stored: Any, mode: str, saver: Saver, host: Host
) -> None:
    graph = one_node(lambda _: {}, saver)
    marked: Any = {"configurable": {"thread_id": THREAD}, "metadata": {"agent_wait_starts": stored}}
    host.run(graph.ainvoke({"done": ""}, marked)) if host.is_async else graph.invoke({"done": ""}, marked)
    adapter = LangGraphAdapter(graph)
    state = host.run(adapter.astate(THREAD)) if host.is_async else adapter.state(THREAD)
    assert (state.known, state.starts) == (True, ())


@pytest.mark.parametrize("durability", ["async", "exit"])
@pytest.mark.parametrize("shape", SHAPES)
def test_with_any_durability_the_answers_reach_their_calls(
    shape: str, durability: str, mode: str, saver: Saver, host: Host
) -> None:
    desk = Desk(is_async=mode == "async")
    router = Router.of(host, build(shape, desk, saver), durability=durability)
    router.start(input_of(shape, THREE))
    while opened := router.open():
        bad = {"action": "approve", "args": {"nonsense": 1}}
        router.handle(answer_to(opened[-1], APPROVE if opened[-1].attempt > 1 else bad))
    assert desk.paid == [("o-1", Decimal("10.00")), ("o-2", Decimal("20.50")), ("o-3", Decimal(30))]


def test_a_question_that_a_change_of_state_hid_is_asked_again(mode: str, saver: Saver, host: Host) -> None:
    desk = Desk(is_async=mode == "async")
    graph = build("node", desk, saver)
    router = Router.of(host, graph)
    router.start(input_of("node", ONE))
    first = host.asked
    config: Any = {"configurable": {"thread_id": THREAD}}
    change: Any = {"items": [["o-1", "11.00"]]}
    if host.is_async:
        host.run(graph.aupdate_state(config, change, as_node="__start__"))
    else:
        graph.update_state(config, change, as_node="__start__")
    assert router.handle(answer_to(first, APPROVE)).kind == "continued"
    [again] = router.open()
    assert again.question == {"function": "refund", "args": {"order_id": "o-1", "amount": "11.00"}}
    assert router.handle(answer_to(first, APPROVE)).kind == "already_answered"
    assert desk.bodies == []


def test_the_last_sixteen_starts_are_known_whatever_ran_since(mode: str, saver: Saver, host: Host) -> None:
    router = Router.of(host, build("node", Desk(is_async=mode == "async"), saver))
    for number in range(20):
        assert router.start(input_of("node", ONE), start_id=f"s-{number}").kind == "started"
        assert router.handle(answer_to(host.asked, REJECT)).kind == "resumed"
    assert router.start(input_of("node", ONE), start_id="s-4").kind == "republished"
    assert router.start(input_of("node", ONE), start_id="s-19").kind == "republished"
    assert router.start(input_of("node", ONE), start_id="s-3").kind == "started"


@pytest.mark.parametrize("start_id", ["ünïcode ✓", 'with "quotes" and \\', "🙂" * 20])
def test_a_start_id_of_any_text_is_known_again(start_id: str, mode: str, saver: Saver, host: Host) -> None:
    router = Router.of(host, build("node", Desk(is_async=mode == "async"), saver))
    router.start(input_of("node", ONE), start_id=start_id)
    assert router.start(input_of("node", ONE), start_id=start_id).kind == "republished"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.requirement("SECOND-PASS-SIDE-EFFECTS")
def test_asked_at_stays_whatever_runs_again(
    shape: str, mode: str, reopen: Callable[[], Saver], host: Host
) -> None:
    graph = build(shape, Desk(is_async=mode == "async"), reopen())
    asked = {
        one.question_id: (one.asked_at, one.dedupe_key) for one in host.start(graph, input_of(shape, ONE))
    }
    graph = build(shape, Desk(is_async=mode == "async"), reopen())
    again = host.publish(host.invoke(graph, None))
    assert {one.question_id: (one.asked_at, one.dedupe_key) for one in again} == asked
    listed = Router.of(host, graph).pending()
    assert [question.id for question in listed] == list(asked)


def test_a_question_is_never_dated_before_the_answer_to_the_one_before(saver: Saver, host: Host) -> None:
    clock = FakeClock(2_000_000_000.0)
    router = Router.of(host, build("node", Desk(), saver), clock=clock) if not host.is_async else None
    router = router or Router.of(host, build("node", Desk(is_async=True), saver), clock=clock)
    router.start(input_of("node", THREE))
    [first] = router.pending()
    router.handle(answer_to(host.asked, APPROVE))
    [second] = router.pending()
    clock.advance(60)
    router.handle(answer_to(host.asked, {"action": "approve", "args": 7}))
    [reasked] = router.pending()
    assert first.asked_at is not None
    assert first.asked_at < 2_000_000_000.0
    assert (second.asked_at, reasked.asked_at, reasked.attempt) == (2_000_000_000.0, 2_000_000_060.0, 2)


def test_a_question_behind_a_bare_interrupt_keeps_its_date_when_its_node_runs_again(
    mode: str, saver: Saver, host: Host
) -> None:
    def work(_: Log) -> Log:
        interrupt("bare?")
        ask("ours?")
        return {}

    graph = one_node(work, saver)
    router = Router.of(host, graph)
    router.start({"done": ""})
    router.handle(answer_to(host.asked, "yes"))
    [asked] = router.pending()
    host.invoke(graph, None)
    [again] = router.pending()
    assert again == asked


def test_a_bare_interrupt_is_dated_the_same_on_every_look(mode: str, saver: Saver, host: Host) -> None:
    def work(_: Log) -> Log:
        interrupt("bare?")
        return {}

    router = Router.of(host, one_node(work, saver))
    router.start({"done": ""})
    assert router.pending() == router.pending()
    assert router.pending()[0].asked_at is not None


def test_config_durability_and_context_reach_the_run(mode: str, saver: Saver, host: Host) -> None:
    seen: list[Any] = []

    def work(_: Log) -> Log:
        configurable = get_config()["configurable"]  # pyright: ignore[reportTypedDictNotRequiredAccess]
        seen.append((configurable["tenant"], get_runtime().context))
        return {}

    builder: Any = StateGraph(Log, context_schema=Context)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    graph = builder.compile(checkpointer=saver)
    config = {"configurable": {"tenant": "blue"}, "metadata": {"team": "finance"}}
    router = Router.of(host, graph, config=config, durability="exit", context={"user": "u-1"})
    router.start({"done": ""})
    assert seen == [("blue", {"user": "u-1"})]
    adapter = LangGraphAdapter(graph, config=config)  # pyright: ignore[reportArgumentType]
    assert adapter.config_for("t", ["a"]) == {
        "configurable": {"tenant": "blue", "thread_id": "t"},
        "metadata": {"team": "finance", "agent_wait_starts": '["a"]'},
    }


def test_a_graph_without_a_checkpointer_is_refused_by_the_adapter() -> None:
    with pytest.raises(ValueError, match="checkpointer"):
        LangGraphAdapter(one_node(lambda _: {}, None))


def test_a_start_that_died_half_way_is_taken_up_by_the_next_message(
    mode: str, saver: Saver, host: Host
) -> None:
    failures = [RuntimeError("died")]

    @wait
    def pay(amount: int) -> str:
        return f"paid {amount}"

    def work(_: Log) -> Log:
        if failures:
            raise failures.pop()
        return {"done": str(pay(5))}

    router = Router.of(host, one_node(work, saver))
    with pytest.raises(RuntimeError, match="died"):
        router.start({"done": ""})
    assert router.start({"done": ""}).kind == "continued"
    outcome = router.handle(answer_to(host.asked, APPROVE))
    assert outcome.result == {"done": "paid 5"}


@pytest.mark.requirement("SCALAR-RESUME-AMBIGUOUS")
def test_of_two_open_questions_the_one_that_is_named_is_answered(mode: str, saver: Saver, host: Host) -> None:
    desk = Desk(is_async=mode == "async")
    router = Router.of(host, build("fan_out", desk, saver))
    router.start(input_of("fan_out", THREE[:2]))
    first, second = router.open()
    assert router.handle(answer_to(second, APPROVE)).kind == "resumed"
    assert [body.order_id for body in desk.bodies] == ["o-2"]
    assert [question.id for question in router.pending()] == [first.question_id]
    router.handle(answer_to(first, APPROVE))
    assert [body.order_id for body in desk.bodies] == ["o-2", "o-1"]


def test_config_of_another_thread_is_not_answered(saver: Saver, host: Host) -> None:
    desk = Desk(is_async=host.is_async)
    graph = build("node", desk, saver)
    router = Router.of(host, graph)
    router.start(input_of("node", ONE))
    router.start(input_of("node", ONE), thread_id="thread-2")
    foreign = answer_to(host.asked, APPROVE, thread_id=THREAD)
    assert router.handle(foreign).kind == "already_answered"
    assert desk.bodies == []
    assert host.invoke(graph, None, THREAD)["__interrupt__"]
