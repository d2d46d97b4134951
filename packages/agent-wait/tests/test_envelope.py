"""The document that goes out: its fields, its bytes, and the way back."""

import json
from dataclasses import fields
from typing import Any

import pytest
from agent_wait import EntryPoint, FakeClock, Question, QuestionError, WaitEnvelope, WaitPolicy
from agent_wait._envelope import envelope_for
from agent_wait._ulid import new_ulid, ulid_seconds
from cloudevents.core.formats.json import JSONFormat
from hypothesis import given
from hypothesis import strategies as st

NAMED = f"sha256:{1:064x}"
NOW = 1_796_065_207.9
FULL = Question(
    "q-1",
    {"function": "refund", "args": {"order_id": "o-1", "amount": "41000.00"}},
    WaitPolicy(
        timeout="P3D",
        default={"action": "reject"},
        tags={"team": "finance"},
        correlation={"job": "7"},
    ),
    fingerprint=NAMED,
    attempt=2,
    asked_at=NOW,
    source={"function": "refund", "framework": "langgraph"},
    answer_schema={"type": "object"},
    error="amount: is no number",
    traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
)


def test_an_envelope_has_everything_that_is_known_in_the_order_of_the_table() -> None:
    envelope = envelope_for(
        FULL, "thread-1", reply_to=EntryPoint("sqs", "https://queue"), clock=FakeClock(NOW + 60)
    )
    data = envelope.to_dict()
    ask = envelope.ask_id
    assert data == {
        "type": "wait.created",
        "spec": "1",
        "event_id": envelope.event_id,
        "dedupe_key": f"wait.created:{ask}",
        "thread_id": "thread-1",
        "question_id": "q-1",
        "question": {"function": "refund", "args": {"order_id": "o-1", "amount": "41000.00"}},
        "fingerprint": NAMED,
        "allowed_actions": ["approve", "reject"],
        "answer_schema": {"type": "object"},
        "asked_at": "2026-11-30T19:00:07Z",
        "expires_at": "2026-12-03T19:00:07Z",
        "default": {"action": "reject"},
        "source": {"function": "refund", "framework": "langgraph"},
        "attempt": 2,
        "error": "amount: is no number",
        "reply_to": {"kind": "sqs", "url": "https://queue"},
        "reply_with": {
            "thread_id": "thread-1",
            "question_id": "q-1",
            "ask_id": ask,
            "fingerprint": NAMED,
            "answer": None,
        },
        "correlation": {"job": "7"},
        "tags": {"team": "finance"},
        "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    }
    assert (
        list(data) == [field.name for field in fields(WaitEnvelope)] == list(json.loads(envelope.to_json()))
    )
    assert ulid_seconds(envelope.event_id) == pytest.approx(NOW + 60, abs=0.001)


def test_a_bare_interrupt_has_what_it_has_and_offers_resume() -> None:
    envelope = envelope_for(Question.unpack("q-1", {"ok": None}), "t", clock=FakeClock(0.5))
    assert (envelope.question, envelope.fingerprint, envelope.source) == ({"ok": None}, None, None)
    assert (envelope.allowed_actions, envelope.answer_schema, envelope.expires_at) == (
        ("resume",),
        None,
        None,
    )
    assert envelope.asked_at == "1970-01-01T00:00:00Z"
    assert envelope.reply_with["fingerprint"] is None


@pytest.mark.parametrize(
    ("kind", "address", "said"),
    [
        ("sqs", "https://q", {"kind": "sqs", "url": "https://q"}),
        ("http", "https://h", {"kind": "http", "url": "https://h"}),
        ("lambda", "arn:aws:lambda", {"kind": "lambda", "arn": "arn:aws:lambda"}),
        ("http", "https://\ud800", {"kind": "http", "url": "https://\\ud800"}),
    ],
)
def test_an_entry_point_says_its_kind_and_address(kind: Any, address: str, said: dict[str, str]) -> None:
    assert envelope_for(FULL, "t", reply_to=EntryPoint(kind, address)).reply_to == said


@pytest.mark.parametrize(("kind", "address"), [("sns", "x"), ("sqs", ""), (None, "x")])
def test_an_entry_point_that_nobody_could_use_is_refused(kind: Any, address: str) -> None:
    with pytest.raises(ValueError, match="an entry point"):
        EntryPoint(kind, address)


def test_reply_with_says_that_a_question_did_not_park() -> None:
    question = Question("q-1", 1, source={"function": "f", "framework": "x", "mode": "async"})
    assert envelope_for(question, "t").reply_with["mode"] == "async"
    assert "mode" not in envelope_for(FULL, "t").reply_with


def test_the_asker_s_own_schema_goes_before_the_derived_one_even_if_it_takes_anything() -> None:
    for schema in ({}, {"type": "string"}):
        question = Question("q", 1, WaitPolicy(answer_schema=schema), answer_schema={"type": "object"})
        assert envelope_for(question, "t").answer_schema == schema


@pytest.mark.parametrize(
    ("timeout", "asked_at", "expires_at"),
    [
        ("PT1S", 10.0, "1970-01-01T00:00:11Z"),
        ("PT1S", 10.9, "1970-01-01T00:00:11Z"),
        ("PT0.001S", 10.9, "1970-01-01T00:00:11Z"),
        ("PT1.5S", 10.0, "1970-01-01T00:00:12Z"),
        ("PT1H", None, "1970-01-01T01:00:20Z"),
        (None, 10.0, None),
    ],
)
def test_a_deadline_is_a_whole_second_never_before_the_timeout_and_never_the_time_of_the_ask(
    timeout: str | None, asked_at: float | None, expires_at: str | None
) -> None:
    question = Question("q", 1, WaitPolicy(timeout=timeout), asked_at=asked_at)
    assert envelope_for(question, "t", clock=FakeClock(20)).expires_at == expires_at


def test_a_deadline_is_the_same_on_every_publish() -> None:
    clock = FakeClock(NOW)
    first = envelope_for(FULL, "t", clock=clock)
    clock.advance(86_400)
    again = envelope_for(FULL, "t", clock=clock)
    assert (first.asked_at, first.expires_at) == (again.asked_at, again.expires_at)


def test_the_last_day_of_the_calendar_is_as_far_as_a_deadline_goes() -> None:
    late = Question("q", 1, WaitPolicy(timeout="P36525D"), asked_at=250_215_091_199)
    assert envelope_for(late, "t").expires_at == "9999-01-01T23:59:59Z"


texts = st.text(st.characters(exclude_categories=[]), min_size=1)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner) | st.dictionaries(texts, inner),
)


@given(json_values, texts, texts, texts, st.none() | st.integers(1, 10**9))
def test_an_envelope_is_clean_utf8_and_strict_json_and_reads_back_equal(
    value: Any, thread: str, name: str, said: str, timeout: int | None
) -> None:
    question = Question(
        name,
        Question.unpack("q", value).question,
        WaitPolicy(
            timeout=timeout,
            default=said,
            tags={said: said},
            allowed_actions=(said,),
            correlation={said: said},
        ),
        source={"function": said, "framework": said},
        error=said,
        answer_schema={said: said},
        asked_at=1.5,
    )
    envelope = envelope_for(question, thread, reply_to=EntryPoint("http", said), clock=FakeClock())
    text = envelope.to_json()

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert json.loads(text.encode().decode(), parse_constant=refuse) == envelope.to_dict()
    assert WaitEnvelope.from_json(text) == envelope
    assert WaitEnvelope.from_json(text.encode()) == envelope
    assert WaitEnvelope.from_json(text).to_json() == text


def test_fields_of_a_later_release_are_ignored_and_missing_ones_filled_in() -> None:
    envelope = envelope_for(FULL, "t")
    more = {**envelope.to_dict(), "urgency": 3}
    assert WaitEnvelope.from_json(json.dumps(more)) == envelope
    bare = envelope_for(Question("q", None, asked_at=1), "t")
    few = {k: v for k, v in bare.to_dict().items() if v not in (None, {}) and k not in ("spec", "attempt")}
    assert WaitEnvelope.from_json(json.dumps(few)) == bare


@pytest.mark.parametrize(
    ("change", "path", "why"),
    [
        ({"event_id": ...}, "event_id", "is missing"),
        ({"reply_with": ...}, "reply_with", "is missing"),
        ({"type": None}, "type", "is null"),
        ({"tags": None}, "tags", "is null"),
        ({"attempt": None}, "attempt", "is null"),
        ({"allowed_actions": None}, "allowed_actions", "is null"),
        ({"type": "wait.expired"}, "type", "is none of wait.created, wait.resumed"),
        ({"spec": "2"}, "spec", "is not '1'"),
        ({"thread_id": 7}, "thread_id", "is no text"),
        ({"expires_at": 7}, "expires_at", "is no text"),
        ({"attempt": 0}, "attempt", "counts from 1"),
        ({"attempt": True}, "attempt", "counts from 1"),
        ({"attempt": "1"}, "attempt", "counts from 1"),
        ({"allowed_actions": "approve"}, "allowed_actions", "is no list of text"),
        ({"allowed_actions": [1]}, "allowed_actions", "is no list of text"),
        ({"tags": {"a": 1}}, "tags", "is no object of text"),
        ({"correlation": ["a"]}, "correlation", "is no object of text"),
        ({"answer_schema": True}, "answer_schema", "is no object"),
        ({"source": "refund"}, "source", "is no object"),
    ],
    ids=repr,
)
def test_what_is_no_envelope_is_refused_by_its_field(change: dict[str, Any], path: str, why: str) -> None:
    data = {k: v for k, v in {**envelope_for(FULL, "t").to_dict(), **change}.items() if v is not ...}
    with pytest.raises(QuestionError, match=why) as refused:
        WaitEnvelope.from_json(json.dumps(data))
    assert refused.value.path == path


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "[]",
        "null",
        "1",
        '{"question": NaN}',
        '{"default": -Infinity}',
        "[" * 100_000,
        b"\xff\xff",
    ],
)
def test_what_is_no_json_object_is_refused(text: Any) -> None:
    with pytest.raises(QuestionError) as refused:
        WaitEnvelope.from_json(text)
    assert refused.value.path == "envelope"


@pytest.mark.parametrize("transition", ["created", "resumed"])
@pytest.mark.parametrize("thread", ["thread-1", "café ☕/?#"])
def test_a_cloud_event_makes_the_trip_through_the_library_of_cloudevents(
    transition: Any, thread: str
) -> None:
    envelope = envelope_for(FULL, thread, transition=transition, clock=FakeClock(NOW + 60))
    body = json.dumps(envelope.to_cloudevent()).encode()
    event = JSONFormat().read(None, body)
    attributes = event.get_attributes()
    assert attributes["id"] == envelope.dedupe_key
    assert attributes["type"] == f"wait.{transition}"
    assert attributes["subject"] == "q-1"
    assert attributes["source"].startswith("urn:agent-wait:")
    assert attributes["source"].isascii()
    assert attributes["specversion"] == "1.0"
    assert attributes["traceparent"] == FULL.traceparent
    assert (
        attributes["time"].isoformat()
        == {
            "created": "2026-11-30T19:00:07+00:00",
            "resumed": "2026-11-30T19:01:07+00:00",
        }[transition]
    )
    data: Any = event.get_data()
    assert WaitEnvelope.from_json(json.dumps(data)) == envelope
    written = JSONFormat().write(event)
    assert json.loads(written)["data"] == envelope.to_dict()


def test_an_event_outside_of_a_span_has_no_trace() -> None:
    assert "traceparent" not in envelope_for(Question("q", 1), "t").to_cloudevent()


@given(st.floats(0, 2**48 / 1000 - 1))
def test_a_ulid_has_the_time_in_milliseconds_and_sorts_by_it(seconds: float) -> None:
    ulid = new_ulid(seconds)
    assert len(ulid) == 26
    assert set(ulid) <= set("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    assert ulid_seconds(ulid) == int(seconds * 1000) / 1000
    assert ulid[:10] <= new_ulid(seconds + 0.001)[:10]
    assert new_ulid(seconds) != ulid
