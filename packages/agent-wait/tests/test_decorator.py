"""The decorator on every kind of function: what is published, what is kept, what is refused."""

import functools
import inspect
import typing
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, cast

import postponed
import pytest
from agent_wait import (
    PolicyError,
    Question,
    QuestionError,
    QuestionTooLarge,
    WaitPolicy,
    current_wait,
    make_ask,
    make_wait,
)
from agent_wait._answer import WrappedAnswer
from agent_wait.testing import Parked, StubFramework

APPROVE = {"action": "approve"}


class Injecting(StubFramework):
    """Injects by annotation, and has pydantic at hand."""

    def is_injected(self, parameter: inspect.Parameter, annotation: Any) -> bool:
        if typing.get_origin(annotation) is typing.Annotated:
            annotation = typing.get_args(annotation)[0]
        members = typing.get_args(annotation) or (annotation,)
        return postponed.Context in members or super().is_injected(parameter, annotation)

    def convert_edits(self, function: Callable[..., Any], args: Any) -> Any:
        from agent_wait._convert import convert_edits

        return convert_edits(function, args)

    def schema_for(self, function: Callable[..., Any]) -> Any:
        from agent_wait._convert import schema_for

        return schema_for(function)


@pytest.fixture
def stub() -> Injecting:
    return Injecting()


def parked(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Question:
    with pytest.raises(Parked) as stopped:
        function(*args, **kwargs)
    return Question.unpack("q-1", stopped.value.value)


def answered(stub: StubFramework, answer: Any, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    question = parked(call, *args, **kwargs)
    assert question.fingerprint is not None
    stub.answers.append(WrappedAnswer(answer=answer, fingerprint=question.fingerprint, at=9.0).to_value())
    stub.rerun()
    return call(*args, **kwargs)


@pytest.mark.requirement("WRAPPER-HIDES-SIGNATURE", "INJECTED-IN-PAYLOAD")
def test_under_postponed_annotations_one_name_that_cannot_be_seen_hides_no_other(stub: Injecting) -> None:
    pay: Callable[..., Any] = make_wait(stub)(cast("Any", postponed).pay)
    later, context = postponed.Later(), postponed.Context()
    question = parked(pay, Decimal("5.00"), 1, later, context, context, context, b"\xff")
    assert question.question == {
        "function": "pay",
        "args": {"amount": "5.00", "unseen": 1, "later": "Later", "data": "/w=="},
    }
    stub.rerun()
    edit = {"action": "approve", "args": {"amount": "6.50", "data": "aGk="}}
    assert answered(stub, edit, pay, Decimal("5.00"), 1, later, context) == (Decimal("6.50"), later, b"hi")
    annotations = inspect.signature(pay).parameters
    assert annotations["amount"].annotation is Decimal
    assert annotations["later"].annotation is postponed.Later
    assert annotations["unseen"].annotation == "Unseen"
    stub.answers.clear()
    stub.rerun()
    refused = {"action": "approve", "args": {"unseen": 2}}
    fingerprint = parked(pay, Decimal("5.00"), 1, later, context).fingerprint
    assert fingerprint is not None
    stub.answers.append(WrappedAnswer(answer=refused, fingerprint=fingerprint).to_value())
    stub.rerun()
    assert parked(pay, Decimal("5.00"), 1, later, context).error == (
        "unseen: cannot be edited: its type is not understood"
    )


def test_a_name_that_is_defined_after_the_decorator_is_looked_up_at_the_first_call(stub: Injecting) -> None:
    space: dict[str, Any] = {"Decimal": Decimal}
    exec("def pay(amount: 'Amount'): return amount", space)  # a module that goes on below
    pay = make_wait(stub)(space["pay"])
    space["Amount"] = Decimal
    edit = {"action": "approve", "args": {"amount": "6.50"}}
    assert answered(stub, edit, pay, Decimal("5.00")) == Decimal("6.50")


def test_a_partial_waits_under_the_name_and_the_words_of_its_function(stub: Injecting) -> None:
    def pay(a: int, b: int, *, c: int = 3) -> Any:
        """Pay."""
        return a, b, c

    for made in (partial(pay, 1), partial(partial(pay, 1), c=5)):
        waiting: Any = make_wait(stub)(made)
        assert (waiting.__name__, waiting.__doc__, waiting.__module__) == ("pay", "Pay.", __name__)
        assert waiting.__qualname__.endswith("pay")
        assert waiting.__wrapped__ is made
    assert parked(make_wait(stub)(partial(pay, 1, c=5)), 2).question == {
        "function": "pay",
        "args": {"b": 2, "c": 5},
    }


def test_a_bound_method_waits(stub: Injecting) -> None:
    class Desk:
        def pay(self, a: int) -> Any:
            return self, a

    desk = Desk()
    assert answered(stub, APPROVE, make_wait(stub)(desk.pay), 1) == (desk, 1)


def test_what_another_decorator_has_wrapped_waits_by_the_signature_below(stub: Injecting) -> None:
    def pay(a: int, b: Decimal = Decimal("1.0")) -> Any:
        return a, b

    @functools.wraps(pay)
    def logged(*args: Any, **kwargs: Any) -> Any:
        return "logged", pay(*args, **kwargs)

    waiting = make_wait(stub)(logged)
    edit = {"action": "approve", "args": {"b": "2.0"}}
    assert answered(stub, edit, waiting, 1) == ("logged", (1, Decimal("2.0")))


def test_attributes_of_the_function_are_kept_and_an_abstract_method_stays_one(stub: Injecting) -> None:
    import abc

    class Base(abc.ABC):
        @make_wait(stub)
        @abc.abstractmethod
        def pay(self) -> None: ...

    assert inspect.isabstract(Base)

    def pay() -> None: ...

    pay.tag = "x"  # pyright: ignore[reportFunctionMemberAccess]
    assert make_wait(stub)(pay).tag == "x"  # pyright: ignore[reportFunctionMemberAccess]


@pytest.mark.requirement("DECISION-IN-SCHEMA")
@pytest.mark.parametrize(
    "answer", [APPROVE, {"action": "reject"}, None, False, 0, "", [], '{"action": "approve"}'], ids=repr
)
def test_a_function_with_a_decision_runs_on_any_answer_and_receives_it_verbatim(
    stub: Injecting, answer: Any
) -> None:
    def first(decision: Any, a: int) -> Any:
        return decision, a

    def only(a: int, /, decision: Any) -> Any:
        return decision, a

    def last(a: int, *more: int, decision: Any = "none", **rest: int) -> Any:
        return decision, a

    for function in (first, only, last):
        stub.answers.clear()
        stub.rerun()
        waiting: Any = make_wait(stub)(function)
        assert "decision" not in inspect.signature(waiting).parameters
        assert answered(stub, answer, waiting, 5) == (answer, 5)


def test_an_approval_with_edits_reaches_a_decision_verbatim_and_changes_nothing(stub: Injecting) -> None:
    @make_wait(stub)(decision="verdict")
    def pay(amount: int, verdict: Any = None) -> Any:
        return amount, verdict

    edit = {"action": "approve", "args": {"amount": 9, "amuont": "x"}}
    assert answered(stub, edit, pay, 5) == (5, edit)


def test_a_decision_that_is_misspelt_or_takes_several_is_refused_where_it_is_written(stub: Injecting) -> None:
    def pay(amount: int, verdict: Any = None) -> None: ...
    def stars(*decision: Any) -> None: ...
    def double(**decision: Any) -> None: ...

    with pytest.raises(TypeError, match="decision='verdcit' is no parameter of the function"):
        make_wait(stub)(decision="verdcit")(pay)
    for function in (stars, double):
        with pytest.raises(TypeError, match="takes one answer"):
            make_wait(stub)(function)
    assert make_wait(stub)(pay)


class Tool:
    """As a framework's tool: an object, no function."""

    name = "pay"


class CallableTool(Tool):
    def __call__(self) -> None: ...


async def agenerator() -> Any:
    yield 1


def generator() -> Any:
    yield 1


@pytest.mark.parametrize(
    "function",
    [Tool(), CallableTool(), Tool, partial(CallableTool()), property(lambda self: 1), None, [1]],
    ids=lambda value: type(value).__name__ + str(isinstance(value, type)),
)
def test_an_object_that_is_a_tool_already_is_refused_with_the_cure_bare_or_called(
    stub: Injecting, function: Any
) -> None:
    wait: Any = make_wait(stub)
    for decorate in (wait(), wait) if function is not None else (wait(),):
        with pytest.raises(TypeError, match="put the tool decorator above @wait"):
            decorate(function)


@pytest.mark.parametrize(
    "function", [generator, agenerator, partial(generator), staticmethod(generator)], ids=range(4)
)
def test_a_generator_is_refused(stub: Injecting, function: Any) -> None:
    with pytest.raises(TypeError, match="a generator function cannot wait"):
        make_wait(stub)(function)


@pytest.mark.parametrize("policy", ["P3D", 60, 1.5, {"timeout": "P3D"}], ids=repr)
def test_what_looks_like_a_policy_and_is_none_is_refused(stub: Injecting, policy: Any) -> None:
    with pytest.raises(TypeError, match="takes a WaitPolicy, not"):
        make_wait(stub)(policy)
    with pytest.raises(TypeError, match="takes a WaitPolicy, not"):
        make_ask(stub)("go on?", policy)


def test_modes_and_announcers_that_contradict_each_other_are_refused(stub: Injecting) -> None:
    wait: Any = make_wait(stub)
    several: list[dict[str, Any]] = [{"mode": "later"}, {"mode": "async"}, {"announce": []}]
    for wrong in several:
        with pytest.raises(ValueError, match="mode"):
            wait(**wrong)


def test_ask_has_no_arguments_to_redact(stub: Injecting) -> None:
    with pytest.raises(PolicyError, match="ask\\(\\) has none"):
        make_ask(stub)("go on?", WaitPolicy(redact=("x",)))


def test_ask_takes_the_policys_actions_and_needs_none(stub: Injecting) -> None:
    policy = WaitPolicy(allowed_actions=("yes", "no"), timeout="P1D", answer_schema={"type": "string"})
    question = parked(make_ask(stub), "go on?", policy)
    assert (question.allowed_actions, question.policy.timeout) == (("yes", "no"), "P1D")
    assert question.answer_schema is None


@pytest.mark.parametrize(
    "answer", [APPROVE, '{"action": "approve"}', {"action": "approve", "args": 1}, None, False]
)
def test_ask_hands_on_whatever_it_is_answered(stub: Injecting, answer: Any) -> None:
    assert answered(stub, answer, make_ask(stub), "go on?") == answer


def test_a_question_callable_that_must_be_awaited_is_refused(stub: Injecting) -> None:
    async def question(a: int) -> str:
        return "?"

    with pytest.raises(TypeError, match="nobody awaits it"):
        make_wait(stub)(question=question)(lambda a: a)


def test_what_when_and_question_may_ask_for(stub: Injecting) -> None:
    def function(a: int, /, b: int, context: Any = "ctx") -> Any:
        return a, b

    wait = make_wait(stub)
    assert parked(wait(question=lambda b, a: [a, b])(function), 1, 2).question == [1, 2]
    assert parked(wait(question=lambda context, *more: context)(function), 1, 2).question == "ctx"
    assert parked(wait(question=lambda **everything: everything)(function), 1, 2).question == {"a": 1, "b": 2}
    assert parked(wait(question=lambda c=7: c)(function), 1, 2).question == 7
    never_called: list[tuple[Any, str]] = [
        (lambda c: c, "asks for 'c'"),
        (eval("lambda a, /: a"), "positional-only"),  # ruff would take the slash away
        ("a > 1", "is a callable"),
    ]
    for wrong, why in never_called:
        for role in ("when", "question"):
            with pytest.raises(TypeError, match=why):
                cast("Any", wait)(**{role: wrong})(function)


def test_a_question_that_raises_reaches_the_caller_and_nothing_parks(stub: Injecting) -> None:
    def question(a: int) -> Any:
        raise KeyError(a)

    with pytest.raises(KeyError):
        make_wait(stub)(question=question)(lambda a: a)(1)
    assert stub.asked == []


class Tracking(StubFramework):
    """Wants to know of calls that are let through, and sees answers ahead."""

    def answered(self, value: Any, call_args: Any) -> bool:
        return bool(self.answers)


def test_a_call_that_is_let_through_never_fails_for_want_of_a_name() -> None:
    stub = Tracking()

    def question(a: Any) -> Any:
        raise KeyError

    cycle: list[Any] = []
    cycle.append(cycle)
    wait = make_wait(stub)
    assert wait(when=lambda a: False, question=question)(lambda a: "ran")(1) == "ran"
    assert wait(when=lambda a: False)(lambda a: "ran")(cycle) == "ran"
    assert make_wait(StubFramework())(when=lambda a: False)(lambda a: "ran")(cycle) == "ran"


@pytest.mark.requirement("WHEN-FLIPS-ON-REPLAY")
def test_an_answer_that_was_given_counts_whatever_when_says_later() -> None:
    stub, asks = Tracking(), [True]

    @make_wait(stub)(when=lambda a: asks[0])
    def pay(a: int) -> str:
        return "paid"

    first = parked(pay, 1)
    assert first.fingerprint is not None
    asks[0] = False
    stub.answers.append(WrappedAnswer(answer={"action": "reject"}, fingerprint=first.fingerprint).to_value())
    stub.rerun()
    assert pay(1) == {"action": "reject"}
    stub.answers.clear()
    stub.rerun()
    assert pay(1) == "paid"


async def test_a_when_that_raises_or_says_anything_else_asks_also_when_awaited(stub: Injecting) -> None:
    async def raises(a: int) -> bool:
        raise KeyError

    async def says_nothing(a: int) -> None: ...

    async def pay(a: int) -> str:
        return "paid"

    predicates: list[Callable[..., Any]] = [raises, says_nothing, lambda a: 0, lambda a: "no"]
    for when in predicates:
        with pytest.raises(Parked):
            await make_wait(stub)(when=when)(pay)(1)
    assert await make_wait(stub)(when=lambda a: False)(pay)(1) == "paid"


def test_a_park_inside_a_body_passes_through_and_the_outer_wait_is_around_it_again(stub: Injecting) -> None:
    ask = make_ask(stub)

    @make_wait(stub)
    def inner(a: int) -> Any:
        wait = current_wait()
        assert wait is not None
        return wait.answer

    @make_wait(stub)
    def outer(a: int) -> Any:
        first = ask("sure?")
        seen = inner(a)
        wait = current_wait()
        assert wait is not None
        return first, seen, wait.answer

    answers: list[Any] = [{"action": "approve", "n": 1}, "yes", {"action": "approve", "n": 2}]
    for answer in answers:
        fingerprint = parked(outer, 1).fingerprint
        assert fingerprint is not None
        stub.answers.append(WrappedAnswer(answer=answer, fingerprint=fingerprint).to_value())
        stub.rerun()
    assert outer(1) == ("yes", answers[2], answers[0])
    assert current_wait() is None


def test_a_body_that_raises_leaves_no_wait_behind(stub: Injecting) -> None:
    @make_wait(stub)
    def pay(a: int) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        answered(stub, APPROVE, pay, 1)
    assert current_wait() is None


def test_who_answered_what_is_known_in_the_body(stub: Injecting) -> None:
    @make_wait(stub)
    def pay(a: int) -> Any:
        wait = current_wait()
        assert wait is not None
        return wait.answer, wait.answered_by, wait.question_id, wait.thread_id, wait.asked

    fingerprint = parked(pay, 1).fingerprint
    assert fingerprint is not None
    wrapped = WrappedAnswer(answer=APPROVE, fingerprint=fingerprint, question_id="q-1", answered_by="ada")
    stub.answers.append(wrapped.to_value())
    stub.rerun()
    assert pay(1) == (APPROVE, "ada", "q-1", "t-1", True)


@pytest.mark.requirement("BAD-ANSWER-POISONS-THREAD")
def test_fifty_unusable_answers_in_a_row_leave_the_question_open(stub: Injecting) -> None:
    @make_wait(stub)
    def pay(a: int) -> str:
        return "paid"

    fingerprint = parked(pay, 1).fingerprint
    assert fingerprint is not None
    for n in range(50):
        stub.answers.append(
            WrappedAnswer(
                answer={"action": "approve", "args": 0}, fingerprint=fingerprint, at=float(n)
            ).to_value()
        )
    stub.rerun()
    again = parked(pay, 1)
    assert (again.attempt, again.asked_at, again.fingerprint) == (51, 49.0, fingerprint)
    stub.answers.append(WrappedAnswer(answer=APPROVE, fingerprint=fingerprint).to_value())
    stub.rerun()
    assert pay(1) == "paid"


def test_the_reason_for_asking_again_has_a_limit_and_is_clean(stub: Injecting) -> None:
    @make_wait(stub)
    def pay(a: int) -> None: ...

    fingerprint = parked(pay, 1).fingerprint
    assert fingerprint is not None
    answer = {"action": "approve", "args": {"\ud800" + "x" * 1_000_000: 1}}
    stub.answers.append(WrappedAnswer(answer=answer, fingerprint=fingerprint).to_value())
    stub.rerun()
    error = parked(pay, 1).error
    assert error is not None
    assert len(error) == 1_000
    assert error.startswith("\\ud800xxx")


def test_a_framework_that_hands_on_unusable_answers_for_ever_is_told_apart_from_a_loop() -> None:
    class Stuck(StubFramework):
        def interrupt(self, value: Any, call_args: Any) -> Any:
            return {"action": "approve", "args": 0}

    from agent_wait import WaitError

    with pytest.raises(WaitError, match="stub gave 10000 unusable answers"):
        make_wait(Stuck())(lambda a: a)(1)


def test_the_deepest_question_that_is_taken_reads_back_whole(stub: Injecting) -> None:
    @make_wait(stub)
    def send(tree: Any) -> None: ...

    def nested(depth: int) -> Any:
        tree: Any = 1
        for _ in range(depth):
            tree = [tree]
        return tree

    question = parked(send, nested(98))
    assert question.question == {"function": "send", "args": {"tree": nested(98)}}
    with pytest.raises(QuestionError, match="more than 100 levels deep") as refused:
        send(nested(99))
    assert refused.value.path == "args.tree" + "[0]" * 98


@pytest.mark.parametrize("size", [200 * 1024, 200 * 1024 + 1])
def test_the_size_of_a_question_is_counted_in_bytes_to_the_last_one(stub: Injecting, size: int) -> None:
    @make_wait(stub)
    def send(text: str) -> None: ...

    room = size - len('{"args":{"text":""},"function":"send"}')
    text = "é" * (room // 2) + "x" * (room % 2)
    if size <= 200 * 1024:
        parked(send, text)
        return
    with pytest.raises(QuestionTooLarge, match="204,801 bytes of JSON, above 204,800; pass a reference"):
        send(text)


def test_the_largest_argument_is_the_largest_in_bytes(stub: Injecting) -> None:
    @make_wait(stub)
    def send(ascii: str, accents: str) -> None: ...

    with pytest.raises(QuestionTooLarge) as refused:
        send("x" * 120_000, "é" * 100_000)
    assert refused.value.path == "args.accents"
    others: list[tuple[Callable[..., Any], Any]] = [
        (make_ask(stub), "x" * 300_000),
        (make_ask(stub), {"args": {}, "big": "x" * 300_000}),
        (make_wait(stub)(question=lambda a: "x" * 300_000)(lambda a: a), 1),
    ]
    for ask, question in others:
        with pytest.raises(QuestionTooLarge) as refused:
            ask(question)
        assert refused.value.path == "question"


def test_the_trace_of_the_span_that_is_current_goes_with_the_question(stub: Injecting) -> None:
    from opentelemetry import trace

    @make_wait(stub)
    def pay(a: int) -> None: ...

    assert parked(pay, 1).traceparent is None
    context = trace.SpanContext(
        0xAF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331, False, trace.TraceFlags(1)
    )
    with trace.use_span(trace.NonRecordingSpan(context)):
        assert parked(pay, 1).traceparent == "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
