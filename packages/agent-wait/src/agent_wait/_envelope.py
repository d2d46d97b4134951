"""The JSON document that carries one question to the outside world."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, Self, cast

from agent_wait import _identity
from agent_wait._canonical import text_encoder, text_of
from agent_wait._clock import SYSTEM_CLOCK, Clock
from agent_wait._errors import QuestionError
from agent_wait._question import Question
from agent_wait._timestamp import to_rfc3339
from agent_wait._types import JSON, Transition
from agent_wait._ulid import new_ulid, ulid_seconds

SPEC = "1"
_to_json = text_encoder(sort_keys=False)


@dataclass(frozen=True, slots=True)
class EntryPoint:
    """Where answers go, as a hint in the envelope.

    Attributes:
        kind: `sqs` or `http` (`address` is a URL), or `lambda` (`address` is an ARN).
        address: Non-empty text.

    Raises:
        ValueError: Another kind, or no address.
    """

    kind: Literal["sqs", "lambda", "http"]
    address: str

    def __post_init__(self) -> None:
        if self.kind not in ("sqs", "lambda", "http"):
            raise ValueError(f"an entry point is sqs, lambda or http, not {self.kind!r}")
        if not self.address:
            raise ValueError("an entry point has an address")
        object.__setattr__(self, "address", text_of(self.address))

    def to_dict(self) -> dict[str, JSON]:
        """`{"kind": ..., "url": ...}`, or `{"kind": "lambda", "arn": ...}`."""
        return {"kind": self.kind, "arn" if self.kind == "lambda" else "url": self.address}


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitEnvelope:
    """One question and transition, with everything needed to answer it.

    The fields, in this order, are the contract of `docs/message-formats.md`. Everything is plain JSON data;
    timestamps are RFC 3339 UTC text in whole seconds.
    """

    type: str
    spec: str = SPEC
    event_id: str
    dedupe_key: str
    thread_id: str
    question_id: str
    question: JSON = None
    fingerprint: str | None = None
    allowed_actions: tuple[str, ...] = ()
    answer_schema: Mapping[str, JSON] | None = None
    asked_at: str
    expires_at: str | None = None
    default: JSON = None
    source: Mapping[str, JSON] | None = None
    attempt: int = 1
    error: str | None = None
    reply_to: Mapping[str, JSON] | None = None
    reply_with: Mapping[str, JSON]
    correlation: Mapping[str, str] | None = None
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    traceparent: str | None = None

    @property
    def ask_id(self) -> str:
        """Names this ask of the question: what `dedupe_key` has after its type."""
        return self.dedupe_key[len(self.type) + 1 :]

    def to_dict(self) -> dict[str, JSON]:
        """Plain JSON data, keys in the order of the fields; nested values are shared, not copied."""
        data: dict[str, Any] = {name: getattr(self, name) for name in _FIELDS}
        data["allowed_actions"] = list(self.allowed_actions)
        return data

    def to_json(self) -> str:
        """Strict JSON, clean UTF-8, keys in the order of the fields."""
        return _to_json(self.to_dict())

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read an envelope back equal. Keys it does not know are ignored.

        Raises:
            QuestionError: Not an envelope; `path` names the field.
        """
        try:
            data: Any = json.loads(text, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise QuestionError("is not JSON", "envelope") from error
        if not isinstance(data, dict):
            raise QuestionError("is no JSON object", "envelope")
        return cls(**_checked(data))

    def to_cloudevent(self) -> dict[str, JSON]:
        """The CloudEvents 1.0 structured form (`application/cloudevents+json`); `data` is the envelope."""
        from urllib.parse import quote  # noqa: PLC0415  # not worth its time at import

        asked = self.type == "wait.created"
        event: dict[str, JSON] = {
            "specversion": "1.0",
            "id": self.dedupe_key,
            "source": f"urn:agent-wait:{quote(self.thread_id, safe='')}",
            "type": self.type,
            "subject": self.question_id,
            "time": self.asked_at if asked else to_rfc3339(ulid_seconds(self.event_id)),
            "datacontenttype": "application/json",
            "data": self.to_dict(),
        }
        if self.traceparent is not None:
            event["traceparent"] = self.traceparent
        return event


_FIELDS = tuple(f.name for f in fields(WaitEnvelope))
_REQUIRED = frozenset(
    f.name for f in fields(WaitEnvelope) if f.default is MISSING and f.default_factory is MISSING
)
_TYPES = ("wait.created", "wait.resumed")
_ANYTHING = frozenset({"question", "default"})
_OBJECTS = frozenset({"answer_schema", "source", "reply_to", "reply_with"})
_TEXTS = frozenset({"correlation", "tags"})
_NULLABLE = frozenset(f.name for f in fields(WaitEnvelope) if f.default is None)


def envelope_for(
    question: Question,
    thread_id: str,
    *,
    transition: Transition = "created",
    reply_to: EntryPoint | None = None,
    clock: Clock | None = None,
    ask_id: str | None = None,
) -> WaitEnvelope:
    """The envelope of one question.

    Args:
        question: What is asked. Without `asked_at`, it was asked now.
        thread_id: The conversation it belongs to.
        transition: `created` or `resumed`.
        reply_to: Where answers go.
        clock: For `event_id`, and for questions without `asked_at`.
        ask_id: Names the ask where the question itself is no longer known (a redelivered answer).
    """
    now = (clock or SYSTEM_CLOCK).now()
    thread_id, question_id = text_of(thread_id), text_of(question.id)
    ask = ask_id or _identity.ask_id(thread_id, question)
    asked_at = now if question.asked_at is None else question.asked_at
    expires_at = question.deadline(asked_at)
    reply_with: dict[str, JSON] = {
        "thread_id": thread_id,
        "question_id": question_id,
        "ask_id": ask,
        "fingerprint": question.fingerprint,
        "answer": None,
    }
    if question.source is not None and "mode" in question.source:
        reply_with["mode"] = question.source["mode"]
    policy = question.policy
    return WaitEnvelope(
        type=f"wait.{transition}",
        event_id=new_ulid(now),
        dedupe_key=_identity.dedupe_key(transition, ask),
        thread_id=thread_id,
        question_id=question_id,
        question=question.question,
        fingerprint=question.fingerprint,
        allowed_actions=question.allowed_actions,
        answer_schema=question.answer_schema if policy.answer_schema is None else policy.answer_schema,
        asked_at=to_rfc3339(asked_at),
        expires_at=None if expires_at is None else to_rfc3339(expires_at),
        default=policy.default,
        source=question.source,
        attempt=question.attempt,
        error=question.error,
        reply_to=None if reply_to is None else reply_to.to_dict(),
        reply_with=reply_with,
        correlation=policy.correlation,
        tags=policy.tags,
        traceparent=question.traceparent,
    )


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _checked(data: Mapping[str, Any]) -> dict[str, Any]:
    known = {name: data[name] for name in _FIELDS if name in data}
    for name in _FIELDS:
        if name not in known:
            if name in _REQUIRED:
                raise QuestionError("is missing", name)
        elif known[name] is None:
            if name not in _NULLABLE:
                raise QuestionError("is null", name)
        elif (fault := _fault(name, known[name])) is not None:
            raise QuestionError(fault, name)
    if "allowed_actions" in known:
        known["allowed_actions"] = tuple(known["allowed_actions"])
    return known


def _fault(name: str, value: Any) -> str | None:
    if name in _ANYTHING:
        return None
    if name == "type":
        return None if value in _TYPES else f"is none of {', '.join(_TYPES)}"
    if name == "spec":
        return None if value == SPEC else f"is not {SPEC!r}, which is not known here"
    if name == "allowed_actions":
        return (
            None if isinstance(value, list) and _all_text(cast("list[Any]", value)) else "is no list of text"
        )
    if name == "attempt":
        return None if type(value) is int and value >= 1 else "counts from 1"
    if name in _OBJECTS:
        return None if isinstance(value, dict) else "is no object"
    if name in _TEXTS:
        fits = isinstance(value, dict) and _all_text(cast("dict[str, Any]", value).values())
        return None if fits else "is no object of text"
    return None if isinstance(value, str) else "is no text"


def _all_text(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)
