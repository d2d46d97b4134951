"""The question as it is parked, and what can be read of it after any upgrade or damage."""

from typing import Any, cast

import pytest
from agent_wait import Question, QuestionError, WaitPolicy
from hypothesis import given
from hypothesis import strategies as st

GOOD: dict[str, Any] = {
    "question": {"function": "refund", "args": {}},
    "__wait__": {"timeout": "P1D"},
    "__source__": {"function": "refund", "framework": "stub"},
    "__ask__": {"v": 1, "fingerprint": "sha256:1", "attempt": 2, "asked_at": 5.5, "error": "no"},
}


def test_what_is_missing_is_filled_in_and_what_is_unknown_is_ignored() -> None:
    later = {**GOOD, "__later__": 1, "__ask__": {**GOOD["__ask__"], "v": 9, "urgency": 3}}
    question = Question.unpack("q-1", later)
    assert question == Question(
        "q-1",
        {"function": "refund", "args": {}},
        WaitPolicy(timeout="P1D"),
        fingerprint="sha256:1",
        attempt=2,
        asked_at=5.5,
        source={"function": "refund", "framework": "stub"},
        error="no",
    )
    bare: Any = {"question": None, "__wait__": {}}
    assert Question.unpack("q-1", bare) == Question("q-1", None)


@pytest.mark.parametrize(
    "value",
    [
        "go on?",
        None,
        {"question": "go on?"},
        {"__wait__": {}},
        {"question": 1, "__wait__": None},
        {"question": 1, "__wait__": "P3D"},
        {"function": "refund", "args": {}},
        [GOOD],
    ],
    ids=repr,
)
def test_a_value_that_is_not_ours_is_a_bare_interrupt_and_all_of_it_the_question(value: Any) -> None:
    question = Question.unpack("q-1", value)
    assert question == Question("q-1", value)
    assert (question.fingerprint, question.source, question.policy) == (None, None, WaitPolicy())
    assert question.allowed_actions == ("resume",)


def test_a_bare_interrupt_is_never_refused() -> None:
    cycle: list[Any] = [object(), float("nan"), {1: "a", "1": "b"}]
    cycle.append(cycle)
    question: Any = Question.unpack("q-1", cycle).question
    assert question == ["object", "NaN", {"1": "a", "1#2": "b"}, "<cycle>"]


@pytest.mark.parametrize(
    ("damage", "path"),
    [
        ({"__ask__": {"attempt": -1}}, "__ask__"),
        ({"__ask__": {"attempt": "2"}}, "attempt"),
        ({"__ask__": {"attempt": True}}, "attempt"),
        ({"__ask__": {"asked_at": "now"}}, "asked_at"),
        ({"__ask__": {"asked_at": float("nan")}}, "__ask__"),
        ({"__ask__": {"asked_at": 1e300}}, "__ask__"),
        ({"__ask__": {"asked_at": -1}}, "__ask__"),
        ({"__ask__": {"fingerprint": 7}}, "fingerprint"),
        ({"__ask__": {"error": ["x"]}}, "error"),
        ({"__ask__": {"answer_schema": []}}, "answer_schema"),
        ({"__ask__": []}, "__ask__"),
        ({"__source__": "stub"}, "__source__"),
        ({"__wait__": {"timeout": "P1M"}}, "__wait__"),
        ({"__wait__": {"tags": 3}}, "__wait__"),
    ],
    ids=repr,
)
def test_a_value_of_ours_that_has_been_damaged_is_refused_by_its_part(damage: Any, path: str) -> None:
    with pytest.raises(QuestionError) as refused:
        Question.unpack("q-1", {**GOOD, **damage})
    assert refused.value.path == path


@pytest.mark.parametrize(
    "fields",
    [{"id": ""}, {"id": 7}, {"attempt": 0}, {"attempt": True}, {"attempt": 1.0}, {"asked_at": -1.0}],
    ids=repr,
)
def test_a_question_that_cannot_be_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"id|attempt|asked_at"):
        cast("Any", Question)(**{"id": "q", "question": 1, **fields})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=[])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(json_values, st.integers(1, 9), st.none() | st.floats(0, 1e10))
def test_a_question_reads_back_equal(value: Any, attempt: int, asked_at: float | None) -> None:
    question = Question("q-1", value, WaitPolicy(allowed_actions=("a",)), attempt=attempt, asked_at=asked_at)
    assert Question.unpack("q-1", question.pack()) == question


def test_who_asks_says_what_may_be_answered_unless_the_policy_does() -> None:
    function: Any = {"function": "refund", "framework": "stub"}
    nobody: Any = {"function": None, "framework": "stub"}
    assert Question("q", 1, source=function).allowed_actions == ("approve", "reject")
    assert Question("q", 1, source=nobody).allowed_actions == ("resume",)
    assert Question("q", 1).allowed_actions == ("resume",)
    assert Question("q", 1, WaitPolicy(allowed_actions=("x",)), source=function).allowed_actions == ("x",)
