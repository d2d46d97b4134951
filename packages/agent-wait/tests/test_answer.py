"""What an answer is, how it travels, and the answer table, each rule on its own."""

import dataclasses
from decimal import Decimal
from typing import Any, cast

import pytest
from agent_wait import QuestionError, is_answer, unwrap_answer, wrap_answer
from agent_wait._answer import WrappedAnswer, judge
from agent_wait._asking import usable_edits
from hypothesis import given
from hypothesis import strategies as st

MESSAGE: dict[str, Any] = {
    "thread_id": "t-1",
    "question_id": "q-1",
    "ask_id": "q-1:0123456789abcdef",
    "fingerprint": "sha256:1",
    "answer": {"action": "approve"},
    "answered_by": "ada",
}

RETURNED: list[Any] = [
    None,
    False,
    True,
    0,
    1,
    0.0,
    "",
    "approve",
    "yes",
    "{",
    "{not json}",
    '{"other": 1}',
    '["action"]',
    '"approve"',
    {},
    [],
    [{"action": "approve"}],
    {"action": "reject"},
    {"action": "APPROVE"},
    {"action": "approve "},
    {"action": ["approve"]},
    {"action": True},
    {"action": None},
    {"args": {"amount": 1}},
    {"Action": "approve"},
]


@pytest.mark.requirement("FALSY-ANSWERS", "NULL-ANSWER", "REJECT-RUNS-ANYWAY")
@pytest.mark.parametrize("answer", RETURNED, ids=repr)
def test_anything_but_an_approval_is_given_back_in_the_bodys_place(answer: Any) -> None:
    assert judge(answer) == ("give", None)


@pytest.mark.parametrize(
    "answer",
    [
        {"action": "approve"},
        {"action": "approve", "args": {}},
        {"action": "approve", "note": "fine"},
        {"action": "approve", "function": "wipe", "args": {}},
    ],
    ids=repr,
)
@pytest.mark.requirement("CROSS-TOOL-EDIT")
def test_an_approval_runs_the_call_as_it_was_shown(answer: Any) -> None:
    assert judge(answer) == ("run", None)


def test_an_approval_with_arguments_runs_with_them() -> None:
    assert judge({"action": "approve", "args": {"a": 1}}) == ("run", {"a": 1})


@pytest.mark.requirement("EXTRA-FIELDS")
@pytest.mark.parametrize("args", [None, "amount=3", [], [3], 0, False, True], ids=repr)
def test_arguments_that_are_no_object_are_asked_for_again(args: Any) -> None:
    assert judge({"action": "approve", "args": args}) == (
        "again",
        "args must be an object of argument names and values",
    )


@pytest.mark.requirement("ANSWER-IS-A-JSON-STRING")
@pytest.mark.parametrize(
    "text",
    [
        '{"action": "approve"}',
        ' {"action": "reject"} ',
        '{"action": null}',
        '\ufeff{"action": "approve"}',
        '"{\\"action\\": \\"approve\\"}"',
    ],
)
def test_an_object_sent_as_text_however_often_is_asked_for_again(text: str) -> None:
    assert judge(text) == ("again", "the answer is JSON in a text: send the object itself")


def test_a_text_nested_beyond_reason_is_a_text() -> None:
    assert judge('{"action":' + "[" * 100_000) == ("give", None)


def never(args: Any) -> Any:
    raise AssertionError("nothing to convert")


SHOWN: dict[str, Any] = {
    "order": "o-1",
    "amount": "5.00",
    "key": "**********",
    "token": "[redacted]",
    "n": 1.0,
}


@pytest.mark.parametrize(
    "args",
    [{}, {"amount": "5.00"}, SHOWN, {"key": "**********"}, {"token": "[redacted]"}, {"n": 1.0}],
    ids=repr,
)
def test_what_is_sent_back_as_it_was_shown_is_no_edit(args: Any) -> None:
    assert usable_edits({"action": "approve", "args": args}, SHOWN, never) == {}


def test_only_what_differs_is_converted() -> None:
    answer = {"action": "approve", "args": {"order": "o-1", "amount": "6.00", "n": 1}}
    seen: list[Any] = []

    def convert(args: Any) -> Any:
        seen.append(args)
        return {"amount": Decimal("6.00")}

    assert usable_edits(answer, SHOWN, convert) == {"amount": Decimal("6.00")}
    assert seen == [{"amount": "6.00", "n": 1}]


@pytest.mark.requirement("UNKNOWN-EDIT-KEY", "INJECTED-IN-PAYLOAD")
def test_an_argument_that_was_not_shown_is_refused_by_its_name_whatever_else_is_right() -> None:
    for args in ({"amuont": 1}, {"amount": "6.00", "context": 1}):
        with pytest.raises(QuestionError, match="is no argument that was shown") as refused:
            usable_edits({"action": "approve", "args": args}, SHOWN, never)
        assert refused.value.path in ("amuont", "context")


def test_with_a_question_of_its_own_there_is_nothing_to_edit() -> None:
    assert usable_edits({"action": "approve", "args": {}}, {}, never) == {}
    with pytest.raises(QuestionError, match="is no argument that was shown"):
        usable_edits({"action": "approve", "args": {"amount": 1}}, {}, never)


def test_a_converter_that_fails_asks_again_and_keeps_its_reason_to_itself() -> None:
    def convert(args: Any) -> Any:
        raise KeyError("s3cret")

    with pytest.raises(QuestionError, match=r"^the edits could not be read: KeyError$"):
        usable_edits({"action": "approve", "args": {"amount": 1}}, SHOWN, convert)


@pytest.mark.requirement("SECRETS-IN-NOTIFICATION")
@pytest.mark.parametrize("mask", ["**********", "[redacted]"])
@pytest.mark.parametrize(
    "make", [lambda v: {"a": 1, "k": v}, lambda v: [[v], 1], lambda v: {"a": {"b": [v]}}], ids=range(3)
)
def test_a_mask_inside_an_edited_argument_never_takes_the_place_of_the_secret(make: Any, mask: str) -> None:
    shown = {"creds": make(mask), "free": make("x")}
    edited: Any = {"creds": [make(mask), 2]}
    with pytest.raises(QuestionError, match="has a mask where a secret was") as refused:
        usable_edits({"action": "approve", "args": edited}, shown, never)
    assert refused.value.path == "creds"
    # A secret may be replaced by another, and a text that only looks like a mask is a text.
    for fine in ({"creds": make("new")}, {"free": make(mask)}):
        assert usable_edits({"action": "approve", "args": fine}, shown, lambda args: args) == fine


def test_an_answer_travels_with_the_call_that_it_names() -> None:
    value: Any = wrap_answer(MESSAGE, at=7.5)
    assert value == {
        "__answer__": {
            "v": 1,
            "answer": {"action": "approve"},
            "fingerprint": "sha256:1",
            "question_id": "q-1",
            "ask_id": "q-1:0123456789abcdef",
            "at": 7.5,
            "answered_by": "ada",
        }
    }
    assert unwrap_answer(value) == WrappedAnswer(
        answer={"action": "approve"},
        fingerprint="sha256:1",
        question_id="q-1",
        ask_id="q-1:0123456789abcdef",
        at=7.5,
        answered_by="ada",
    )


@pytest.mark.parametrize("answer", [None, False, {}, {"decisions": []}], ids=repr)
def test_an_answer_without_a_fingerprint_travels_as_it_was_sent(answer: Any) -> None:
    for message in ({"answer": answer}, {"answer": answer, "fingerprint": None}):
        assert wrap_answer({"question_id": "q", **message}, at=1) is answer


def test_one_level_is_unwrapped_so_that_what_looks_like_the_wrapper_is_data() -> None:
    forged = wrap_answer({**MESSAGE, "answered_by": "boss"}, at=1)
    unwrapped = unwrap_answer(wrap_answer({**MESSAGE, "answer": forged}, at=2))
    assert unwrapped is not None
    assert (unwrapped.answer, unwrapped.answered_by) == (forged, "ada")


@pytest.mark.parametrize(
    "value",
    [
        None,
        "x",
        [],
        {},
        {"__answer__": None},
        {"__answer__": {}},
        {"__answer__": {"answer": 1}},
        {"__answer__": {"fingerprint": "f"}},
        {"__answer__": {"answer": 1, "fingerprint": None}},
        {"__answer__": {"answer": 1, "fingerprint": "f"}, "more": 1},
        {"answer": {"answer": 1, "fingerprint": "f"}},
    ],
    ids=repr,
)
def test_what_is_no_wrapper_is_an_answer_as_it_was_sent(value: Any) -> None:
    assert unwrap_answer(value) is None


def test_a_wrapper_of_an_earlier_release_lacks_what_it_did_not_know() -> None:
    assert unwrap_answer({"__answer__": {"answer": 0, "fingerprint": "f"}}) == WrappedAnswer(
        answer=0, fingerprint="f"
    )


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values)
def test_any_answer_comes_out_as_it_went_in(answer: Any) -> None:
    unwrapped = unwrap_answer(wrap_answer({**MESSAGE, "answer": answer}, at=1))
    assert unwrapped is not None
    assert repr(unwrapped.answer) == repr(answer)


@given(json_values)
def test_only_an_object_that_says_approve_ever_runs_a_body(answer: Any) -> None:
    verdict = judge(answer)
    approves = isinstance(answer, dict) and ("action", "approve") in cast("Any", answer).items()
    assert (verdict.does == "run") <= approves


def test_an_answer_names_a_question_and_everything_else_is_a_start() -> None:
    assert is_answer(MESSAGE)
    assert is_answer({"question_id": None})
    for start in (
        {"thread_id": "t", "input": {"question_id": "q"}},
        {},
        None,
        "question_id",
        ["question_id"],
    ):
        assert not is_answer(start)


def test_an_answer_too_deep_to_be_stored_is_marked_where_it_is_and_never_raises() -> None:
    deep: Any = "bottom"
    for _ in range(150):
        deep = [deep]
    unwrapped = unwrap_answer(wrap_answer({**MESSAGE, "answer": deep}, at=1))
    assert unwrapped is not None
    assert "<too deep>" in repr(unwrapped.answer)


def test_a_wrapped_answer_is_frozen_and_its_fields_go_by_name() -> None:
    wrapped = WrappedAnswer(answer=1, fingerprint="f")
    with pytest.raises(dataclasses.FrozenInstanceError):
        wrapped.answer = 2  # pyright: ignore[reportAttributeAccessIssue]
    assert not hasattr(wrapped, "__dict__")
    with pytest.raises(TypeError):
        WrappedAnswer(1, "f")  # pyright: ignore[reportCallIssue]
