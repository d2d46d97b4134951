"""What a waiting tool does on a real agent: parking, answers, asking again."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from agent_wait import InMemoryAnnounce, WaitError, WaitPolicy, current_wait
from strands import ToolContext, tool  # pyright: ignore[reportUnknownVariableType]  # unknown in one overload
from strands.tools.executors import SequentialToolExecutor
from strands_support import (
    APPROVE,
    REJECT,
    START,
    Host,
    Script,
    Turn,
    make_agent,
    questions_in,
    returns_in,
    schema_of,
)
from strands_wait import interrupt_responses, publish_interrupts, wait

Ran = list[Any]


@pytest.fixture
def ran() -> Ran:
    return []


@pytest.fixture
def refund(ran: Ran) -> Any:
    @tool(context=True)
    @wait(WaitPolicy(timeout="P3D"))
    def refund(order: str, amount: Decimal = Decimal(5), note: str = "n") -> str:
        """Give money back."""
        current = current_wait()
        assert current is not None
        ran.append((order, amount, note, current.idempotency_key))
        return f"refunded {amount}"

    return refund


def call(name: str, *args: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(name, f"call_{n}", one) for n, one in enumerate(args)]


ORDER = call("refund", {"order": "o-1", "amount": "41000.00"})


@pytest.mark.requirement("NON-JSON-REASON")
def test_a_call_parks_with_its_arguments_and_runs_once_it_is_approved(
    tmp_path: Path, refund: Any, ran: Ran
) -> None:
    host = Host(tmp_path, [refund], ORDER, "done")

    assert host.handle(START).result.stop_reason == "interrupt"
    [question] = host.open_questions()
    assert question.question == {
        "function": "refund",
        "args": {"order": "o-1", "amount": "41000.00", "note": "n"},
    }
    assert (question.attempt, question.source) == (1, {"function": "refund", "framework": "strands"})
    assert ran == []

    outcome = host.handle(host.reply(APPROVE))
    assert (outcome.kind, str(outcome.result).strip()) == ("resumed", "done")
    assert [one[:3] for one in ran] == [("o-1", Decimal("41000.00"), "n")]


@pytest.mark.requirement("NON-JSON-REASON")
@pytest.mark.requirement("TYPE-ZOO")
def test_decimals_uuids_and_dates_park_under_a_session_manager(tmp_path: Path, ran: Ran) -> None:
    @tool(context=True)
    @wait
    def act(amount: Decimal, id: UUID, on: date) -> str:
        """Act."""
        ran.append((amount, id, on))
        return "ok"

    args = {"amount": "1.5", "id": str(UUID(int=1)), "on": "2026-11-30"}
    host = Host(tmp_path, [act], call("act", args), "done")
    host.handle(START)

    assert host.open_questions()[0].question["args"] == args
    host.handle(host.reply(APPROVE))
    assert ran == [(Decimal("1.5"), UUID(int=1), date(2026, 11, 30))]


@pytest.mark.requirement("PARTIAL-EDIT-DROPS-ARGS")
@pytest.mark.requirement("EDIT-TYPES-NOT-RESTORED")
def test_an_edit_replaces_what_it_names_as_the_function_declares_it(
    tmp_path: Path, refund: Any, ran: Ran
) -> None:
    host = Host(tmp_path, [refund], call("refund", {"order": "7", "note": "x"}), "done")
    host.handle(START)
    host.handle(host.reply({"action": "approve", "args": {"amount": "3"}}))

    assert [one[:3] for one in ran] == [("7", Decimal(3), "x")]


@pytest.mark.requirement("FALSY-ANSWERS")
@pytest.mark.requirement("NULL-ANSWER")
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (REJECT, '{"action": "reject", "reason": "no"}'),
        (None, "null"),
        (False, "false"),
        (0, "0"),
        ("", ""),
        ({}, "{}"),
        ([], "[]"),
        ("approve", "approve"),
    ],
)
def test_what_is_no_approval_is_what_the_model_reads_in_the_bodys_place(
    tmp_path: Path, refund: Any, ran: Ran, answer: Any, text: str
) -> None:
    host = Host(tmp_path, [refund], ORDER, "done")
    host.handle(START)

    assert host.handle(host.reply(answer)).kind == "resumed"
    assert host.returns() == {"call_0": text}
    assert ran == []


@pytest.mark.parametrize("answer", [APPROVE, None, False, {"action": "approve", "args": 5}])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_decision_parameter_gets_the_answer_verbatim_and_is_unknown_to_the_model(
    tmp_path: Path, ran: Ran, answer: Any, is_async: bool
) -> None:
    def pay(amount: int, decision: Any = "unasked") -> str:
        """Pay."""
        ran.append((amount, decision))
        return "paid"

    async def pay_async(amount: int, decision: Any = "unasked") -> str:
        """Pay."""
        return pay(amount, decision)

    act: Any = tool(context=True, name="pay")(wait(pay_async if is_async else pay))
    assert schema_of(act)["properties"].keys() == {"amount"}
    host = Host(tmp_path, [act], call("pay", {"amount": 3, "decision": "forged"}), "done")
    host.handle(START)
    host.handle(host.reply(answer))

    assert ran == [(3, answer)]


def test_an_answer_that_strands_would_take_for_a_finished_result_is_given_as_text(
    tmp_path: Path, refund: Any
) -> None:
    host = Host(tmp_path, [refund], ORDER, "done")
    host.handle(START)
    host.handle(host.reply({"status": "error", "content": [{"text": "forged"}]}))

    assert host.returns() == {"call_0": '{"status": "error", "content": [{"text": "forged"}]}'}


@pytest.mark.parametrize("is_async", [False, True])
def test_a_result_of_the_bodys_own_making_stays_one(tmp_path: Path, is_async: bool) -> None:
    result = {"status": "success", "content": [{"text": "mine"}]}

    async def act_async() -> dict[str, Any]:
        """Act."""
        return result

    def act() -> dict[str, Any]:
        """Act."""
        return result

    made: Any = tool(context=True, name="act")(wait(act_async if is_async else act))
    host = Host(tmp_path, [made], call("act", {}), "done")
    host.handle(START)
    host.handle(host.reply(APPROVE))

    assert host.returns() == {"call_0": "mine"}


class Bank:
    def __init__(self, ran: Ran) -> None:
        self.ran = ran

    @tool(context="any_name")
    @wait
    def with_context(self, any_name: ToolContext, amount: int) -> str:
        """With."""
        self.ran.append((any_name.tool_use["name"], amount))
        return "ok"

    @tool(context=True)
    @wait
    async def without_context(self, amount: int) -> str:
        """Without."""
        self.ran.append(("without_context", amount))
        return "ok"


@pytest.mark.requirement("WRAPPER-HIDES-SIGNATURE")
@pytest.mark.parametrize("name", ["with_context", "without_context"])
def test_methods_wait_with_and_without_a_context_parameter(tmp_path: Path, ran: Ran, name: str) -> None:
    method = getattr(Bank(ran), name)
    assert schema_of(method)["properties"].keys() == {"amount"}
    host = Host(tmp_path, [method], call(name, {"amount": 3}), "done")
    host.handle(START)
    assert host.open_questions()[0].question == {"function": name, "args": {"amount": 3}}

    host.handle(host.reply(APPROVE))
    assert ran == [(name, 3)]


def test_a_tool_without_context_is_refused_where_it_is_written() -> None:
    @wait
    def act(amount: int) -> str:
        """Act."""
        return "ok"

    with pytest.raises(ValueError, match="context"):
        tool(act)


def test_the_agent_parameter_that_strands_injects_is_not_published(tmp_path: Path) -> None:
    @tool(context=True)
    @wait
    def act(amount: int, agent: Any = None) -> str:
        """Act."""
        return type(agent).__name__

    host = Host(tmp_path, [act], call("act", {"amount": 3}), "done")
    host.handle(START)
    assert host.open_questions()[0].question["args"] == {"amount": 3}

    host.handle(host.reply(APPROVE))
    assert host.returns() == {"call_0": "Agent"}


def test_a_call_outside_of_a_run_says_what_is_missing(refund: Any) -> None:
    with pytest.raises(WaitError, match=r"@tool\(context=True\)"):
        refund("o-1")


def test_a_call_that_when_lets_through_needs_no_run() -> None:
    @wait(when=lambda amount: amount > 5)
    def act(amount: int, note: str = "") -> str:
        current = current_wait()
        assert current is not None
        with pytest.raises(WaitError, match="no thread"):
            _ = current.thread_id
        if note == "fail":
            raise ConnectionError
        return f"{amount} {note}"

    assert act(3, "x") == "3 x"
    with pytest.raises(ConnectionError):
        act(3, "fail")


def test_a_parked_call_is_known_again_where_a_server_keeps_the_messages(refund: Any, ran: Ran) -> None:
    """Strands restores no messages then, but what it stored of the call that is parked."""
    agent = make_agent([refund], ORDER, "done", "done")
    parked = agent("hi")
    announced = InMemoryAnnounce()
    publish_interrupts(parked, "t-1", announced)
    agent.messages.clear()

    responses: Any = interrupt_responses({**announced.last.reply_with, "answer": APPROVE}, parked)
    agent.model = Script("done")
    agent(responses)
    assert len(ran) == 1


def test_bad_then_bad_then_good_counts_the_attempts_and_runs_once(
    tmp_path: Path, refund: Any, ran: Ran
) -> None:
    host = Host(tmp_path, [refund], ORDER, "done")
    host.handle(START)
    for answer in ({"action": "approve", "args": {"amount": "x"}}, {"action": "approve", "args": 5}, APPROVE):
        assert host.handle(host.reply(answer)).kind == "resumed"

    asked = host.announced.of("created")
    assert [envelope.attempt for envelope in asked] == [1, 2, 3]
    assert [envelope.error for envelope in asked] == [
        None,
        "amount: Input should be a valid decimal",
        "args must be an object of argument names and values",
    ]
    assert len({envelope.fingerprint for envelope in asked}) == 1
    assert len({envelope.question_id for envelope in asked}) == 3
    assert [envelope.ask_id for envelope in host.announced.of("resumed")] == [one.ask_id for one in asked]
    assert len(ran) == 1
    assert host.handle(host.reply(APPROVE, 0)).kind == "already_answered"


def test_an_older_approval_is_not_replayed_after_a_newer_answer(tmp_path: Path, ran: Ran) -> None:
    """What could not be used once can be used by the next release of the function."""

    def version(annotation: Any) -> Any:
        def act(amount: Any, other: str = "") -> str:
            """Act."""
            ran.append(amount)
            return "ok"

        act.__annotations__["amount"] = annotation
        return tool(context=True)(wait(act))

    @tool(context=True)
    @wait
    def sibling() -> str:
        """Wait as well, so that the answers are stored."""
        return "ok"

    calls: Turn = [("act", "call_0", {"amount": 1}), ("sibling", "call_1", {})]
    host = Host(tmp_path, [version(int), sibling], calls, "done")
    host.handle(START)
    host.handle({**named(host)["act"], "answer": {"action": "approve", "args": {"amount": "x"}}})
    [again] = [question for question in host.open_questions() if question.attempt == 2]

    newer = Host(tmp_path, [version(Any), sibling], calls, "done")
    newer.publisher.republish("t-1")
    assert again in newer.open_questions()
    newer.handle({**named(newer)["sibling"], "answer": REJECT})
    assert again in newer.open_questions()
    newer.handle({**named(newer)["act"], "answer": REJECT})

    assert ran == []
    assert newer.returns()["call_0"] == '{"action": "reject", "reason": "no"}'


def named(host: Host) -> dict[str, Any]:
    """What to answer the newest question of each function with."""
    asked: list[Any] = host.announced.of("created")
    return {envelope.question["function"]: envelope.reply_with for envelope in asked}


@pytest.mark.requirement("STRANDS-SAME-NAME-SHARES-APPROVAL")
@pytest.mark.parametrize("amounts", [(5, 5000), (7, 7)])
def test_two_waits_in_one_call_are_two_questions(tmp_path: Path, ran: Ran, amounts: tuple[int, int]) -> None:
    @wait
    def step(amount: int, tool_context: ToolContext) -> str:
        current = current_wait()
        assert current is not None
        ran.append((amount, current.idempotency_key))
        return f"step {amount}"

    @tool(context=True)
    def both(first: int, second: int, tool_context: ToolContext) -> str:
        """Both."""
        return f"{step(first, tool_context)}, {step(second, tool_context)}"

    host = Host(tmp_path, [both], call("both", {"first": amounts[0], "second": amounts[1]}), "done")
    host.handle(START)
    first = host.reply(APPROVE)
    host.handle(first)
    assert [one[0] for one in ran] == [amounts[0]]
    assert host.handle(first).kind == "already_answered"
    assert len({envelope.question_id for envelope in host.announced.of("created")}) == 2

    host.handle(host.reply(REJECT))

    assert host.returns() == {"call_0": f"step {amounts[0]}, {REJECT}"}
    # The first body runs again on the second resume, under the same key.
    assert ran == [ran[0], ran[0]]


def test_an_equal_call_after_a_failed_body_is_a_retry_with_the_same_key(tmp_path: Path, ran: Ran) -> None:
    @wait
    def flaky(amount: int, tool_context: ToolContext) -> str:
        current = current_wait()
        assert current is not None
        ran.append(current.idempotency_key)
        if len(ran) == 1:
            raise ConnectionError
        return "ok"

    @tool(context=True)
    def retrying(amount: int, tool_context: ToolContext) -> str:
        """Retry."""
        try:
            return flaky(amount, tool_context)
        except ConnectionError:
            return flaky(amount, tool_context)

    host = Host(tmp_path, [retrying], call("retrying", {"amount": 3}), "done")
    host.handle(START)
    host.handle(host.reply(APPROVE))

    assert host.returns() == {"call_0": "ok"}
    assert len(ran) == 2
    assert len(set(ran)) == 1


def test_a_wait_within_an_approved_body_is_a_question_of_its_own(tmp_path: Path, ran: Ran) -> None:
    @wait
    def inner(amount: int, tool_context: ToolContext) -> str:
        ran.append(("inner", amount))
        return "inner"

    @tool(context=True)
    @wait
    def outer(amount: int, tool_context: ToolContext) -> str:
        """Outer."""
        ran.append(("outer", amount))
        return inner(amount, tool_context)

    host = Host(tmp_path, [outer], call("outer", {"amount": 3}), "done")
    host.handle(START)
    host.handle(host.reply(APPROVE))
    host.handle(host.reply(APPROVE))

    assert ran == [("outer", 3), ("outer", 3), ("inner", 3)]


def test_a_body_that_raises_tells_the_model_and_the_question_is_spent(tmp_path: Path, ran: Ran) -> None:
    """Strands turns a tool's exception into its result: nothing is left to answer."""

    @tool(context=True)
    @wait
    def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        raise ConnectionError("no line")

    host = Host(tmp_path, [pay], call("pay", {"amount": 3}), "done")
    host.handle(START)
    reply = host.reply(APPROVE)

    assert host.handle(reply).kind == "resumed"
    assert host.returns() == {"call_0": "Error: ConnectionError - no line"}
    assert host.handle(reply).kind == "already_answered"
    assert ran == [3]


@pytest.mark.requirement("EXCEPT-EXCEPTION-EATS-IT")
def test_an_except_exception_around_a_wait_swallows_the_park_and_runs_no_body(
    tmp_path: Path, ran: Ran
) -> None:
    @wait
    def pay(amount: int, tool_context: ToolContext) -> str:
        ran.append(amount)
        return "paid"

    @tool(context=True)
    def careless(amount: int, tool_context: ToolContext) -> str:
        """Careless."""
        try:
            return pay(amount, tool_context)
        except Exception as error:  # noqa: BLE001  # what is tested
            return type(error).__name__

    host = Host(tmp_path, [careless], call("careless", {"amount": 3}), "done")

    assert host.handle(START).result.stop_reason == "end_turn"
    assert host.returns() == {"call_0": "InterruptException"}
    assert (host.open_questions(), ran) == ([], [])


@pytest.mark.requirement("WHEN-FLIPS-ON-REPLAY")
def test_an_answer_that_was_given_counts_whatever_when_says_on_the_way_back(tmp_path: Path, ran: Ran) -> None:
    asks = [True]

    @tool(context=True)
    @wait(when=lambda: asks[0])
    def act(amount: int) -> str:
        """Act."""
        ran.append(amount)
        return "ok"

    host = Host(tmp_path, [act], call("act", {"amount": 3}), "done")
    host.handle(START)
    asks[0] = False
    host.handle(host.reply(REJECT))

    assert ran == []


def test_a_call_that_needs_no_question_has_a_key_of_its_own(tmp_path: Path, ran: Ran) -> None:
    @tool(context=True)
    @wait(when=lambda amount: amount > 5)
    def act(amount: int) -> str:
        """Act."""
        current = current_wait()
        assert current is not None
        ran.append((current.asked, current.idempotency_key, current.thread_id))
        return "ok"

    same = call("act", {"amount": 3}, {"amount": 3})
    host = Host(tmp_path, [act], same, same, "done")
    host.handle(START)

    assert {(one[0], one[2]) for one in ran} == {(False, "t-1")}
    assert len({one[1] for one in ran}) == 4


def test_a_call_with_its_id_in_two_turns_and_two_threads_is_four_questions(
    tmp_path: Path, refund: Any, ran: Ran
) -> None:
    host = Host(tmp_path, [refund], ORDER, "done", ORDER, "done")
    for thread in ("a", "b"):
        host.handle({**START, "thread_id": thread})
        late = host.reply(APPROVE)
        host.handle(late)
        host.handle({**START, "thread_id": thread, "start_id": "s-2"})
        assert host.handle(late).kind == "already_answered"

    asked = host.announced.of("created")
    assert len({envelope.dedupe_key for envelope in asked}) == 4
    assert len({envelope.question_id for envelope in asked}) == 4
    assert len(ran) == 2


@pytest.mark.requirement("APPROVAL-BOUND-TO-NAME")
@pytest.mark.requirement("ANSWERS-IN-DISPLAY-ORDER")
@pytest.mark.requirement("SIBLING-REENTERED")
def test_parallel_calls_get_their_own_answers_one_by_one_in_any_order(
    tmp_path: Path, refund: Any, ran: Ran
) -> None:
    free_ran: Ran = []

    @tool
    def free(n: int) -> str:
        """Free."""
        free_ran.append(n)
        return "free"

    calls = [*call("refund", *[{"order": "o-1", "amount": "7"}] * 3), ("free", "free", {"n": 1})]
    host = Host(tmp_path, [refund, free], calls, "done")
    host.handle(START)
    asked = {envelope.question_id: envelope for envelope in host.announced.of("created")}
    assert len(asked) == 3
    assert len({envelope.fingerprint for envelope in asked.values()}) == 3
    [first, second, third] = [question.id for question in host.open_questions()]
    answers = {third: REJECT, first: APPROVE, second: {"action": "approve", "args": {"amount": "3"}}}
    for name, answer in answers.items():
        outcome = host.handle({**asked[name].reply_with, "answer": answer})
        assert (outcome.kind, [e.question_id for e in outcome.publication]) == ("resumed", [name])

    assert len(host.announced.of("created")) == 3
    assert sorted(one[1] for one in ran) == [3, 7]
    assert free_ran == [1]


def test_the_sequential_executor_asks_one_after_the_other(tmp_path: Path, refund: Any, ran: Ran) -> None:
    calls = call("refund", {"order": "1"}, {"order": "2"})
    host = Host(tmp_path, [refund], calls, "done", tool_executor=SequentialToolExecutor())
    host.handle(START)
    for order in ("1", "2"):
        assert [question.question["args"]["order"] for question in host.open_questions()] == [order]
        host.handle(host.reply(APPROVE))

    assert [one[0] for one in ran] == ["1", "2"]


def test_the_hosts_own_response_without_an_answer_of_ours_is_taken_as_it_comes(refund: Any, ran: Ran) -> None:
    agent = make_agent([refund], ORDER, "done")
    parked = agent("hi")
    assert parked.interrupts
    response: Any = {"interruptId": parked.interrupts[0].id, "response": APPROVE}

    assert str(agent([{"interruptResponse": response}])).strip() == "done"
    assert len(ran) == 1


def test_a_wrapped_answer_to_another_call_is_asked_about_again(refund: Any, ran: Ran) -> None:
    agent = make_agent([refund], call("refund", {"order": "1"}, {"order": "2"}), "done")
    parked = agent("hi")
    announced = InMemoryAnnounce()
    publish_interrupts(parked, "t-1", announced)
    [first, second] = [{**e.reply_with, "answer": APPROVE} for e in announced.of("created")]
    responses: Any = interrupt_responses([first, second], parked)
    for one, other in ((0, second), (1, first)):
        responses[one]["interruptResponse"]["interruptId"] = other["question_id"]

    again = agent(responses)

    assert ran == []
    assert {(q.attempt, q.error) for q in questions_in(again)} == {(2, "the answer was for another question")}


async def test_everything_awaited(tmp_path: Path, ran: Ran) -> None:
    @tool(context=True)
    @wait
    async def act(amount: int) -> str:
        """Act."""
        ran.append(amount)
        return "ok"

    host = Host(tmp_path, [act], call("act", {"amount": 3}), "done")
    assert (await host.publisher.ahandle(START)).kind == "started"
    assert len(await host.publisher.apending("t-1")) == 1
    assert (await host.publisher.ahandle(host.reply(APPROVE))).kind == "resumed"
    assert ran == [3]


def test_mode_async_announces_under_the_thread_of_the_run_and_goes_on(tmp_path: Path) -> None:
    announced = InMemoryAnnounce()

    @tool(context=True)
    @wait(mode="async", announce=announced)
    def act(amount: int) -> str:
        """Act."""
        raise AssertionError("the body does not run")

    host = Host(tmp_path, [act], call("act", {"amount": 3}), "done")
    assert host.handle(START).result.stop_reason == "end_turn"
    assert announced.last.thread_id == "t-1"

    agent = make_agent([act], call("act", {"amount": 3}), "done")
    agent("hi")
    assert announced.last.thread_id == agent.session_id
    assert "pending_approval" in returns_in(agent.messages)["call_0"]


def test_static_and_class_methods_wait_too(ran: Ran) -> None:
    class Desk:
        @wait
        @staticmethod
        def fixed(amount: int, tool_context: ToolContext) -> str:
            ran.append(("fixed", amount))
            return "ok"

        @wait
        @classmethod
        def of_class(cls, amount: int, tool_context: ToolContext) -> str:
            ran.append((cls.__name__, amount))
            return "ok"

    @tool(context=True)
    def both(tool_context: ToolContext) -> str:
        """Both."""
        return Desk.fixed(1, tool_context) + Desk.of_class(2, tool_context)

    agent = make_agent([both], call("both", {}), "done")
    result = agent("hi")
    for _ in range(2):
        announced = InMemoryAnnounce()
        publish_interrupts(result, "t-1", announced)
        reply = {**announced.last.reply_with, "answer": APPROVE}
        responses: Any = interrupt_responses(reply, result)
        result = agent(responses)

    assert ran == [("fixed", 1), ("fixed", 1), ("Desk", 2)]
