"""What a waiting tool does on a real agent: parking, answers, asking again."""

import asyncio
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from agent_wait import (
    FakeClock,
    InMemoryAnnounce,
    Question,
    QuestionError,
    WaitError,
    WaitPolicy,
    current_wait,
)
from pai_support import APPROVE, REJECT, Ctx, make_agent, questions_in, returns_in
from pydantic_ai import Agent, DeferredToolResults, RunContext, ToolApproved, UserError
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import FunctionToolset
from pydantic_ai_wait import deferred_results, publish_interrupts, wait

Ran = list[Any]


@pytest.fixture
def ran() -> Ran:
    return []


@pytest.fixture
def refund(ran: Ran) -> Callable[..., str]:
    @wait(WaitPolicy(timeout="P3D"))
    def refund(order: str, amount: Decimal = Decimal(5), note: str = "n") -> str:
        """Give money back."""
        ran.append((order, amount, note))
        return f"refunded {amount}"

    return refund


def reply_to(result: Any, answer: Any, *, place: int = -1, thread: str = "t-1") -> dict[str, Any]:
    announced = InMemoryAnnounce()
    publish_interrupts(result, thread, announced).raise_for_failures()
    return {**announced.of("created")[place].reply_with, "answer": answer}


def resume(agent: Agent[Any, Any], parked: Any, *answers: Mapping[str, Any]) -> Any:
    results, missing, ignored = deferred_results(answers, parked)
    assert (missing, ignored) == ([], [])
    return agent.run_sync(message_history=parked.all_messages(), deferred_tool_results=results)


CALL = [("refund", "c1", {"order": "o-1", "amount": "41000.00"})]


def test_a_call_parks_with_its_arguments_and_runs_once_it_is_approved(
    refund: Callable[..., str], ran: Ran
) -> None:
    agent = make_agent([refund], CALL, "done")

    parked = agent.run_sync("hi")
    [question] = questions_in(parked)
    assert ran == []
    assert question.question == {
        "function": "refund",
        "args": {"order": "o-1", "amount": "41000.00", "note": "n"},
    }
    assert (question.id, question.attempt, question.source) == (
        "c1",
        1,
        {"function": "refund", "framework": "pydantic-ai"},
    )

    result = resume(agent, parked, reply_to(parked, APPROVE))
    assert result.output == "done"
    assert ran == [("o-1", Decimal("41000.00"), "n")]


@pytest.mark.requirement("PARTIAL-EDIT-DROPS-ARGS")
@pytest.mark.requirement("EDIT-TYPES-NOT-RESTORED")
def test_an_edit_replaces_what_it_names_as_the_function_declares_it(
    refund: Callable[..., str], ran: Ran
) -> None:
    agent = make_agent([refund], [("refund", "c1", {"order": "7", "note": "x"})], "done")
    parked = agent.run_sync("hi")

    resume(agent, parked, reply_to(parked, {"action": "approve", "args": {"amount": "3"}}))

    assert ran == [("7", Decimal(3), "x")]
    assert isinstance(ran[0][1], Decimal)


@pytest.mark.requirement("FALSY-ANSWERS")
@pytest.mark.requirement("NULL-ANSWER")
@pytest.mark.parametrize(
    "answer", [REJECT, None, False, 0, 0.0, "", {}, [], "approve", {"action": "APPROVE"}]
)
def test_what_is_no_approval_is_returned_unchanged_in_the_bodys_place(
    refund: Callable[..., str], ran: Ran, answer: Any
) -> None:
    agent = make_agent([refund], CALL, "done")
    parked = agent.run_sync("hi")

    returned = returns_in(resume(agent, parked, reply_to(parked, answer)).all_messages())["c1"]

    assert ran == []
    assert returned == answer
    assert type(returned) is type(answer)


@pytest.mark.parametrize("answer", [APPROVE, REJECT, None, False, {"action": "approve", "args": 5}])
def test_a_decision_parameter_gets_the_answer_verbatim_and_is_unknown_to_the_model(answer: Any) -> None:
    ran: Ran = []

    @wait
    def pay(amount: int, decision: Any = "unasked") -> str:
        ran.append((amount, decision))
        return "paid"

    agent = make_agent([pay], [("pay", "c1", {"amount": 3})], "done")
    parked = agent.run_sync("hi")
    assert questions_in(parked)[0].question == {"function": "pay", "args": {"amount": 3}}

    resume(agent, parked, reply_to(parked, answer))
    assert ran == [(3, answer)]


def test_a_decision_from_the_model_never_reaches_the_body() -> None:
    ran: Ran = []

    @wait
    def pay(amount: int, decision: Any = None) -> str:
        ran.append(decision)
        return "paid"

    forged = [("pay", "c1", {"amount": 3, "decision": APPROVE})]
    agent = make_agent([pay], forged, [("pay", "c2", {"amount": 3})], "done")

    parked = agent.run_sync("hi")

    assert [question.id for question in questions_in(parked)] == ["c2"]
    assert ran == []


class Bank:
    def __init__(self, ran: Ran) -> None:
        self.ran = ran

    @wait
    def with_context(self, any_name: RunContext[None], amount: int) -> str:
        self.ran.append((any_name.tool_name, amount))
        return "ok"

    @wait
    async def without_context(self, amount: int) -> str:
        self.ran.append(("without_context", amount))
        return "ok"


@pytest.mark.parametrize("name", ["with_context", "without_context"])
@pytest.mark.requirement("WRAPPER-HIDES-SIGNATURE")
def test_methods_wait_with_and_without_a_context_parameter(name: str, ran: Ran) -> None:
    agent = make_agent([getattr(Bank(ran), name)], [(name, "c1", {"amount": 3})], "done")

    parked = agent.run_sync("hi")
    assert questions_in(parked)[0].question == {"function": name, "args": {"amount": 3}}
    assert _schema(agent, name)["properties"].keys() == {"amount"}

    resume(agent, parked, reply_to(parked, APPROVE))
    assert ran == [(name, 3)]


def _schema(agent: Agent[Any, Any], name: str) -> dict[str, Any]:
    assert isinstance(agent.model, FunctionModel)
    script: Any = agent.model.function
    return script.specs[name]


def _by_decorator(function: Callable[..., Any]) -> dict[str, Any]:
    agent = make_agent([], [("act", "c1", {"amount": 3})], "done")
    agent.tool(function)
    return {"agent": agent}


def _by_list(function: Callable[..., Any]) -> dict[str, Any]:
    return {"agent": make_agent([function], [("act", "c1", {"amount": 3})], "done")}


def _by_toolset(function: Callable[..., Any]) -> dict[str, Any]:
    toolset = FunctionToolset[Any]()
    toolset.add_function(function)
    return {"agent": make_agent([], [("act", "c1", {"amount": 3})], "done", toolsets=[toolset])}


@pytest.mark.parametrize("registered", [_by_decorator, _by_list, _by_toolset])
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("has_context", [False, True])
def test_every_way_to_register_a_tool_takes_a_wait(
    registered: Callable[..., dict[str, Any]], is_async: bool, has_context: bool
) -> None:
    ran: Ran = []

    async def awaited_with(context: Ctx, amount: int) -> str:
        ran.append(amount)
        return "ok"

    async def awaited(amount: int) -> str:
        ran.append(amount)
        return "ok"

    def plain_with(context: Ctx, amount: int) -> str:
        ran.append(amount)
        return "ok"

    def plain(amount: int) -> str:
        ran.append(amount)
        return "ok"

    with_context, without = (awaited_with, awaited) if is_async else (plain_with, plain)
    act: Any = with_context if has_context else without
    act.__name__ = "act"
    agent = registered(wait(act))["agent"]
    parked = agent.run_sync("hi")
    assert ran == []
    assert _schema(agent, "act")["properties"].keys() == {"amount"}

    resume(agent, parked, reply_to(parked, APPROVE))
    assert ran == [3]


def test_tool_plain_is_refused_where_it_is_written() -> None:
    agent = make_agent([], "done")

    @wait
    def act(amount: int) -> str:
        return "ok"

    with pytest.raises(
        UserError, match="RunContext annotations can only be used with tools that take context"
    ):
        agent.tool_plain(act)


def test_a_direct_call_takes_no_argument_of_its_own_for_the_context(refund: Callable[..., str]) -> None:
    with pytest.raises(WaitError, match=r"@agent\.tool"):
        refund("o-1", Decimal(3))


def test_a_call_that_when_lets_through_gets_its_arguments_also_when_called_directly() -> None:
    @wait(when=lambda amount: amount > 5)
    def act(amount: int, note: str = "") -> str:
        current = current_wait()
        assert current is not None
        with pytest.raises(WaitError, match="no thread"):
            _ = current.thread_id
        if note == "fail":
            raise ConnectionError
        return f"{amount} {note}"

    with pytest.raises(ConnectionError):
        act(3, "fail")

    assert act(3, "x") == "3 x"
    with pytest.raises(WaitError):
        act(6)


def test_bad_then_bad_then_good_counts_the_attempts_and_runs_once(
    refund: Callable[..., str], ran: Ran
) -> None:
    agent = make_agent([refund], CALL, "done")
    first = agent.run_sync("hi")

    second = resume(agent, first, reply_to(first, {"action": "approve", "args": {"amount": "x"}}))
    third = resume(agent, second, reply_to(second, {"action": "approve", "args": {"nope": 1}}))
    asked = [questions_in(parked)[0] for parked in (first, second, third)]
    done = resume(agent, third, reply_to(third, APPROVE))

    assert done.output == "done"
    assert len(ran) == 1
    assert [question.attempt for question in asked] == [1, 2, 3]
    assert [question.error for question in asked] == [
        None,
        "amount: Input should be a valid decimal",
        "nope: is no argument that was shown",
    ]
    assert len({(question.id, question.fingerprint) for question in asked}) == 1


def test_a_question_that_is_asked_again_is_dated_by_the_answer_that_could_not_be_used(
    refund: Callable[..., str],
) -> None:
    agent = make_agent([refund], CALL, "done")
    first = agent.run_sync("hi")
    at = questions_in(first)[0].asked_at
    assert at is not None

    bad = reply_to(first, {"action": "approve", "args": 5})
    results, _, _ = deferred_results(bad, first, clock=FakeClock(at + 60))
    second = agent.run_sync(message_history=first.all_messages(), deferred_tool_results=results)

    assert questions_in(second)[0].asked_at == at + 60


@pytest.mark.requirement("BAD-ANSWER-POISONS-THREAD")
def test_an_old_reply_does_not_satisfy_the_question_that_was_asked_again(
    refund: Callable[..., str], ran: Ran
) -> None:
    agent = make_agent([refund], CALL, "done")
    first = agent.run_sync("hi")
    old_approval = reply_to(first, APPROVE)
    second = resume(agent, first, reply_to(first, {"action": "approve", "args": 5}))

    results, missing, ignored = deferred_results(old_approval, second)

    assert results == DeferredToolResults()
    assert missing == ["c1"]
    assert ignored == [old_approval]


def test_results_made_for_an_ask_before_the_one_that_stands_run_nothing_either(
    refund: Callable[..., str], ran: Ran
) -> None:
    agent = make_agent([refund], CALL, "done")
    first = agent.run_sync("hi")
    old_results = deferred_results(reply_to(first, APPROVE), first).results
    second = resume(agent, first, reply_to(first, {"action": "approve", "args": 5}))

    third = agent.run_sync(message_history=second.all_messages(), deferred_tool_results=old_results)

    assert ran == []
    assert questions_in(third) == questions_in(second)


def test_a_run_without_answers_asks_the_very_same_again(refund: Callable[..., str]) -> None:
    agent = make_agent([refund], CALL, "done")
    parked = agent.run_sync("hi")
    again = agent.run_sync(message_history=parked.all_messages())
    asked_again = resume(agent, parked, reply_to(parked, {"action": "approve", "args": 5}))

    assert questions_in(again) == questions_in(parked)
    assert questions_in(agent.run_sync(message_history=asked_again.all_messages())) == questions_in(
        asked_again
    )


@pytest.mark.requirement("TOOL-CALL-ID-REPEATS")
def test_equal_calls_with_one_id_in_two_turns_and_two_threads_are_four_questions(
    refund: Callable[..., str], ran: Ran
) -> None:
    announced = InMemoryAnnounce()
    for thread in ("a", "b"):
        agent = make_agent([refund], CALL, "done", CALL, "done")
        first = agent.run_sync("hi")
        publish_interrupts(first, thread, announced)
        done = resume(agent, first, reply_to(first, APPROVE))
        second = agent.run_sync("again", message_history=done.all_messages())
        publish_interrupts(second, thread, announced)

        late = reply_to(first, APPROVE)
        assert deferred_results(late, second).ignored == [late]

    assert len({envelope.dedupe_key for envelope in announced.of("created")}) == 4
    assert len({envelope.fingerprint for envelope in announced.of("created")}) == 4
    assert len(ran) == 2


def test_results_of_another_turn_run_nothing(refund: Callable[..., str], ran: Ran) -> None:
    agent = make_agent([refund], CALL, "done", CALL, "done")
    first = agent.run_sync("hi")
    old_results = deferred_results(reply_to(first, APPROVE), first).results
    done = resume(agent, first, reply_to(first, APPROVE))
    second = agent.run_sync("again", message_history=done.all_messages())

    again = agent.run_sync(message_history=second.all_messages(), deferred_tool_results=old_results)

    assert len(ran) == 1
    assert questions_in(again) == questions_in(second)


def two_waits(ran: Ran) -> Callable[..., Any]:
    @wait
    def step(context: Ctx, amount: int) -> str:
        current = current_wait()
        assert current is not None
        ran.append((amount, current.idempotency_key))
        return f"step {amount}"

    def both(context: Ctx, first: int, second: int) -> str:
        return f"{step(context, first)}, {step(context, second)}"

    return both


@pytest.mark.parametrize("amounts", [(1, 2), (7, 7)])
def test_two_waits_in_one_tool_call_are_two_questions_each_with_its_own_answer(
    ran: Ran, amounts: tuple[int, int]
) -> None:
    call = [("both", "c1", {"first": amounts[0], "second": amounts[1]})]
    agent = make_agent([two_waits(ran)], call, "done")

    first = agent.run_sync("hi")
    second = resume(agent, first, reply_to(first, APPROVE))
    assert ran == [(amounts[0], ran[0][1])]
    assert questions_in(first)[0].fingerprint != questions_in(second)[0].fingerprint
    assert questions_in(second)[0].attempt == 1
    stale = reply_to(first, APPROVE)
    assert deferred_results(stale, second).ignored == [stale]

    done = resume(agent, second, reply_to(second, REJECT))

    assert returns_in(done.all_messages())["c1"] == f"step {amounts[0]}, {REJECT}"
    # The first body runs again on the second resume, under the same key.
    assert ran == [ran[0], ran[0]]


def test_the_second_of_two_waits_is_asked_again_without_the_first(ran: Ran) -> None:
    agent = make_agent([two_waits(ran)], [("both", "c1", {"first": 1, "second": 2})], "done")
    first = agent.run_sync("hi")
    second = resume(agent, first, reply_to(first, APPROVE))

    third = resume(agent, second, reply_to(second, {"action": "approve", "args": {"amount": "x"}}))
    [question] = questions_in(third)
    assert (question.attempt, question.question["args"]) == (2, {"amount": 2})

    done = resume(agent, third, reply_to(third, APPROVE))
    assert returns_in(done.all_messages())["c1"] == "step 1, step 2"


def test_a_wait_within_an_approved_body_is_a_question_of_its_own(ran: Ran) -> None:
    @wait
    def inner(context: Ctx, amount: int) -> str:
        ran.append(("inner", amount))
        return "inner"

    @wait
    def outer(context: Ctx, amount: int) -> str:
        ran.append(("outer", amount))
        return inner(context, amount)

    agent = make_agent([outer], [("outer", "c1", {"amount": 3})], "done")
    first = agent.run_sync("hi")
    second = resume(agent, first, reply_to(first, APPROVE))
    assert [question.question["function"] for question in questions_in(second)] == ["inner"]

    resume(agent, second, reply_to(second, APPROVE))
    assert ran == [("outer", 3), ("outer", 3), ("inner", 3)]


def test_an_equal_call_after_a_failed_body_is_a_retry_with_the_same_key(ran: Ran) -> None:
    @wait
    def flaky(context: Ctx, amount: int) -> str:
        current = current_wait()
        assert current is not None
        ran.append(current.idempotency_key)
        if len(ran) == 1:
            raise ConnectionError
        return "ok"

    def retrying(context: Ctx, amount: int) -> str:
        try:
            return flaky(context, amount)
        except ConnectionError:
            return flaky(context, amount)

    agent = make_agent([retrying], [("retrying", "c1", {"amount": 3})], "done")
    parked = agent.run_sync("hi")

    done = resume(agent, parked, reply_to(parked, APPROVE))

    assert returns_in(done.all_messages())["c1"] == "ok"
    assert len(ran) == 2
    assert len(set(ran)) == 1


def test_a_body_that_raised_can_be_approved_again_with_the_same_key_or_rejected(ran: Ran) -> None:
    @wait
    def pay(amount: int) -> str:
        current = current_wait()
        assert current is not None
        ran.append(current.idempotency_key)
        if len(ran) == 1:
            raise ConnectionError
        return "paid"

    agent = make_agent([pay], [("pay", "c1", {"amount": 3})], "done")
    parked = agent.run_sync("hi")
    with pytest.raises(ConnectionError):
        resume(agent, parked, reply_to(parked, APPROVE))

    rejected = resume(agent, parked, reply_to(parked, REJECT))
    assert returns_in(rejected.all_messages())["c1"] == REJECT
    approved = resume(agent, parked, reply_to(parked, APPROVE))
    assert returns_in(approved.all_messages())["c1"] == "paid"
    assert len(set(ran)) == 1


@pytest.mark.requirement("WHEN-FLIPS-ON-REPLAY")
def test_an_answer_that_was_given_counts_whatever_when_says_on_the_way_back(ran: Ran) -> None:
    asks = [True]

    @wait(when=lambda: asks[0])
    def act(amount: int) -> str:
        ran.append(amount)
        return "ok"

    agent = make_agent([act], [("act", "c1", {"amount": 3})], "done")
    parked = agent.run_sync("hi")
    asks[0] = False

    done = resume(agent, parked, reply_to(parked, REJECT))

    assert ran == []
    assert returns_in(done.all_messages())["c1"] == REJECT


def test_a_call_that_needs_no_question_runs_and_has_a_key(ran: Ran) -> None:
    @wait(when=lambda amount: amount > 5)
    def act(amount: int) -> str:
        current = current_wait()
        assert current is not None
        ran.append((current.asked, current.idempotency_key, current.thread_id))
        return "ok"

    calls = [("act", "c1", {"amount": 3}), ("act", "c2", {"amount": 3})]
    assert make_agent([act], calls, "done").run_sync("hi", conversation_id="t-9").output == "done"

    assert [one[0] for one in ran] == [False, False]
    assert len({one[1] for one in ran}) == 2
    assert {one[2] for one in ran} == {"t-9"}


def test_the_hosts_own_approval_without_an_answer_is_an_approval(
    refund: Callable[..., str], ran: Ran
) -> None:
    agent = make_agent([refund], CALL, "done")
    parked = agent.run_sync("hi")

    for approval in (True, ToolApproved(override_args={"order": "o-2"})):
        results = DeferredToolResults(approvals={"c1": approval})
        agent.run_sync(message_history=parked.all_messages(), deferred_tool_results=results)

    assert ran == [("o-1", Decimal("41000.00"), "n"), ("o-2", Decimal(5), "n")]


def test_the_hosts_own_approval_serves_one_wait_of_the_call(ran: Ran) -> None:
    agent = make_agent([two_waits(ran)], [("both", "c1", {"first": 1, "second": 2})], "done")
    parked = agent.run_sync("hi")
    approval = DeferredToolResults(approvals={"c1": True})

    second = agent.run_sync(message_history=parked.all_messages(), deferred_tool_results=approval)
    assert [question.question["args"] for question in questions_in(second)] == [{"amount": 2}]

    done = agent.run_sync(message_history=second.all_messages(), deferred_tool_results=approval)
    assert returns_in(done.all_messages())["c1"] == "step 1, step 2"


def test_the_history_alone_tells_the_same_after_json(refund: Callable[..., str], ran: Ran) -> None:
    agent = make_agent([refund], CALL, "done")
    parked = agent.run_sync("hi")
    history = ModelMessagesTypeAdapter.validate_json(parked.all_messages_json())

    assert questions_in(history) == questions_in(parked)

    results, missing, _ = deferred_results(reply_to(parked, APPROVE), history)
    assert missing == []
    agent.run_sync(message_history=history, deferred_tool_results=results)
    assert len(ran) == 1


def test_the_callers_own_messages_stay_as_they_were(refund: Callable[..., str]) -> None:
    agent = make_agent([refund], CALL, "done")
    parked = agent.run_sync("hi")
    before = parked.all_messages_json()

    resume(agent, parked, reply_to(parked, {"action": "approve", "args": 5}))

    assert parked.all_messages_json() == before


def test_a_ui_that_rebuilds_messages_without_metadata_leaves_the_question_answerable_as_a_bare_one(
    refund: Callable[..., str], ran: Ran
) -> None:
    """Policy, attempts and the wait's own fingerprint are lost; a reply to it does not count any more."""
    agent = make_agent([refund], CALL, "done")
    parked = agent.run_sync("hi")
    old_reply = reply_to(parked, APPROVE)
    for message in parked.all_messages():
        if isinstance(message, ModelResponse):
            message.metadata = None
    parked.output.metadata.clear()

    assert deferred_results(old_reply, parked).ignored == [old_reply]
    [question] = questions_in(parked)
    assert question.question == {"function": "refund", "args": {"order": "o-1", "amount": "41000.00"}}
    assert question.source is None

    resume(agent, parked, reply_to(parked, {"action": "approve", "args": {"amount": "3"}}))
    assert ran == [("o-1", Decimal(3), "n")]
    denied = resume(agent, parked, reply_to(parked, REJECT))
    assert returns_in(denied.all_messages())["c1"] == "no"
    assert len(ran) == 1


@pytest.mark.requirement("ORIGINAL-ARGS-SHOWN")
def test_what_is_announced_is_what_a_toolset_made_of_the_models_arguments(ran: Ran) -> None:
    class Clamping(FunctionToolset[Any]):
        async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
            clamped = {**tool_args, "amount": min(tool_args["amount"], 50)}
            return await super().call_tool(name, clamped, ctx, tool)

    @wait
    def act(amount: int) -> str:
        ran.append(amount)
        return "ok"

    toolset = Clamping()
    toolset.add_function(act)
    agent = make_agent([], [("act", "c1", {"amount": 70})], "done", toolsets=[toolset])
    parked = agent.run_sync("hi")

    assert questions_in(parked)[0].question["args"] == {"amount": 50}
    resume(agent, parked, reply_to(parked, APPROVE))
    assert ran == [50]


@pytest.mark.requirement("APPROVAL-BOUND-TO-NAME")
@pytest.mark.requirement("ANSWERS-IN-DISPLAY-ORDER")
def test_parallel_calls_each_get_their_own_answer_whatever_the_order(
    refund: Callable[..., str], ran: Ran
) -> None:
    calls = [("refund", f"c{n}", {"order": "o-1", "amount": "7"}) for n in range(4)]
    agent = make_agent([refund], calls, "done")
    parked = agent.run_sync("hi")
    assert len({question.fingerprint for question in questions_in(parked)}) == 4

    answers = [APPROVE, REJECT, {"action": "approve", "args": {"amount": "3"}}, None]
    replies = [reply_to(parked, answer, place=place) for place, answer in enumerate(answers)]
    done = resume(agent, parked, *reversed(replies))

    assert returns_in(done.all_messages()) == {
        "c0": "refunded 7",
        "c1": REJECT,
        "c2": "refunded 3",
        "c3": None,
    }
    assert sorted(one[1] for one in ran) == [3, 7]


def test_a_sibling_that_is_done_is_not_run_again_when_another_is_asked_again(
    refund: Callable[..., str], ran: Ran
) -> None:
    plain_ran: Ran = []

    def plain(n: int) -> int:
        plain_ran.append(n)
        return n

    calls = [*(("refund", f"c{n}", {"order": str(n)}) for n in range(2)), ("plain", "p", {"n": 1})]
    agent = make_agent([refund, plain], calls, "done")
    first = agent.run_sync("hi")
    bad = reply_to(first, {"action": "approve", "args": 5}, place=1)

    second = resume(agent, first, reply_to(first, APPROVE, place=0), bad)
    assert [question.id for question in questions_in(second)] == ["c1"]

    assert resume(agent, second, reply_to(second, APPROVE)).output == "done"
    assert [one[0] for one in ran] == ["0", "1"]
    assert plain_ran == [1]


@pytest.mark.requirement("TYPE-ZOO")
def test_dates_and_decimals_park_as_plain_json_and_come_back_as_themselves(ran: Ran) -> None:
    @wait
    def act(on: date, amounts: list[Decimal]) -> str:
        ran.append((on, amounts))
        return "ok"

    agent = make_agent([act], [("act", "c1", {"on": "2026-11-30", "amounts": ["1.50"]})], "done")
    parked = agent.run_sync("hi")

    assert questions_in(parked)[0].question["args"] == {"on": "2026-11-30", "amounts": ["1.50"]}
    resume(agent, parked, reply_to(parked, APPROVE))
    assert ran == [(date(2026, 11, 30), [Decimal("1.50")])]


def test_mode_async_announces_under_the_thread_of_the_run_and_goes_on() -> None:
    announced = InMemoryAnnounce()

    @wait(mode="async", announce=announced)
    def act(amount: int) -> str:
        raise AssertionError("the body does not run")

    class Deps:
        thread_id = "from-deps"

    runs: list[tuple[dict[str, Any], str]] = [
        ({"conversation_id": "t-1"}, "t-1"),
        ({"deps": {"thread_id": "mapping"}}, "mapping"),
        ({"deps": Deps()}, "from-deps"),
    ]
    for options, thread in runs:
        agent = make_agent([act], [("act", "c1", {"amount": 3})], "done")
        assert agent.run_sync("hi", **options).output == "done"
        assert announced.last.thread_id == thread


def test_a_question_without_a_json_form_fails_where_it_is_asked() -> None:
    @wait(question=lambda amount: {1: "a", "1": "b"})
    def act(amount: int) -> str:
        raise AssertionError("the body does not run")

    with pytest.raises(QuestionError):
        make_agent([act], [("act", "c1", {"amount": 3})], "done").run_sync("hi")


async def test_waits_of_parallel_async_tools_all_park_and_all_keep_their_record() -> None:
    @wait
    async def act(n: int) -> int:
        await asyncio.sleep(0)
        return n

    calls = [("act", f"c{n}", {"n": n}) for n in range(5)]
    parked = await make_agent([act], calls, "done").run("hi")

    assert questions_in(parked.all_messages()) == questions_in(parked)
    assert len(questions_in(parked)) == 5


def test_a_question_is_unpacked_from_what_was_packed(refund: Callable[..., str]) -> None:
    parked = make_agent([refund], CALL, "done").run_sync("hi")
    [question] = questions_in(parked)

    assert Question.unpack(question.id, question.pack()) == question
    assert question.policy.timeout == "P3D"
