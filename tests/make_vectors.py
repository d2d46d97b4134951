"""Write spec/vectors/: what any implementation of the contract, in any language, can be tested with.

`python tests/make_vectors.py` writes them anew; `test_vectors.py` compares. What a release has parked is
written once and never again: `packed-<version>.json` is left alone when it is there.
"""

import json
from collections.abc import Callable
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from agent_wait import EntryPoint, FakeClock, Question, WaitPolicy, make_ask, make_wait
from agent_wait._answer import judge
from agent_wait._canonical import encode, to_plain
from agent_wait._envelope import WaitEnvelope, envelope_for
from agent_wait._identity import ask_id, async_question_id, digest, fingerprint, idempotency_key
from agent_wait._signing import secret_keys, signature_headers
from agent_wait.testing import Parked, StubFramework

VECTORS = Path(__file__).parent.parent / "spec/vectors"
RELEASE = "1.0.0"
NOW = 1_796_065_207.125

JSON_VALUES: dict[str, Any] = {
    "null, true, false": [None, True, False],
    "integers of 64 bits": [0, -1, 2**63 - 1, -(2**63)],
    "numbers with a fraction": [1.0, -0.0, 0.1, 1e16, 1e-5, 123456789.125, 5e-324, 1.7976931348623157e308],
    "text": ["", "é😊", "\u2028", '"\\/', "\n\t\u0001\u007f"],
    "keys by code point, not by UTF-16 unit": {"\U0001f600": 1, "\uffff": 2, "é": 3, "a": 4, "Z": 5, "": 6},
    "nesting": {"b": [{"d": [], "c": {}}], "a": [[[]]]},
    "money is text": {"amount": "41000.00"},
}
IDENTITIES: dict[str, Any] = {
    "no call identity": None,
    "a tool call": ["call_0", 0],
    "the second equal call of a node": [None, 1],
    "a call of Pydantic AI": ["run-1", "2026-11-30T20:44:52+00:00", "call_0"],
}
QUESTION: dict[str, Any] = {"function": "issue_refund", "args": {"order_id": "o-1", "amount": "41000.00"}}
ANSWERS: list[Any] = [
    {"action": "approve"},
    {"action": "approve", "args": {}},
    {"action": "approve", "args": {"amount": "5.00"}},
    {"action": "approve", "function": "wipe"},
    {"action": "approve", "args": None},
    {"action": "approve", "args": [1]},
    {"action": "approve", "args": "amount=3"},
    '{"action": "approve"}',
    '"{\\"action\\": \\"reject\\"}"',
    {"action": "reject", "reason": "no"},
    {"action": "APPROVE"},
    {"action": True},
    {"action": None},
    {"approve": True},
    *("approve", "yes", "", None, False, True, 0, 1, 0.0, {}, [], [{"action": "approve"}]),
]


def canonical() -> Any:
    return [
        {
            "name": name,
            "value": value,
            "canonical": encode(to_plain(value)),
            "sha256": digest(encode(to_plain(value))),
        }
        for name, value in JSON_VALUES.items()
    ]


def identity() -> Any:
    prints: list[Any] = [
        {
            "name": name,
            "question": QUESTION,
            "call_identity": call,
            "fingerprint": fingerprint(encode(QUESTION), call),
        }
        for name, call in IDENTITIES.items()
    ]
    named: str = prints[0]["fingerprint"]
    asks = [
        (Question("q-1", QUESTION, fingerprint=named), "thread-1"),
        (Question("q-1", QUESTION, fingerprint=named, attempt=2), "thread-1"),
        (Question("q-1", QUESTION, fingerprint=named), "thread-2"),
        (Question("a:b", {"ok": None}), "é😊"),
    ]
    return {
        "fingerprints": prints,
        "ask_ids": [
            {
                "thread_id": thread,
                "question_id": q.id,
                "fingerprint": q.fingerprint,
                "question": q.question,
                "attempt": q.attempt,
                "ask_id": ask_id(thread, q),
            }
            for q, thread in asks
        ],
        "idempotency_keys": [
            {
                "thread_id": "thread-1",
                "call_scope": scope,
                "fingerprint": named,
                "idempotency_key": idempotency_key("thread-1", scope, named),
            }
            for scope in (None, "refund:0b6c")
        ],
        "async_question_ids": [
            {
                "thread_id": "thread-1",
                "function": "issue_refund",
                "args": QUESTION["args"],
                "question_id": async_question_id("thread-1", "issue_refund", QUESTION["args"]),
            }
        ],
    }


def parked(ask: Callable[..., Any], *args: Any) -> Any:
    try:
        ask(*args)
    except Parked as stop:
        return stop.value
    raise AssertionError("it did not park")


def packed() -> Any:
    """What this release parks: by a waiting function, by `ask`, asked again, and from a bare interrupt."""
    stub, clock = StubFramework("thread-1"), FakeClock(NOW)
    policy = WaitPolicy(
        timeout="P3D",
        default={"action": "reject", "reason": "nobody answered"},
        allowed_actions=("approve", "reject", "escalate"),
        tags={"team": "finance"},
        correlation={"job": "7"},
        answer_schema={"type": "object"},
        redact=("token",),
    )

    @make_wait(stub, clock=clock)
    def issue_refund(order_id: str, amount: Decimal) -> None: ...

    @make_wait(stub, clock=clock)(policy)
    def pay(amount: Decimal, token: str) -> None: ...

    again = Question.unpack("q-1", parked(issue_refund, "o-1", Decimal("41000.00")))
    values: dict[str, Any] = {
        "a waiting function": parked(issue_refund, "o-1", Decimal("41000.00")),
        "with every field of a policy": parked(pay, Decimal("19.90"), "s3cret"),
        "ask": parked(make_ask(stub, clock=clock), {"ok": None, "items": [1, 2.5, "é😊"]}),
        "asked again, of a span, with a call identity": Question(
            "q-1",
            again.question,
            again.policy,
            fingerprint=fingerprint(encode(again.question), ["call_0", 0]),
            attempt=3,
            asked_at=NOW + 60,
            source=again.source,
            answer_schema={"anyOf": [{"type": "object"}]},
            error="amount: is no number",
            traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            call=["call_0", 0],
        ).pack(),
        "only what every release has": {"question": "go on?", "__wait__": {}},
        "a bare interrupt": {"action_requests": [{"name": "refund", "args": {"n": 1}}]},
    }
    return [
        {
            "name": name,
            "id": f"q-{n}",
            "value": value,
            "reads_as": described(Question.unpack(f"q-{n}", value)),
        }
        for n, (name, value) in enumerate(values.items(), 1)
    ]


def described(question: Question) -> dict[str, Any]:
    fields = asdict(question)
    fields["policy"] = question.policy.to_dict()
    return {**fields, "allowed_actions": list(question.allowed_actions), "expires_at": question.expires_at}


REPLY_TO: list[EntryPoint | None] = [
    None,
    EntryPoint("sqs", "https://sqs.eu-central-1.amazonaws.com/1/agent.fifo"),
    EntryPoint("http", "https://agent.example/answers"),
    EntryPoint("lambda", "arn:aws:lambda:eu-central-1:1:function:agent"),
]


def built(entry: dict[str, Any]) -> WaitEnvelope:
    reply: Any = entry["reply_to"]
    return envelope_for(
        Question.unpack(entry["question_id"], entry["parked"]),
        entry["thread_id"],
        transition=entry["transition"],
        reply_to=reply and EntryPoint(reply["kind"], reply.get("url") or reply.get("arn")),
        clock=FakeClock(entry["now"]),
    )


def envelopes() -> Any:
    said: list[Any] = []
    transitions: tuple[Literal["created", "resumed"], ...] = ("created", "resumed")
    for n, release in enumerate(json.loads((VECTORS / f"packed-{RELEASE}.json").read_text())):
        reply = REPLY_TO[n % len(REPLY_TO)]
        for transition in transitions:
            entry: dict[str, Any] = {
                "name": f"{release['name']}: {transition}",
                "question_id": release["id"],
                "parked": release["value"],
                "thread_id": "thread-1",
                "transition": transition,
                "reply_to": None if reply is None else reply.to_dict(),
                "now": NOW + 3_600,
            }
            envelope = built(entry)
            object.__setattr__(envelope, "event_id", "01KB9Z3Y8ZV5T0W3Q2R1P0N9M8")
            said.append({**entry, "envelope": envelope.to_dict(), "json": envelope.to_json()})
    return said


def cloudevents() -> Any:
    return [
        {"envelope": entry["envelope"], "event": WaitEnvelope.from_json(entry["json"]).to_cloudevent()}
        for entry in json.loads((VECTORS / "envelopes.json").read_text())
    ]


def answers() -> Any:
    return [{"answer": answer, "does": judge(answer).does} for answer in ANSWERS]


def signatures() -> Any:
    secret = "whsec_" + "c2VjcmV0IG9mIHRoZSB2ZWN0b3Jz"
    return [
        {
            "secret": secret,
            "id": message_id,
            "timestamp": 1_796_065_207,
            "body": body,
            "headers": signature_headers(secret_keys(secret), message_id, 1_796_065_207, body.encode()),
        }
        for message_id, body in (
            ("wait.created:q-1:0123456789abcdef", '{"note":"é😊","x":1.0}'),
            ("msg-2", ""),
        )
    ]


FILES: dict[str, Callable[[], Any]] = {
    f"packed-{RELEASE}.json": packed,
    "canonical.json": canonical,
    "identity.json": identity,
    "answers.json": answers,
    "signatures.json": signatures,
    "envelopes.json": envelopes,
    "cloudevents.json": cloudevents,
}


def text_of(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    VECTORS.mkdir(parents=True, exist_ok=True)
    for name, make in FILES.items():
        if not (name.startswith("packed-") and (VECTORS / name).exists()):
            (VECTORS / name).write_text(text_of(make()), encoding="utf-8")
