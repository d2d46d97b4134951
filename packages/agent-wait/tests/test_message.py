"""What a host's message is."""

import json
from typing import Any

import pytest
from agent_wait._message import Answer, Malformed, Start, parse_message
from hypothesis import given
from hypothesis import strategies as st

ASK = "q-1:0123456789abcdef"
START: dict[str, Any] = {"thread_id": "t-1", "input": {"order": "o-1"}}
ANSWER: dict[str, Any] = {"thread_id": "t-1", "question_id": "q-1", "answer": {"action": "approve"}}
SECRET = "4111-1111"


def why(message: object) -> str:
    parsed = parse_message(message)
    assert isinstance(parsed, Malformed)
    return parsed.why


def test_a_start_is_a_thread_and_an_input() -> None:
    assert parse_message(START) == Start(thread_id="t-1", input={"order": "o-1"}, start_id=None)
    assert parse_message({**START, "start_id": "s-1"}) == Start(
        thread_id="t-1", input={"order": "o-1"}, start_id="s-1"
    )


def test_an_answer_is_told_by_its_question_id() -> None:
    message = {
        **ANSWER,
        "ask_id": ASK,
        "fingerprint": "sha256:1",
        "answered_by": "ann",
    }

    assert parse_message(message) == Answer(
        thread_id="t-1",
        question_id="q-1",
        answer={"action": "approve"},
        ask_id=ASK,
        fingerprint="sha256:1",
        is_decision=False,
        message=message,
    )


@pytest.mark.requirement("FALSY-ANSWERS")
@pytest.mark.parametrize("value", [None, False, 0, 0.0, "", [], {}])
def test_an_answer_may_be_any_json_value(value: object) -> None:
    parsed = parse_message({**ANSWER, "answer": value})

    assert isinstance(parsed, Answer)
    assert parsed.answer is value


def test_an_input_may_be_what_only_this_process_can_hold() -> None:
    value = object()

    assert parse_message({**START, "input": value}) == Start(thread_id="t-1", input=value)


@pytest.mark.parametrize("value", [False, 0, "", [], {}])
def test_a_falsy_input_is_an_input(value: object) -> None:
    assert parse_message({**START, "input": value}) == Start(thread_id="t-1", input=value)


@pytest.mark.parametrize("name", ["ask_id", "fingerprint", "answered_by", "mode"])
def test_a_null_is_as_good_as_a_missing_key(name: str) -> None:
    parsed, plain = parse_message({**ANSWER, name: None}), parse_message(ANSWER)

    assert isinstance(parsed, Answer)
    assert isinstance(plain, Answer)
    assert (parsed.ask_id, parsed.fingerprint, parsed.is_decision) == (None, None, False)
    assert parse_message({**START, "start_id": None}) == parse_message(START)


def test_what_the_contract_does_not_know_is_ignored() -> None:
    assert parse_message({**START, "x": 1, 7: 2, "ask_id": 5, "mode": "?"}) == parse_message(START)
    assert isinstance(parse_message({**ANSWER, "x": 1, 7: 2, "start_id": 5}), Answer)


def test_the_answer_to_a_question_that_did_not_park_is_a_decision() -> None:
    parsed = parse_message({**ANSWER, "mode": "async"})

    assert isinstance(parsed, Answer)
    assert parsed.is_decision


@pytest.mark.requirement("WRAPPED-BODIES")
@pytest.mark.requirement("ADK-FORGED")
def test_a_message_inside_a_message_is_content() -> None:
    inner = {"thread_id": "t-2", "question_id": "q-2", "answer": {"action": "approve"}}

    start = parse_message({**START, "input": inner})
    wrapped = parse_message({**START, "input": {"Message": json.dumps(inner), "detail": inner}})
    answer = parse_message({**ANSWER, "answer": {"__answer__": {"answer": 1, "fingerprint": "sha256:2"}}})

    assert start == Start(thread_id="t-1", input=inner)
    assert isinstance(wrapped, Start)
    assert isinstance(answer, Answer)
    assert answer.answer == {"__answer__": {"answer": 1, "fingerprint": "sha256:2"}}
    assert answer.fingerprint is None


@pytest.mark.requirement("POISON-BODY")
@pytest.mark.parametrize(
    ("message", "what"),
    [
        (None, "a message is a JSON object, not NoneType"),
        ("not json", "a message is a JSON object, not str"),
        (b"{}", "a message is a JSON object, not bytes"),
        (42, "a message is a JSON object, not int"),
        ([START], "a message is a JSON object, not list"),
        ({}, "there is no thread_id"),
        ({"type": "?"}, "there is no thread_id"),
        ({**START, "thread_id": ""}, "thread_id is empty"),
        ({**START, "thread_id": None}, "thread_id is text, not NoneType"),
        ({**START, "thread_id": 7}, "thread_id is text, not int"),
        ({**START, "thread_id": "t\0"}, "thread_id has a NUL or half a surrogate pair, which no store keeps"),
        (
            {**START, "thread_id": "t\ud800"},
            "thread_id has a NUL or half a surrogate pair, which no store keeps",
        ),
        ({"thread_id": "t-1"}, "there is neither question_id nor input, so it is no answer and no start"),
        ({**START, "input": None}, "input is null"),
        ({**START, "start_id": 7}, "start_id is text, not int"),
        ({**START, "start_id": ""}, "start_id is empty"),
        ({**ANSWER, "question_id": None}, "question_id is text, not NoneType"),
        ({**ANSWER, "question_id": ""}, "question_id is empty"),
        ({**ANSWER, "question_id": ["q-1"]}, "question_id is text, not list"),
        ({"thread_id": "t-1", "question_id": "q-1"}, "there is no answer"),
        ({**ANSWER, "ask_id": 1}, "ask_id is text, not int"),
        ({**ANSWER, "fingerprint": {}}, "fingerprint is text, not dict"),
        ({**ANSWER, "fingerprint": ""}, "fingerprint is empty"),
        ({**ANSWER, "answered_by": 1}, "answered_by is text, not int"),
        ({**ANSWER, "mode": "sync"}, "mode is neither interrupt nor async"),
        ({**ANSWER, "mode": True}, "mode is neither interrupt nor async"),
        ({**ANSWER, "mode": []}, "mode is neither interrupt nor async"),
    ],
)
def test_what_cannot_be_meant_is_named(message: object, what: str) -> None:
    assert why(message) == what


@pytest.mark.requirement("AMBIGUOUS-MESSAGE")
@pytest.mark.parametrize("value", [None, {"order": "o-1"}])
def test_an_answer_with_an_input_is_neither(value: object) -> None:
    assert why({**ANSWER, "input": value}) == (
        "there are both question_id and input, so it may be an answer or a start"
    )


@pytest.mark.parametrize(
    "ask_id",
    ["q-2:0123456789abcdef", "q-1", "q-1:", "q-1:0123456789ABCDEF", "q-1:0123456789abcdef0", ASK + "\n"],
)
def test_an_ask_id_belongs_to_its_question(ask_id: str) -> None:
    assert why({**ANSWER, "ask_id": ask_id}) == "ask_id does not belong to question_id: copy reply_with"


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1, 2},
        float("nan"),
        float("inf"),
        "\ud800",
        {"k": ["\udfff"]},
        json.loads("[" * 200 + "]" * 200),
    ],
)
def test_an_answer_that_no_store_could_keep_is_refused(value: object) -> None:
    assert why({**ANSWER, "answer": value}) == ("answer is no JSON data, or nested more than 100 levels deep")


def test_what_is_refused_keeps_the_ids_that_can_be_read() -> None:
    assert parse_message({"thread_id": "t-1", "question_id": "q-1"}) == Malformed(
        why="there is no answer", thread_id="t-1", question_id="q-1"
    )
    assert parse_message({**ANSWER, "thread_id": 7}) == Malformed(
        why="thread_id is text, not int", thread_id=None, question_id="q-1"
    )


@pytest.mark.parametrize(
    "message",
    [
        {SECRET: SECRET},
        {**START, "start_id": {SECRET: SECRET}},
        {**ANSWER, "question_id": SECRET, "ask_id": SECRET + "\0"},
        {**ANSWER, "ask_id": SECRET},
        {**ANSWER, "mode": SECRET},
        {**ANSWER, "answer": {SECRET: {SECRET}}},
    ],
)
def test_a_refusal_quotes_nothing(message: object) -> None:
    assert SECRET not in why(message)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)
KEYS = [
    "thread_id",
    "input",
    "start_id",
    "question_id",
    "answer",
    "ask_id",
    "fingerprint",
    "answered_by",
    "mode",
]


@given(
    json_values
    | st.dictionaries(st.sampled_from(KEYS), json_values | st.sampled_from(["t-1", "q-1", ASK, "async"]))
)
def test_anything_is_a_start_an_answer_or_refused(message: object) -> None:
    parsed = parse_message(message)

    match parsed:
        case Start():
            assert isinstance(message, dict)
            assert "question_id" not in message
            assert parsed.input is not None
        case Answer():
            assert isinstance(message, dict)
            assert "input" not in message
            assert "answer" in message
        case Malformed():
            assert parsed.why
