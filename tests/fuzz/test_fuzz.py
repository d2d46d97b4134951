"""Hypothesis on every door through which something comes from outside. What it found is kept as examples."""

import json
import string
from collections.abc import Mapping
from typing import Any, cast

import pytest
from agent_wait import (
    FakeClock,
    InMemoryAnnounce,
    Outcome,
    PolicyError,
    QuestionError,
    WaitEnvelope,
    WaitPolicy,
    WaitPublisher,
    is_answer,
    verify_webhook,
)
from agent_wait._duration import parse_duration
from agent_wait._question import Question
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph_wait import LangGraphAdapter, wait
from refund_agent import host, lambda_handler

FUZZ = settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
RAN = {"started", "resumed", "continued", "kept"}

text = st.text() | st.text(st.characters(codec=None, categories=None), max_size=8)
scalars: st.SearchStrategy[Any] = (
    st.none() | st.booleans() | st.integers() | st.floats() | text | st.binary(max_size=4)
)
anything: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=8) | st.integers(), inner, max_size=4)
        | st.tuples(inner)
    ),
    max_leaves=12,
)
json_data: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = (
    "thread_id",
    "question_id",
    "ask_id",
    "fingerprint",
    "answer",
    "answered_by",
    "input",
    "start_id",
    "mode",
)


class Agent:
    """An agent that is parked on one question, and what its body did."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        announced = InMemoryAnnounce()

        @wait(WaitPolicy(timeout="PT1H", default="no"))
        def refund(amount: int) -> str:
            self.bodies.append(amount)
            return "done"

        schema: Any = dict
        builder: Any = StateGraph(schema)
        builder.add_node("refund", lambda state: {"done": refund(10)})
        builder.add_edge(START, "refund")
        graph = builder.compile(checkpointer=InMemorySaver())
        self.publisher = WaitPublisher(LangGraphAdapter(graph), announce=announced, late_answers="refuse")
        self.publisher.handle({"thread_id": "t-1", "input": {}, "start_id": "s-1"})
        self.question = announced.last


AGENT = Agent()


@FUZZ
@given(anything)
@example({"thread_id": "t-1", "question_id": "\ud800", "answer": 1})
@example({"thread_id": "t-1", "input": None})
@example([["thread_id", "t-1"]])
@pytest.mark.requirement("PROMISE-3", "PROMISE-5")
def test_whatever_is_handled_has_an_outcome_and_runs_nothing(message: Any) -> None:
    is_answer(message)
    if isinstance(message, Mapping) and "input" in message and "question_id" not in message:
        message = {**cast("Mapping[Any, Any]", message), "thread_id": ""}
    outcome = AGENT.publisher.handle(message)
    assert isinstance(outcome, Outcome)
    assert outcome.kind not in RAN
    assert outcome.acknowledge
    assert AGENT.bodies == []


@FUZZ
@given(st.dictionaries(st.sampled_from(FIELDS), anything, max_size=3), st.sets(st.sampled_from(FIELDS)))
@example({"ask_id": None}, {"fingerprint"})
@example({"fingerprint": None}, set())
@example({"thread_id": "t-2"}, set())
@example({"answer": float("nan")}, set())
@example({"mode": "async"}, set())
@pytest.mark.requirement("PROMISE-3")
def test_an_approval_with_any_name_of_it_changed_runs_nothing(
    changes: dict[str, Any], missing: set[str]
) -> None:
    proper = {**AGENT.question.reply_with, "answer": {"action": "approve"}}
    names = ("thread_id", "question_id", "ask_id", "fingerprint")
    message = {name: part for name, part in {**proper, **changes}.items() if name not in missing}
    same = all(message.get(name) == proper[name] for name in names if name != "ask_id")
    if same and "answer" in message and message.get("ask_id") in (None, proper["ask_id"]):
        return  # that is an answer to the question
    if "question_id" not in message and "input" in message:
        return  # that is a start
    outcome = AGENT.publisher.handle(message)
    assert outcome.kind not in RAN
    assert AGENT.bodies == []


@FUZZ
@given(json_data)
@pytest.mark.requirement("PROMISE-3", "PROMISE-5")
def test_any_answer_but_an_approval_runs_no_body_and_wedges_nothing(answer: Any) -> None:
    agent = Agent()
    outcome = agent.publisher.handle({**agent.question.reply_with, "answer": answer})
    approval = isinstance(answer, dict) and cast("dict[Any, Any]", answer).get("action") == "approve"
    assert outcome.acknowledge
    assert agent.bodies == [] or approval
    assert outcome.kind in {"resumed", "refused"}
    for question in agent.publisher.pending("t-1"):
        assert isinstance(question, Question)


envelopes = st.dictionaries(st.sampled_from([*AGENT.question.to_dict()]), json_data, max_size=3)


@FUZZ
@given(st.text() | json_data.map(json.dumps))
@example("[" * 100_000)
@example('{"type": "wait.created"}')
@example("null")
@example("1" * 5000)
def test_from_json_reads_an_envelope_or_says_that_it_is_none(text: str) -> None:
    with pytest.raises(QuestionError):
        WaitEnvelope.from_json(text)


@pytest.mark.odd_envelope("fields of any type and value")
@FUZZ
@given(envelopes)
def test_from_json_with_any_field_changed_reads_it_back_equal_or_says_why_not(
    changes: dict[str, Any],
) -> None:
    changed = json.dumps({**AGENT.question.to_dict(), **changes})
    try:
        envelope = WaitEnvelope.from_json(changed)
    except QuestionError:
        return
    assert WaitEnvelope.from_json(envelope.to_json()) == envelope


@FUZZ
@given(
    st.dictionaries(
        st.sampled_from(("webhook-id", "webhook-timestamp", "webhook-signature", "Webhook-Signature")) | text,
        text | st.lists(text, max_size=2) | st.none() | st.integers(),
        max_size=4,
    ),
    st.binary(max_size=40),
)
@example({"webhook-id": "m", "webhook-timestamp": "9" * 5000, "webhook-signature": "v1,"}, b"{}")
@example({"webhook-id": "m", "webhook-timestamp": "1760000000", "webhook-signature": "v1," * 1000}, b"")
@example({"webhook-id": "m", "webhook-timestamp": "\u0661\u0667", "webhook-signature": "v1,\u00e9"}, b"")
def test_no_headers_and_no_body_verify_without_the_secret(headers: Any, body: bytes) -> None:
    verified = verify_webhook(headers, body, b"a secret that nobody has", clock=FakeClock())
    assert verified is False


@FUZZ
@given(text | st.text(alphabet="P0123456789.,WDTHMSYpwdthms -+", max_size=12) | scalars)
@example("P" + "9" * 5000 + "D")
@example("PT1e5S")
@example("P1Y")
@example(10**400)
@example("PT\u0661S")
def test_a_policy_takes_a_timeout_that_is_positive_and_finite_or_refuses_it(timeout: Any) -> None:
    try:
        policy = WaitPolicy(timeout=timeout)
    except PolicyError:
        return
    assert timeout is None or 0 < (policy.timeout_seconds or 0) <= 100 * 366 * 86400
    assert WaitPolicy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy


@FUZZ
@given(anything)
def test_a_stored_policy_of_any_shape_is_read_or_refused(data: Any) -> None:
    try:
        WaitPolicy.from_dict(data)
    except PolicyError:
        return


@FUZZ
@given(st.text(alphabet=string.printable, max_size=20))
def test_a_duration_is_a_number_of_seconds_or_a_policy_error(duration: str) -> None:
    try:
        seconds = parse_duration(duration)
    except PolicyError:
        return
    assert seconds > 0


bodies = (
    st.text(max_size=40)
    | json_data.map(json.dumps)
    | st.dictionaries(st.sampled_from(FIELDS), json_data, max_size=5).map(json.dumps)
    | st.fixed_dictionaries(
        {
            "thread_id": st.just("t-9"),
            "start_id": st.just("s-9") | json_data,
            "input": st.dictionaries(
                st.sampled_from(("order_id", "amount", "reason")), json_data | st.just("o-1002"), max_size=3
            ),
        }
    ).map(json.dumps)
)


class NeverRuns:
    """A publisher that is only ever to be handed what cannot be meant."""

    def __init__(self) -> None:
        self.handled: list[Any] = []

    def handle(self, message: Any, *, sent_at: float) -> Outcome:
        """As `WaitPublisher.handle`."""
        assert sent_at == 1796065207.0
        outcome = AGENT.publisher.handle({**message, "thread_id": "t-1"} if is_answer(message) else [])
        self.handled.append(message)
        return outcome


@FUZZ
@given(bodies)
@example('{"thread_id": "t-9", "start_id": "s", "input": {"order_id": "o-1002", "amount": "1e400"}}')
@example('{"thread_id": "t-9", "start_id": "s", "input": {"order_id": [], "amount": "NaN"}}')
@example('{"a":' * 5000)
def test_the_lambda_settles_any_body_and_pays_nothing(body: str) -> None:
    event = {"Records": [record(body)]}
    set_aside: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lambda_handler, "publisher", NeverRuns)
        patch.setattr(lambda_handler, "resources", Addresses)
        patch.setattr(
            lambda_handler, "set_aside", lambda delivery, outcome, **_: set_aside.append(delivery.body)
        )
        assert lambda_handler.handler(event, None) == {"batchItemFailures": []}
    assert set_aside in ([], [body])
    assert AGENT.bodies == []
    assert host.parse(body) is None or isinstance(host.parse(body), dict)


class Addresses:
    """What the handler needs of its resources."""

    dead_letter_queue_url = "nowhere"


def record(body: str) -> dict[str, Any]:
    return {
        "messageId": "m-1",
        "receiptHandle": "r-1",
        "body": body,
        "attributes": {
            "MessageGroupId": "g",
            "ApproximateReceiveCount": "1",
            "SentTimestamp": "1796065207000",
        },
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:entry.fifo",
    }
