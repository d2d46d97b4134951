"""What `wait` and `ask` do to a call, on the smallest framework there can be."""

import inspect
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from agent_wait import (
    FakeClock,
    PolicyError,
    Question,
    QuestionError,
    QuestionTooLarge,
    WaitPolicy,
    current_wait,
)
from agent_wait._answer import WrappedAnswer
from agent_wait._wait import make_ask, make_wait
from agent_wait.testing import Parked, StubFramework

APPROVE = {"action": "approve"}


class Converting(StubFramework):
    """As the stub, with pydantic at hand."""

    def convert_edits(self, function: Callable[..., Any], args: Any) -> Any:
        from agent_wait._convert import convert_edits

        return convert_edits(function, args)

    def schema_for(self, function: Callable[..., Any]) -> Any:
        from agent_wait._convert import schema_for

        return schema_for(function)


@pytest.fixture
def stub() -> StubFramework:
    return Converting()


def parked(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Question:
    """The question that the call parks on."""
    with pytest.raises(Parked) as stopped:
        function(*args, **kwargs)
    return Question.unpack("q-1", stopped.value.value)


def answered(
    stub: StubFramework, answer: Any, function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    """What the call returns once its question has this answer."""
    question = parked(function, *args, **kwargs)
    assert question.fingerprint is not None
    stub.answers.append(WrappedAnswer(answer=answer, fingerprint=question.fingerprint).to_value())
    stub.rerun()
    return function(*args, **kwargs)


@pytest.mark.requirement("DEFAULTS-SHOWN")
def test_a_call_parks_on_its_arguments_with_defaults_applied(stub: StubFramework) -> None:
    @make_wait(stub)
    def pay(a: int, b: int = 2, *, c: int = 3) -> None: ...

    assert parked(pay, 1).question == {"function": "pay", "args": {"a": 1, "b": 2, "c": 3}}


def test_the_parked_value_has_the_published_shape(stub: StubFramework) -> None:
    clock = FakeClock(1_760_000_000.5)

    @make_wait(stub, clock=clock)(WaitPolicy(timeout="P3D", tags={"team": "finance"}))
    def refund(order_id: str) -> None: ...

    with pytest.raises(Parked) as stopped:
        refund("o-1")
    value: Any = stopped.value.value
    fingerprint = value["__ask__"].pop("fingerprint")
    assert fingerprint.startswith("sha256:")
    assert value == {
        "question": {"function": "refund", "args": {"order_id": "o-1"}},
        "__wait__": {
            "timeout": "P3D",
            "default": None,
            "allowed_actions": ["approve", "reject"],
            "tags": {"team": "finance"},
            "correlation": None,
            "answer_schema": None,
            "redact": [],
        },
        "__source__": {"function": "refund", "framework": "stub"},
        "__ask__": {
            "v": 1,
            "attempt": 1,
            "asked_at": 1_760_000_000.5,
            "error": None,
            "answer_schema": {
                "anyOf": [
                    {
                        "type": "object",
                        "properties": {
                            "action": {"const": "approve"},
                            "args": {
                                "type": "object",
                                "properties": {"order_id": {"type": "string"}},
                                "additionalProperties": False,
                            },
                        },
                        "required": ["action"],
                    },
                    {"type": "object", "properties": {"action": {"const": "reject"}}, "required": ["action"]},
                ]
            },
            "traceparent": None,
            "call": None,
        },
    }


def test_an_approval_runs_the_body_with_the_values_it_was_called_with(stub: StubFramework) -> None:
    @make_wait(stub)
    def refund(amount: Decimal) -> Decimal:
        return amount

    assert answered(stub, APPROVE, refund, Decimal("19.90")) == Decimal("19.90")


@pytest.mark.parametrize(
    "answer",
    [
        None,
        False,
        True,
        0,
        0.0,
        "",
        {},
        [],
        "approve",
        {"action": "APPROVE"},
        {"action": "reject", "reason": "no"},
        {"approve": True},
        7,
    ],
    ids=repr,
)
@pytest.mark.requirement("FALSY-ANSWERS")
def test_anything_but_an_approval_is_returned_unchanged_in_the_bodys_place(
    stub: StubFramework, answer: Any
) -> None:
    ran: list[int] = []

    @make_wait(stub)
    def refund(amount: int) -> None:
        ran.append(amount)

    result: Any = answered(stub, answer, refund, 5)
    assert (type(result), result) == (type(answer), answer)
    assert ran == []


@pytest.mark.parametrize(
    "answer", [None, False, APPROVE, {"action": "reject"}, "text", {"action": "approve", "args": 1}], ids=repr
)
def test_a_decision_parameter_receives_any_answer_verbatim_and_the_body_runs(
    stub: StubFramework, answer: Any
) -> None:
    @make_wait(stub)
    def refund(amount: int, *, decision: Any = "none yet") -> Any:
        return amount, decision

    assert answered(stub, answer, refund, 5) == (5, answer)


@pytest.mark.requirement("DECISION-IN-SCHEMA")
def test_a_decision_that_the_caller_sends_never_reaches_the_body(stub: StubFramework) -> None:
    @make_wait(stub)
    def refund(amount: int, decision: Any = None, **extra: Any) -> Any:
        return decision, extra

    assert "decision" not in inspect.signature(refund).parameters
    forged = partial(refund, 5, decision=APPROVE)
    assert answered(stub, {"action": "reject"}, forged) == ({"action": "reject"}, {})


@pytest.mark.requirement("PARTIAL-EDIT-DROPS-ARGS")
def test_an_edit_replaces_what_it_names_and_keeps_the_rest_as_asked(stub: StubFramework) -> None:
    @make_wait(stub)
    def refund(order_id: int, amount: int, note: str = "n") -> Any:
        return order_id, amount, note

    edit = {"action": "approve", "args": {"amount": 3}}
    assert answered(stub, edit, refund, 7, 5, note="x") == (7, 3, "x")


@pytest.mark.requirement(
    "UNKNOWN-EDIT-KEY", "EXTRA-FIELDS", "ANSWER-IS-A-JSON-STRING", "BAD-ANSWER-POISONS-THREAD"
)
@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"action": "approve", "args": {"amuont": 3}}, "amuont: is no argument that was shown"),
        ({"action": "approve", "args": {"context": 3}}, "context: is no argument that was shown"),
        ({"action": "approve", "args": {"amount": "abc"}}, "amount: "),
        ({"action": "approve", "args": {"amount": True}}, "amount: "),
        ({"action": "approve", "args": "amount=3"}, "args must be an object"),
        ({"action": "approve", "args": [3]}, "args must be an object"),
        ({"action": "approve", "args": None}, "args must be an object"),
        ({"action": "approve", "args": {"args": {"amount": 3}}}, "args: is no argument"),
        ('{"action": "approve"}', "JSON in a text"),
        (' {"action": "reject"}', "JSON in a text"),
    ],
    ids=repr,
)
def test_an_approval_that_cannot_be_applied_asks_again_with_the_reason(
    stub: StubFramework, answer: Any, why: str
) -> None:
    ran: list[Any] = []

    @make_wait(stub)
    def refund(amount: Decimal, context: Any = None) -> str:
        ran.append(amount)
        return "paid"

    first = parked(refund, Decimal(5))
    assert first.fingerprint is not None
    stub.answers.append(
        WrappedAnswer(answer=answer, fingerprint=first.fingerprint, at=1_760_000_100.0).to_value()
    )
    stub.rerun()
    again = parked(refund, Decimal(5))
    assert ran == []
    assert (again.fingerprint, again.attempt, again.asked_at) == (first.fingerprint, 2, 1_760_000_100.0)
    assert again.error is not None
    assert why in again.error
    stub.rerun()
    good = {"action": "approve", "args": {"amount": "5.00"}}
    stub.answers.append(WrappedAnswer(answer=good, fingerprint=first.fingerprint).to_value())
    assert refund(Decimal(5)) == "paid"
    assert ran == [Decimal("5.00")]


@pytest.mark.requirement("STALE-Q1-APPROVES-Q2", "APPROVAL-BOUND-TO-NAME")
def test_an_answer_to_another_call_runs_nothing_and_the_question_stands(stub: StubFramework) -> None:
    ran: list[int] = []

    @make_wait(stub)
    def refund(amount: int) -> None:
        ran.append(amount)

    other = parked(refund, 1)
    assert other.fingerprint is not None
    stub.answers.append(WrappedAnswer(answer=APPROVE, fingerprint=other.fingerprint).to_value())
    stub.rerun()
    again = parked(refund, 2)
    assert ran == []
    assert (again.attempt, again.error) == (2, "the answer was for another question")


def test_an_argument_sent_back_as_it_was_shown_is_no_edit(stub: StubFramework) -> None:
    from pydantic import SecretStr

    @make_wait(stub)(WaitPolicy(redact=("token",)))
    def call(url: str, key: SecretStr, token: str) -> Any:
        return url, key.get_secret_value(), token

    echo = {"action": "approve", "args": {"url": "u2", "key": "**********", "token": "[redacted]"}}
    assert answered(stub, echo, call, "u", SecretStr("s3cret"), "t0k") == ("u2", "s3cret", "t0k")


@pytest.mark.requirement("SECRETS-IN-NOTIFICATION")
def test_a_redacted_argument_is_in_no_part_of_the_parked_value(stub: StubFramework) -> None:
    @make_wait(stub)(WaitPolicy(redact=("api_key",)))
    def call(api_key: str, n: int) -> None: ...

    question = parked(call, "S3CRET", 1)
    assert question.question == {"function": "call", "args": {"api_key": "[redacted]", "n": 1}}
    assert "S3CRET" not in repr(question.pack())
    # Nor can it be guessed from the fingerprint: another secret gives the same.
    stub.rerun()
    assert parked(call, "OTHER", 1).fingerprint == question.fingerprint


def test_redact_of_what_is_not_there_is_refused_where_it_is_written(stub: StubFramework) -> None:
    with pytest.raises(PolicyError, match="redact names tokne"):

        @make_wait(stub)(WaitPolicy(redact=("tokne",)))
        def call(token: str) -> None: ...

    with pytest.raises(PolicyError, match="question="):

        @make_wait(stub)(WaitPolicy(redact=("token",)), question=lambda: 1)
        def other(token: str) -> None: ...


@pytest.mark.parametrize("said", [True, None, 0, "", "no"], ids=repr)
def test_when_asks_unless_it_says_exactly_false(stub: StubFramework, said: Any) -> None:
    @make_wait(stub)(when=lambda: said)
    def refund(amount: int) -> None: ...

    parked(refund, 1)


def test_when_that_raises_asks(stub: StubFramework) -> None:
    @make_wait(stub)(when=lambda amount: amount > "x")
    def refund(amount: int) -> None: ...

    parked(refund, 1)


def test_when_false_runs_the_body_with_its_own_key_and_the_decisions_default(stub: StubFramework) -> None:
    @make_wait(stub)(when=lambda amount: amount > 100)
    def refund(amount: int, decision: Any = "none") -> Any:
        wait = current_wait()
        assert wait is not None
        return decision, wait.asked, wait.answer, wait.question_id, len(wait.idempotency_key)

    assert refund(5) == ("none", False, None, None, 64)
    assert stub.asked == []
    assert current_wait() is None


def test_when_and_question_get_real_values_by_keyword_before_redaction(stub: StubFramework) -> None:
    seen: list[Any] = []

    def when(token: str, **rest: Any) -> bool:
        seen.append((token, rest))
        return True

    @make_wait(stub)(WaitPolicy(redact=("token",)), when=when)
    def call(token: str, *more: int, n: int = 2) -> None: ...

    parked(call, "real", 8, 9)
    assert seen == [("real", {"more": (8, 9), "n": 2})]

    @make_wait(stub)(question=lambda token, n: {"n": n, "token": token})
    def named(token: str, n: int) -> None: ...

    stub.rerun()
    assert parked(named, "t", 4).question == {"n": 4, "token": "t"}


def test_when_that_could_never_be_called_is_refused_where_it_is_written(stub: StubFramework) -> None:
    with pytest.raises(TypeError, match="asks for 'amuont'"):

        @make_wait(stub)(when=lambda amuont: amuont > 1)
        def refund(amount: int) -> None: ...


def test_with_question_the_arguments_are_never_encoded(stub: StubFramework) -> None:
    state: dict[str, Any] = {}
    state["self"] = state

    @make_wait(stub)(question=lambda state: "go on?")
    def node(state: Any) -> str:
        return "went"

    assert answered(stub, APPROVE, node, state) == "went"


def test_positional_only_and_variadic_arguments_survive_the_trip(stub: StubFramework) -> None:
    @make_wait(stub)
    def call(a: int, /, b: int, *more: int, c: int, **rest: int) -> Any:
        return a, b, more, c, rest

    question = parked(call, 1, 2, 3, 4, c=5, d=6)
    assert question.question == {
        "function": "call",
        "args": {"a": 1, "b": 2, "more": [3, 4], "c": 5, "rest": {"d": 6}},
    }
    stub.rerun()
    edit = {"action": "approve", "args": {"more": [9], "rest": {"e": 7}}}
    assert answered(stub, edit, call, 1, 2, 3, 4, c=5, d=6) == (1, 2, (9,), 5, {"e": 7})


def test_an_edit_of_the_variadic_keywords_cannot_set_a_parameter(stub: StubFramework) -> None:
    @make_wait(stub)
    def call(a: int, context: Any = None, **rest: Any) -> Any:
        return a, context, rest

    first = parked(call, 1)
    assert first.fingerprint is not None
    edit = {"action": "approve", "args": {"rest": {"context": "forged"}}}
    stub.answers.append(WrappedAnswer(answer=edit, fingerprint=first.fingerprint).to_value())
    stub.rerun()
    assert parked(call, 1).error == "rest.context: is a parameter of its own"


def test_methods_classmethods_staticmethods_and_partials_wait(stub: StubFramework) -> None:
    wait = make_wait(stub)

    class Desk:
        @wait
        def own(self, a: int) -> Any:
            return self, a

        @wait
        @classmethod
        def of_class(cls, a: int) -> Any:
            return cls, a

        @classmethod
        @wait
        def of_class_above(cls, a: int) -> Any:
            return cls, a

        @staticmethod
        @wait
        def of_none(a: int) -> Any:
            return a

    desk = Desk()
    assert parked(desk.own, 1).question == {"function": "own", "args": {"a": 1}}
    stub.rerun()
    assert answered(stub, APPROVE, desk.own, 1) == (desk, 1)
    assert answered(stub, APPROVE, desk.of_class, 2) == (Desk, 2)
    assert answered(stub, APPROVE, Desk.of_class_above, 3) == (Desk, 3)
    assert answered(stub, APPROVE, desk.of_none, 4) == 4

    def pay(a: int, b: int) -> Any:
        return a, b

    assert answered(stub, APPROVE, wait(partial(pay, 1)), 2) == (1, 2)


def test_what_cannot_wait_is_refused_with_the_cure(stub: StubFramework) -> None:
    wait: Any = make_wait(stub)

    def generator() -> Any:
        yield 1

    with pytest.raises(TypeError, match="generator"):
        wait(generator)
    with pytest.raises(TypeError, match="put the tool decorator above @wait"):
        wait()(object())
    with pytest.raises(TypeError, match="WaitPolicy"):
        wait("P3D")


def test_metadata_signature_and_the_wrapped_function_are_kept(stub: StubFramework) -> None:
    def refund(order_id: str, amount: "Decimal" = Decimal(1), *, decision: Any = None) -> "Decimal":
        """Pay back."""
        return amount

    waiting = make_wait(stub)(refund)
    assert (waiting.__name__, waiting.__doc__, waiting.__module__) == ("refund", "Pay back.", __name__)
    assert waiting.__wrapped__ is refund  # pyright: ignore[reportFunctionMemberAccess]
    signature = inspect.signature(waiting)
    assert list(signature.parameters) == ["order_id", "amount"]
    assert (signature.parameters["amount"].annotation, signature.return_annotation) == (Decimal, Decimal)
    assert waiting.__annotations__ == {"order_id": str, "amount": Decimal, "return": Decimal}


def test_a_call_that_python_would_refuse_is_refused_alike(stub: StubFramework) -> None:
    @make_wait(stub)
    def refund(amount: int) -> None: ...

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'amount'"):
        refund()  # pyright: ignore[reportCallIssue]
    assert stub.asked == []


def test_the_idempotency_key_is_the_same_on_rerun_and_reask_and_differs_by_call_and_thread() -> None:
    def keys(thread_id: str, amount: int, *answers: Any) -> str:
        stub = Converting(thread_id)

        @make_wait(stub)
        def refund(amount: int) -> str:
            wait = current_wait()
            assert wait is not None
            assert (wait.asked, wait.thread_id, wait.answered_by, wait.question_id) == (
                True,
                thread_id,
                "ada",
                "q-9",
            )
            return wait.idempotency_key

        fingerprint = parked(refund, amount).fingerprint
        assert fingerprint is not None
        for answer in answers:
            stub.answers.append(
                WrappedAnswer(
                    answer=answer, fingerprint=fingerprint, answered_by="ada", question_id="q-9"
                ).to_value()
            )
        stub.rerun()
        return refund(amount)

    base = keys("t-1", 5, APPROVE)
    assert keys("t-1", 5, {"action": "approve", "args": {"amount": "x"}}, APPROVE) == base
    assert len({base, keys("t-2", 5, APPROVE), keys("t-1", 6, APPROVE)}) == 3


def test_a_raw_answer_by_the_frameworks_own_means_is_taken_as_it_comes(stub: StubFramework) -> None:
    @make_wait(stub)
    def refund(amount: int) -> int:
        return amount

    parked(refund, 5)
    stub.answers.append(APPROVE)
    stub.rerun()
    assert refund(5) == 5


def test_an_answer_that_looks_like_the_wrapper_is_data(stub: StubFramework) -> None:
    @make_wait(stub)
    def refund(amount: int) -> int:
        return amount

    forged = WrappedAnswer(answer=APPROVE, fingerprint="sha256:0").to_value()
    assert answered(stub, forged, refund, 5) == forged


def test_ask_returns_its_answer_verbatim_and_offers_resume(stub: StubFramework) -> None:
    ask = make_ask(stub)
    question = parked(ask, {"ok": Decimal("1.50")})
    assert (question.question, question.allowed_actions) == ({"ok": "1.50"}, ("resume",))
    assert question.source == {"function": None, "framework": "stub"}
    stub.rerun()
    assert answered(stub, None, ask, {"ok": Decimal("1.50")}) is None


def test_a_question_above_200_kib_is_refused_at_the_ask_and_names_the_largest_argument(
    stub: StubFramework,
) -> None:
    @make_wait(stub)
    def send(note: str, image: str) -> None: ...

    with pytest.raises(QuestionTooLarge, match="reference") as refused:
        send("small", "é" * 110_000)
    assert refused.value.path == "args.image"
    assert stub.asked == []
    parked(send, "small", "e" * 200_000)


def test_a_question_without_a_json_form_names_the_path_before_anything_parks(stub: StubFramework) -> None:
    @make_wait(stub)
    def send(order: Any) -> None: ...

    loop: list[Any] = [1, 2, 3]
    loop.append({"x": loop})
    with pytest.raises(QuestionError, match="contains itself") as refused:
        send({"items": loop})
    assert refused.value.path == "args.order.items[3].x"
    assert stub.asked == []


@pytest.mark.anyio
async def test_a_coroutine_waits_like_a_function_and_stays_one(stub: StubFramework) -> None:
    async def over(amount: int) -> bool:
        return amount > 100

    @make_wait(stub)(when=over)
    async def refund(amount: int) -> Any:
        wait = current_wait()
        assert wait is not None
        return amount, wait.asked

    assert inspect.iscoroutinefunction(refund)
    assert await refund(5) == (5, False)
    with pytest.raises(Parked) as stopped:
        await refund(500)
    fingerprint = Question.unpack("q-1", stopped.value.value).fingerprint
    assert fingerprint is not None
    stub.answers.append(WrappedAnswer(answer=APPROVE, fingerprint=fingerprint).to_value())
    stub.rerun()
    assert await refund(500) == (500, True)


def test_an_async_when_on_a_plain_function_asks_since_nobody_awaits_it(stub: StubFramework) -> None:
    async def over(amount: int) -> bool:
        return False

    @make_wait(stub)(when=over)
    def refund(amount: int) -> None: ...

    parked(refund, 1)
