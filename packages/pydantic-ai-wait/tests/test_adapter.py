"""`WaitPublisher` on `PydanticAIAdapter`: every message, twice where that may happen, and after a crash."""

import asyncio
import threading
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from agent_wait import (
    FailingAnnounce,
    FakeClock,
    InMemoryAnnounce,
    QuestionClosed,
    WaitError,
    WaitPolicy,
    WaitPublisher,
    current_wait,
)
from pai_support import APPROVE, REJECT, MemoryStore, make_agent, returns_in
from pydantic_ai import (
    Agent,
    ApprovalRequired,
    CallDeferred,
    DeferredToolRequests,
    DeferredToolResults,
    RunContext,
    ToolOutput,
)
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai_wait import PydanticAIAdapter, wait

Ran = list[Any]
CALLS = [("refund", f"c{n}", {"order": f"o-{n}", "amount": "10"}) for n in range(2)]
START = {"thread_id": "t-1", "input": "hi", "start_id": "s-1"}


class Host:
    """A host with one agent; `restarted()` is the same after its process died."""

    def __init__(self, agent: Agent[Any, Any], store: MemoryStore | None = None, **options: Any) -> None:
        self.agent = agent
        self.store = store or MemoryStore()
        self.announced = InMemoryAnnounce()
        self.clock = options.pop("clock", None)
        self.adapter = PydanticAIAdapter(agent, self.store, clock=self.clock)
        self.publisher = WaitPublisher(self.adapter, announce=self.announced, clock=self.clock, **options)
        self.handle = self.publisher.handle

    def restarted(self) -> "Host":
        return Host(self.agent, self.store, clock=self.clock)

    def reply(self, answer: Any, place: int = -1) -> dict[str, Any]:
        return {**self.announced.of("created")[place].reply_with, "answer": answer}

    def open_ids(self) -> list[str]:
        return [question.id for question in self.publisher.pending("t-1")]

    def returns(self) -> dict[str, Any]:
        history = self.store.read("t-1")["history"]
        return returns_in(ModelMessagesTypeAdapter.validate_python(history))


@pytest.fixture
def ran() -> Ran:
    return []


@pytest.fixture
def refund(ran: Ran) -> Callable[..., str]:
    @wait(WaitPolicy(timeout="P3D"))
    def refund(order: str, amount: Decimal) -> str:
        current = current_wait()
        assert current is not None
        ran.append((order, amount, current.idempotency_key))
        return f"refunded {amount}"

    return refund


def test_a_thread_that_never_ran_is_unknown_and_looking_makes_none() -> None:
    host = Host(make_agent([], "done"))

    assert host.publisher.pending("t-1") == []
    answer = {"thread_id": "t-1", "question_id": "c1", "answer": APPROVE}
    assert host.handle(answer).kind == "unknown_question"
    assert host.store.rows == {}


def test_start_answer_and_both_again(refund: Callable[..., str], ran: Ran) -> None:
    host = Host(make_agent([refund], CALLS[:1], "done"))

    assert host.handle(START).kind == "started"
    assert host.handle(START).kind == "republished"
    assert host.handle({**START, "start_id": "s-2"}).kind == "busy"
    assert host.handle({"thread_id": "t-1", "input": "hi"}).kind == "republished"
    assert len({envelope.dedupe_key for envelope in host.announced.of("created")}) == 1
    reply = host.reply(APPROVE)
    foreign = {**reply, "fingerprint": "sha256:other"}
    assert host.handle(foreign).kind == "refused"
    assert ran == []

    outcome = host.handle(reply)
    assert (outcome.kind, outcome.result.output) == ("resumed", "done")
    assert host.handle(reply).kind == "already_answered"
    assert host.handle({**reply, "answer": REJECT}).kind == "already_answered"
    assert host.handle(START).kind == "republished"
    assert len(ran) == 1
    assert {envelope.question_id for envelope in host.announced.of("resumed")} == {"c0"}


@pytest.mark.requirement("HISTORY-ENDS-UNAPPROVED")
def test_a_redelivered_start_on_a_parked_thread_runs_nothing(refund: Callable[..., str], ran: Ran) -> None:
    host = Host(make_agent([refund], CALLS[:1], "done"))
    host.handle(START)

    outcome = host.restarted().handle(START)

    assert (outcome.kind, outcome.result) == ("republished", None)
    assert ran == []


@pytest.mark.requirement("PARTIAL-APPROVALS")
def test_answers_are_kept_until_all_are_in_and_each_body_runs_once_with_its_own(
    refund: Callable[..., str], ran: Ran
) -> None:
    host = Host(make_agent([refund], CALLS, "done"))
    host.handle(START)
    first, second = host.reply({"action": "approve", "args": {"amount": "7"}}, 0), host.reply(REJECT, 1)

    kept = host.handle(first)
    assert (kept.kind, kept.acknowledge, kept.detail) == ("kept", True, "the framework waits for 1 more")
    assert ran == []
    assert host.open_ids() == ["c1"]
    assert host.announced.of("resumed") == []

    host = host.restarted()
    assert host.handle({**first, "answer": REJECT}).kind == "already_answered"
    assert host.handle(START).kind == "republished"
    assert {envelope.question_id for envelope in host.announced.of("created")} == {"c1"}

    assert host.handle(second).kind == "resumed"
    assert [one[:2] for one in ran] == [("o-0", Decimal(7))]
    assert host.returns() == {"c0": "refunded 7", "c1": REJECT}
    assert {envelope.question_id for envelope in host.announced.of("resumed")} == {"c0", "c1"}


@pytest.mark.requirement("REPLAY-EXECUTES-AGAIN")
@pytest.mark.requirement("SEQUENTIAL-DOUBLE-ANSWER")
@pytest.mark.requirement("CONCURRENT-DOUBLE-APPROVE")
def test_one_answer_delivered_by_several_threads_at_once_runs_one_body(
    refund: Callable[..., str], ran: Ran
) -> None:
    host = Host(make_agent([refund], CALLS[:1], "done"))
    host.handle(START)
    reply, barrier, kinds = host.reply(APPROVE), threading.Barrier(3), list[str]()

    def deliver() -> None:
        barrier.wait()

        async def handle() -> None:
            kinds.append((await host.publisher.ahandle(reply)).kind)

        asyncio.run(handle())

    workers = [threading.Thread(target=deliver) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert sorted(kinds) == ["already_answered", "already_answered", "resumed"]
    assert len(ran) == 1


def test_bad_then_good_is_asked_again_under_a_new_ask(refund: Callable[..., str], ran: Ran) -> None:
    host = Host(make_agent([refund], CALLS[:1], "done"))
    host.handle(START)
    old = host.reply(APPROVE)

    assert host.handle(host.reply({"action": "approve", "args": {"amount": "abc"}})).kind == "resumed"
    [first, second] = host.announced.of("created")
    assert (first.question_id, first.fingerprint) == (second.question_id, second.fingerprint)
    assert first.dedupe_key != second.dedupe_key
    assert (second.attempt, second.error) == (2, "amount: Input should be a valid decimal")
    assert [envelope.ask_id for envelope in host.announced.of("resumed")] == [first.ask_id]

    assert host.handle(old).kind == "already_answered"
    assert ran == []
    assert host.handle(host.reply(APPROVE, 1)).kind == "resumed"
    assert len(ran) == 1


@pytest.mark.requirement("CLAIM-THEN-CRASH")
def test_a_body_that_raises_leaves_the_thread_answerable_by_the_same_answer(ran: Ran) -> None:
    @wait
    def flaky(n: int) -> str:
        current = current_wait()
        assert current is not None
        ran.append(current.idempotency_key)
        if len(ran) == 1:
            raise ConnectionError
        return "ok"

    host = Host(make_agent([flaky], [("flaky", "c0", {"n": 1})], "done"))
    host.handle(START)
    reply = host.reply(APPROVE)

    with pytest.raises(ConnectionError):
        host.handle(reply)
    assert host.open_ids() == ["c0"]
    assert host.handle({**START, "start_id": "s-2"}).kind == "busy"

    outcome = host.restarted().handle(reply)
    assert (outcome.kind, outcome.result.output) == ("continued", "done")
    assert len(set(ran)) == 1


def test_a_newer_answer_takes_the_place_of_one_that_a_run_failed_on_also_of_one_that_was_kept(
    ran: Ran,
) -> None:
    @wait
    def pay(n: int) -> str:
        ran.append(n)
        raise ConnectionError

    calls = [("pay", f"c{n}", {"n": n}) for n in range(2)]
    host = Host(make_agent([pay], calls, "done"))
    host.handle(START)
    assert host.handle(host.reply(APPROVE, 0)).kind == "kept"
    with pytest.raises(ConnectionError):
        host.handle(host.reply(APPROVE, 1))
    state = host.adapter.state("t-1")
    assert {name: taken.answer for name, taken in state.taken.items()} == {"c0": APPROVE, "c1": APPROVE}
    assert host.open_ids() == ["c0", "c1"]
    assert state.kept == ()

    with pytest.raises(ConnectionError):
        host.handle(host.reply(REJECT, 0))
    assert host.restarted().handle(host.reply(REJECT, 1)).kind == "resumed"

    assert host.returns() == {"c0": REJECT, "c1": REJECT}


async def test_a_failed_run_is_marked_by_the_awaited_way_too(ran: Ran) -> None:
    @wait
    async def pay(n: int) -> str:
        ran.append(n)
        raise ConnectionError

    host = Host(make_agent([pay], [("pay", "c0", {"n": 1})], "done"))
    await host.publisher.ahandle(START)
    with pytest.raises(ConnectionError):
        await host.publisher.ahandle(host.reply(APPROVE))
    assert (await host.adapter.astate("t-1")).taken.keys() == {"c0"}

    assert (await host.publisher.ahandle(host.reply(REJECT))).kind == "resumed"
    assert ran == [1]


def test_a_sibling_that_raises_has_the_approved_body_run_again_under_the_same_key(ran: Ran) -> None:
    """Pydantic AI stores nothing of a run that raises: what ran in it runs again. Only the key helps."""
    paid = threading.Event()

    @wait
    def pay(n: int) -> str:
        current = current_wait()
        assert current is not None
        ran.append((n, current.idempotency_key))
        if n == 0:
            paid.set()
        elif paid.wait(10) and sum(one[0] == 1 for one in ran) == 1:
            raise ConnectionError
        return "paid"

    host = Host(make_agent([pay], [("pay", f"c{n}", {"n": n}) for n in range(2)], "done"))
    host.handle(START)
    host.handle(host.reply(APPROVE, 0))
    reply = host.reply(APPROVE, 1)
    with pytest.raises(ConnectionError):
        host.handle(reply)

    assert host.handle(reply).kind == "continued"
    assert sorted(one[0] for one in ran) == [0, 0, 1, 1]
    assert len(set(ran)) == 2


def test_a_crash_between_the_run_and_the_store_runs_the_body_again_under_the_same_key(
    refund: Callable[..., str], ran: Ran
) -> None:
    host = Host(make_agent([refund], CALLS[:1], "done"))
    host.handle(START)
    reply = host.reply(APPROVE)
    host.store.fails = 1
    with pytest.raises(OSError, match="the disk is full"):
        host.handle(reply)

    outcome = host.restarted().handle(reply)

    assert outcome.kind == "resumed"
    assert len(ran) == 2
    assert len(set(ran)) == 1


def test_a_start_that_dies_before_the_store_runs_again_and_what_needed_no_question_has_another_key(
    ran: Ran,
) -> None:
    """The limit: before the first store nothing of a run is durable, not even the name of a call."""

    @wait(when=lambda n: n > 5)
    def pay(n: int) -> str:
        current = current_wait()
        assert current is not None
        ran.append(current.idempotency_key)
        return "paid"

    host = Host(make_agent([pay], [("pay", "c0", {"n": 1})], "done"))
    host.store.fails = 1
    with pytest.raises(OSError, match="the disk is full"):
        host.handle(START)

    assert host.restarted().handle(START).kind == "started"
    assert len(set(ran)) == 2


def test_one_atomic_write_follows_each_run_and_each_kept_answer(refund: Callable[..., str]) -> None:
    host = Host(make_agent([refund], CALLS, "done"))
    saves = [host.store.saves]
    for message in (START, START):
        host.handle(message)
        saves.append(host.store.saves)
    for place in (0, 1):
        host.handle(host.reply(APPROVE, place))
        saves.append(host.store.saves)

    assert saves == [0, 1, 1, 2, 3]


@pytest.mark.requirement("TOOL-CALL-ID-REPEATS")
def test_a_late_answer_to_an_earlier_turn_with_equal_ids_is_refused(
    refund: Callable[..., str], ran: Ran
) -> None:
    host = Host(make_agent([refund], CALLS[:1], "done", CALLS[:1], "done"))
    host.handle(START)
    late = host.reply(APPROVE)
    host.handle(late)
    assert host.handle({**START, "start_id": "s-2"}).kind == "started"

    assert host.handle(late).kind == "already_answered"
    assert host.handle({name: late[name] for name in late if name != "ask_id"}).kind == "refused"
    assert len(ran) == 1
    assert len({envelope.dedupe_key for envelope in host.announced.of("created")}) == 2


def test_a_mixed_batch_keeps_what_a_plain_tool_returned(refund: Callable[..., str], ran: Ran) -> None:
    plain_ran: Ran = []

    def plain(n: int) -> int:
        plain_ran.append(n)
        return n

    host = Host(make_agent([refund, plain], [*CALLS, ("plain", "p", {"n": 1})], "done"))
    host.handle(START)
    host.restarted().handle(START)
    for place in (1, 0):
        host.handle(host.reply(APPROVE, place))

    assert plain_ran == [1]
    assert host.returns() == {"p": 1, "c0": "refunded 10", "c1": "refunded 10"}


def test_the_last_sixteen_start_ids_are_known(refund: Callable[..., str]) -> None:
    host = Host(make_agent([refund], *["done"] * 20))
    for n in range(18):
        host.handle({**START, "start_id": f"s-{n}"})

    assert host.adapter.state("t-1").starts == tuple(f"s-{n}" for n in range(2, 18))
    assert host.handle({**START, "start_id": "s-17"}).kind == "republished"


def bare(ran: Ran) -> list[Callable[..., Any]]:
    def gate(ctx: RunContext[Any], amount: int, note: str = "n") -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"why": "big"})
        ran.append((amount, note, ctx.tool_call_metadata))
        return "done"

    def outside(question: str) -> str:
        raise CallDeferred(metadata={"ticket": 7})

    return [gate, outside]


@pytest.mark.requirement("METADATA-LOST")
def test_tools_that_never_heard_of_us_are_bare_questions_with_a_fingerprint(ran: Ran) -> None:
    calls = [("gate", "c0", {"amount": 3, "note": "x"}), ("outside", "c1", {"question": "why"})]
    host = Host(make_agent(bare(ran), calls, "done"))
    host.handle(START)

    [gate, outside] = host.announced.of("created")
    assert gate.question == {
        "function": "gate",
        "args": {"amount": 3, "note": "x"},
        "metadata": {"why": "big"},
    }
    assert outside.question == {
        "function": "outside",
        "args": {"question": "why"},
        "metadata": {"ticket": 7},
    }
    assert (gate.allowed_actions, outside.allowed_actions) == (("approve", "reject"), ("resume",))
    assert (gate.source, outside.source) == (None, None)
    assert gate.fingerprint
    assert outside.fingerprint

    answer = {"action": "approve", "args": {"amount": 2}, "because": "ok"}
    host.handle({**host.reply(answer, 0), "answered_by": "ann"})
    host.handle(host.reply({"kind": "retry-prompt", "content": "not a retry"}, 1))

    assert ran == [(2, "x", {"answer": answer, "answered_by": "ann"})]
    assert host.returns() == {"c0": "done", "c1": {"kind": "retry-prompt", "content": "not a retry"}}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (REJECT, "no"),
        ({"action": "reject"}, '{"action":"reject"}'),
        ("not today", "not today"),
        (None, "null"),
        (False, "false"),
    ],
)
def test_a_tool_that_never_heard_of_us_does_not_run_on_anything_but_an_approval(
    ran: Ran, answer: Any, told: str
) -> None:
    host = Host(make_agent(bare(ran), [("gate", "c0", {"amount": 3})], "done"))
    host.handle(START)
    host.handle(host.reply(answer))

    assert ran == []
    assert host.returns() == {"c0": told}


@pytest.mark.requirement("ANSWER-IS-A-JSON-STRING")
@pytest.mark.parametrize("answer", ['{"action": "approve"}', {"action": "approve", "args": [1]}])
def test_an_answer_that_such_a_tool_could_not_be_asked_again_for_is_refused(ran: Ran, answer: Any) -> None:
    host = Host(make_agent(bare(ran), [("gate", "c0", {"amount": 3})], "done"))
    host.handle(START)

    outcome = host.handle(host.reply(answer))

    assert (outcome.kind, host.open_ids(), ran) == ("refused", ["c0"], [])


def test_a_wait_on_a_tool_that_needs_approval_asks_once(ran: Ran) -> None:
    agent = make_agent([], [("act", "c0", {"n": 1})], "done")

    @agent.tool(requires_approval=True)
    @wait
    def act(ctx: RunContext[Any], n: int) -> str:
        ran.append(n)
        return "ok"

    host = Host(agent)
    host.handle(START)
    host.handle(host.reply({"action": "approve", "args": {"n": 2}}))

    assert ran == [2]
    assert len(host.announced.of("created")) == 1


def test_a_wait_beside_a_final_result_is_dropped_by_pydantic_ai_and_runs_nothing(ran: Ran) -> None:
    """Fail-closed: the output wins, nobody is asked, and the body does not run."""

    @wait
    def act(n: int) -> str:
        ran.append(n)
        return "ok"

    def final(text: str) -> str:
        return text

    calls = [("final", "f", {"text": "over"}), ("act", "c0", {"n": 1})]
    agent = make_agent([act], calls, output_type=[ToolOutput(final, name="final"), DeferredToolRequests])
    host = Host(agent)

    assert host.handle(START).result.output == "over"
    assert host.open_ids() == []
    assert ran == []


def test_an_agent_that_could_not_stop_is_refused_where_it_is_handed_over() -> None:
    with pytest.raises(ValueError, match="DeferredToolRequests"):
        PydanticAIAdapter(make_agent([], "done", output_type=str), MemoryStore())


def test_what_a_host_adds_to_the_config_reaches_the_run() -> None:
    seen: Ran = []

    def look(ctx: RunContext[Any]) -> str:
        seen.append((ctx.deps, ctx.metadata))
        return "ok"

    agent = make_agent([look], [("look", "c0", {})], "done", deps_type=str)
    adapter = PydanticAIAdapter(agent, MemoryStore(), deps="deps")
    publisher = WaitPublisher(adapter, announce=[])

    publisher.handle(START, config={"metadata": {"k": 1}})

    assert seen == [("deps", {"k": 1})]


def test_a_host_may_resume_with_results_of_its_own(refund: Callable[..., str], ran: Ran) -> None:
    host = Host(make_agent([refund], CALLS[:1], "done"))
    host.handle(START)

    outcome = host.publisher.invoke(DeferredToolResults(approvals={"c0": True}), "t-1")

    assert outcome.result.output == "done"
    assert len(ran) == 1
    assert {envelope.question_id for envelope in host.announced.of("resumed")} == {"c0"}


def test_an_answer_that_another_process_was_first_with_runs_nothing(
    refund: Callable[..., str], ran: Ran
) -> None:
    host = Host(make_agent([refund], CALLS, "done"))
    host.handle(START)
    [first, second] = host.publisher.pending("t-1")
    message = host.reply(APPROVE, 0)
    host.handle(message)
    late = host.adapter.resume_value(message, first)
    with pytest.raises(QuestionClosed):
        host.adapter.invoke(late, host.adapter.config_for("t-1"))

    host.handle(host.reply(APPROVE, 1))
    for value in (host.adapter.resume_value(message, second), host.adapter.continue_value()):
        with pytest.raises(QuestionClosed):
            host.adapter.invoke(value, host.adapter.config_for("t-1"))
    assert len(ran) == 2


def test_a_late_answer_is_expired_and_the_default_is_taken(ran: Ran) -> None:
    @wait(WaitPolicy(timeout=60, default={**REJECT}))
    def act(n: int) -> str:
        ran.append(n)
        return "ok"

    clock = FakeClock()
    host = Host(make_agent([act], [("act", "c0", {"n": 1})], "done"), clock=clock, late_answers="refuse")
    host.handle(START)
    asked_at = host.publisher.pending("t-1")[0].asked_at
    assert asked_at is not None
    clock.advance(asked_at - clock.now() + 60)

    assert host.handle(host.reply(APPROVE)).kind == "expired"
    assert host.handle(host.reply(REJECT)).kind == "resumed"
    assert ran == []


def test_an_announcement_that_failed_is_made_up_for_by_the_next_delivery(refund: Callable[..., str]) -> None:
    agent, store = make_agent([refund], CALLS[:1], "done"), MemoryStore()
    broken = WaitPublisher(PydanticAIAdapter(agent, store), announce=FailingAnnounce())
    assert not broken.handle(START).acknowledge

    host = Host(agent, store)
    assert host.handle(START).acknowledge
    assert [envelope.question_id for envelope in host.announced.of("created")] == ["c0"]


@pytest.mark.parametrize("data", [b"", b"[]", b"nonsense", b'{"history": 5}'])
def test_a_damaged_row_is_an_error_and_no_unknown_thread(data: bytes) -> None:
    host = Host(make_agent([], "done"))
    host.store.rows["t-1"] = data

    with pytest.raises(WaitError, match="damaged"):
        host.handle(START)


def failing(ran: Ran) -> Callable[..., str]:
    def fails(n: int) -> str:
        ran.append(n)
        raise ConnectionError

    return fails


def test_a_start_that_raises_leaves_the_thread_as_it_was_and_runs_again(ran: Ran) -> None:
    host = Host(make_agent([failing(ran)], [("fails", "c0", {"n": 1})], "done"))
    for _ in range(2):
        with pytest.raises(ConnectionError):
            host.handle(START)

    assert host.store.rows == {}
    assert ran == [1, 1]


async def test_the_awaited_way_keeps_answers_and_leaves_a_start_that_raised_alone(
    refund: Callable[..., str], ran: Ran
) -> None:
    broken = Host(make_agent([failing(ran)], [("fails", "c0", {"n": 1})], "done"))
    with pytest.raises(ConnectionError):
        await broken.publisher.ahandle(START)
    assert broken.store.rows == {}

    host = Host(make_agent([refund], CALLS, "done"))
    await host.publisher.ahandle(START)
    assert (await host.publisher.ahandle(host.reply(APPROVE, 0))).kind == "kept"
    assert (await host.publisher.ahandle(host.reply(APPROVE, 1))).kind == "resumed"
    assert len(ran) == 3


def test_an_edit_of_the_wrong_type_of_a_tool_that_never_heard_of_us_spends_the_question(ran: Ran) -> None:
    """Pydantic AI tells the model, which calls again, and that is another question."""
    calls = [("gate", "c0", {"amount": 3})]
    host = Host(make_agent(bare(ran), calls, [("gate", "c1", {"amount": 3})], "done"))
    host.handle(START)
    host.handle(host.reply({"action": "approve", "args": {"amount": "many"}}))

    assert ran == []
    assert host.open_ids() == ["c1"]


@pytest.mark.requirement("EXCEPT-EXCEPTION-EATS-IT")
def test_an_except_exception_around_a_wait_swallows_the_park_and_runs_no_body(ran: Ran) -> None:
    @wait
    def pay(context: RunContext[Any], n: int) -> str:
        ran.append(n)
        return "paid"

    def careless(context: RunContext[Any], n: int) -> str:
        try:
            return pay(context, n)
        except Exception as error:  # noqa: BLE001  # what is tested
            return type(error).__name__

    host = Host(make_agent([careless], [("careless", "c0", {"n": 1})], "done"))

    assert host.handle(START).result.output == "done"
    assert (host.returns(), host.open_ids(), ran) == ({"c0": "ApprovalRequired"}, [], [])


def test_a_park_of_an_agent_within_a_tool_does_not_come_up(refund: Callable[..., str], ran: Ran) -> None:
    async def delegate() -> Any:
        inner = make_agent([refund], CALLS[:1], "inner done")
        return (await inner.run("go")).output

    host = Host(make_agent([delegate], [("delegate", "c0", {})], "done"))

    assert host.handle(START).result.output == "done"
    assert (host.open_ids(), ran) == ([], [])
    assert "approvals" in str(host.returns()["c0"])
