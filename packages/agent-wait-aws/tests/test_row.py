import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from agent_wait import QuestionError, WaitEnvelope
from agent_wait_aws import envelope_of, row_key
from agent_wait_aws._row import item_of, item_size
from boto3.dynamodb.types import TypeDeserializer
from hypothesis import given
from hypothesis import strategies as st

Make = Callable[..., WaitEnvelope]

FULL = WaitEnvelope(
    type="wait.created",
    event_id="01KB9Z3Y8ZV5T0W3Q2R1P0N9M8",
    dedupe_key="wait.created:q-1:0123456789abcdef",
    thread_id="thread-1",
    question_id="q-1",
    question={"function": "issue_refund", "args": {"amount": 30.40, "n": [1.5]}},
    fingerprint=f"sha256:{0xAB:064x}",
    allowed_actions=("approve", "reject"),
    answer_schema={"oneOf": [{"minimum": 0.1}]},
    asked_at="2026-11-30T20:44:52Z",
    expires_at="2026-12-03T20:44:52Z",
    default={"action": "reject"},
    source={"function": "issue_refund", "framework": "langgraph"},
    attempt=2,
    error="amount: not a number",
    reply_to={"kind": "sqs", "url": "https://q"},
    reply_with={
        "thread_id": "thread-1",
        "question_id": "q-1",
        "ask_id": "q-1:0123456789abcdef",
        "fingerprint": None,
        "answer": None,
    },
    correlation={"job": "7"},
    tags={"team": "finance"},
    traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
)


def as_table_gives(item: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """As `boto3.resource("dynamodb").Table` reads it."""
    read: Any = TypeDeserializer().deserialize
    return {name: read(value) for name, value in item.items()}


def test_the_row_has_the_envelopes_fields_under_their_names() -> None:
    assert as_table_gives(item_of(FULL)) == {
        "pk": "THREAD#thread-1",
        "sk": "WAIT#q-1:0123456789abcdef",
        "type": "wait.created",
        "spec": "1",
        "event_id": "01KB9Z3Y8ZV5T0W3Q2R1P0N9M8",
        "dedupe_key": "wait.created:q-1:0123456789abcdef",
        "thread_id": "thread-1",
        "question_id": "q-1",
        "question": '{"function":"issue_refund","args":{"amount":30.4,"n":[1.5]}}',
        "fingerprint": f"sha256:{0xAB:064x}",
        "allowed_actions": ["approve", "reject"],
        "answer_schema": '{"oneOf":[{"minimum":0.1}]}',
        "asked_at": "2026-11-30T20:44:52Z",
        "expires_at": "2026-12-03T20:44:52Z",
        "default": '{"action":"reject"}',
        "source": '{"function":"issue_refund","framework":"langgraph"}',
        "attempt": Decimal(2),
        "error": "amount: not a number",
        "reply_to": '{"kind":"sqs","url":"https://q"}',
        "reply_with": (
            '{"thread_id":"thread-1","question_id":"q-1",'
            '"ask_id":"q-1:0123456789abcdef","fingerprint":null,"answer":null}'
        ),
        "correlation": {"job": "7"},
        "tags": {"team": "finance"},
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }


def test_what_is_null_is_left_out_but_for_the_deadline(make_envelope: Make) -> None:
    item = item_of(make_envelope())

    assert item["expires_at"] == {"S": "never"}
    assert not {"default", "error", "reply_to", "correlation", "traceparent", "answer_schema"} & item.keys()


@pytest.mark.requirement("DDB-FLOAT")
def test_it_reads_back_equal_in_either_form() -> None:
    item = item_of(FULL)

    for row in (item, as_table_gives(item)):
        assert envelope_of(row) == FULL
        assert envelope_of(row).to_json() == FULL.to_json()


@given(json_values, json_values)
def test_whatever_json_was_asked_reads_back_as_the_same_bytes(question: Any, default: Any) -> None:
    envelope = WaitEnvelope.from_json(json.dumps(FULL.to_dict() | {"question": question, "default": default}))

    row = as_table_gives(item_of(envelope))

    assert envelope_of(row).to_json() == envelope.to_json()


@pytest.mark.requirement("DDB-NUMBER-EDGES")
@pytest.mark.parametrize(
    "number",
    [2**127, int("1" * 39), 10**100, 1e100, 5e-324, 1.7976931348623157e308, -0.0, 1.0, 9007199254740993],
)
def test_a_number_that_dynamodb_has_no_room_for_keeps_every_digit(make_envelope: Make, number: float) -> None:
    row = as_table_gives(item_of(make_envelope(question={"n": number})))

    assert repr(envelope_of(row).question) == repr({"n": number})


@pytest.mark.requirement("DDB-TYPES")
def test_what_is_nested_deeper_than_dynamodb_allows_reads_back(make_envelope: Make) -> None:
    deep: Any = "end"
    for _ in range(100):
        deep = {"a": [deep]}

    assert envelope_of(item_of(make_envelope(question=deep))).question == deep


def test_lone_surrogates_reach_the_wire_as_escapes(make_envelope: Make) -> None:
    item = item_of(make_envelope(question="a\ud800b"))

    assert item["question"] == {"S": r'"a\ud800b"'}
    assert envelope_of(item).question == "a\ud800b"


def test_attributes_of_others_are_ignored_and_missing_ones_filled_in() -> None:
    others = {"status": "answered", "answered_by": "zoe", "answer": "{}", "ttl": Decimal(1)}
    row = as_table_gives(item_of(FULL)) | others
    del row["tags"], row["attempt"]

    read = envelope_of(row)

    assert (read.tags, read.attempt, read.question_id) == ({}, 1, "q-1")


@pytest.mark.parametrize(
    ("name", "value"),
    [("question", "{"), ("question", Decimal(1)), ("attempt", "x"), ("attempt", {}), ("tags", "x")],
)
def test_a_damaged_row_names_the_field(name: str, value: Any) -> None:
    with pytest.raises(QuestionError) as caught:
        envelope_of(as_table_gives(item_of(FULL)) | {name: value})

    assert caught.value.path == name


def test_what_is_no_row_is_refused() -> None:
    with pytest.raises(QuestionError):
        envelope_of({})
    with pytest.raises(QuestionError):
        envelope_of({"type": {"NULL": True}})


def test_the_key_is_readable_and_of_a_length_that_dynamodb_takes() -> None:
    assert row_key("thread-1", "q-1:ab") == {"pk": "THREAD#thread-1", "sk": "WAIT#q-1:ab"}

    long = row_key("é" * 1021, "é" * 510)
    assert len(long["pk"].encode()) <= 2048
    assert long["sk"].startswith("WAIT#sha256-")
    assert row_key("é" * 1020, "é" * 509)["sk"] == "WAIT#" + "é" * 509


def test_a_size_is_of_names_and_values() -> None:
    assert item_size({"pk": {"S": "é"}}) == 2 + 2
    assert item_size({"l": {"L": [{"S": "ab"}]}}) == 1 + 3 + 1 + 2
    assert item_size({"m": {"M": {"k": {"S": "ab"}}}}) == 1 + 3 + 1 + 1 + 2
    assert item_size({"n": {"N": "123456"}}) == 1 + 5
    assert item_size({"b": {"NULL": True}}) == 1 + 1
