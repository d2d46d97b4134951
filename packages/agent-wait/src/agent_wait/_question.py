"""One question, as it is asked and as it is parked."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, cast

from agent_wait._canonical import text_of, to_plain
from agent_wait._errors import PolicyError, QuestionError
from agent_wait._policy import WaitPolicy
from agent_wait._types import JSON

PACKED_VERSION = 1
# 9899-01-01: a deadline is at most 100 years later, and dates end with the year 9999.
_LAST_SECOND = 250_215_091_200


@dataclass(frozen=True, slots=True)
class Question:
    """What a run stopped on and cannot go on without.

    Attributes:
        id: The framework's own id of the interrupt.
        question: What is asked. Whatever it was, it is plain JSON data once this is built.
        policy: What the asker declared.
        fingerprint: Names the exact call; None for a bare interrupt.
        attempt: 1, and one more each time the question had to be asked again.
        asked_at: Seconds since the epoch, UTC; None where nobody knows.
        source: `{"function": name, "framework": name}`; None for a bare interrupt.
        answer_schema: JSON Schema 2020-12 of a usable answer, where the policy has none of its own.
        error: Why the last answer could not be used, when the question is asked again.
        traceparent: W3C trace context of the asking run.
        call: `Framework.call_identity`; parked for the framework's own use and not published.

    Raises:
        QuestionError: The question, or what stands beside it, has no JSON form.
        ValueError: An empty id, an attempt below 1, or a time that no calendar has.
    """

    id: str
    question: Any
    policy: WaitPolicy = field(default_factory=WaitPolicy)
    fingerprint: str | None = field(default=None, kw_only=True)
    attempt: int = field(default=1, kw_only=True)
    asked_at: float | None = field(default=None, kw_only=True)
    source: Mapping[str, JSON] | None = field(default=None, kw_only=True)
    answer_schema: Mapping[str, JSON] | None = field(default=None, kw_only=True)
    error: str | None = field(default=None, kw_only=True)
    traceparent: str | None = field(default=None, kw_only=True)
    call: JSON = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not self.id:  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without types
            raise ValueError("a question's id is non-empty text")
        if type(self.attempt) is not int or self.attempt < 1:
            raise ValueError("attempt counts from 1")
        if self.asked_at is not None and not 0 <= self.asked_at < _LAST_SECOND:
            raise ValueError("asked_at is seconds since the epoch")
        self._set("question", to_plain(self.question))
        for name in ("source", "answer_schema"):
            value = getattr(self, name)
            if value is not None:
                self._set(name, to_plain(value, name))
        for name in ("error", "traceparent", "fingerprint"):
            value = getattr(self, name)
            if value is not None:
                self._set(name, text_of(value))

    @property
    def allowed_actions(self) -> tuple[str, ...]:
        """The policy's, or what follows from who asks: a function, or `ask()` and bare interrupts."""
        return self.policy.allowed_actions or default_actions(self.source)

    @property
    def expires_at(self) -> int | None:
        """Seconds since the epoch at which `timeout` has passed; None without one, or without `asked_at`."""
        return None if self.asked_at is None else self.deadline(self.asked_at)

    def deadline(self, asked_at: float) -> int | None:
        """The whole second at which `timeout` has passed, never before it; None without one."""
        seconds = self.policy.timeout_seconds
        return None if seconds is None else math.ceil(math.floor(asked_at) + seconds)

    def pack(self) -> dict[str, JSON]:
        """The value to park on: plain JSON data that `unpack` reads back after any upgrade."""
        return pack(
            self.question,
            packed_policy(self.policy, self.allowed_actions),
            None if self.source is None else dict(self.source),
            fingerprint=self.fingerprint,
            attempt=self.attempt,
            asked_at=self.asked_at,
            error=self.error,
            answer_schema=None if self.answer_schema is None else dict(self.answer_schema),
            traceparent=self.traceparent,
            call=self.call,
        )

    @classmethod
    def unpack(cls, id: str, value: Any) -> Self:
        """Read what a thread is parked on; a value that is not ours is a bare interrupt.

        Keys it does not know are ignored and missing ones filled in, since a question can stay parked for
        weeks while the library is upgraded.

        Raises:
            QuestionError: The value is ours and has been damaged.
        """
        if not _is_ours(value):
            return cls(id, to_plain(value, lenient=True))
        packed: dict[str, Any] = dict(value)
        ask = _part(packed, "__ask__")
        try:
            return cls(
                id,
                to_plain(packed["question"], lenient=True),
                WaitPolicy.from_dict(_part(packed, "__wait__")),
                fingerprint=_field(ask, "fingerprint", str),
                attempt=_field(ask, "attempt", int) or 1,
                asked_at=_field(ask, "asked_at", int, float),
                source=_field(packed, "__source__", dict),
                answer_schema=_field(ask, "answer_schema", dict),
                error=_field(ask, "error", str),
                traceparent=_field(ask, "traceparent", str),
                call=to_plain(ask.get("call"), lenient=True),
            )
        except PolicyError as error:
            raise QuestionError(str(error), "__wait__") from error
        except QuestionError:
            raise
        except ValueError as error:
            raise QuestionError(f"{error}, so the parked value has been damaged", "__ask__") from error

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def pack(
    question: JSON,
    policy: dict[str, JSON],
    source: dict[str, JSON] | None,
    *,
    fingerprint: str | None,
    attempt: int,
    asked_at: float | None,
    error: str | None,
    answer_schema: JSON,
    traceparent: str | None,
    call: JSON = None,
) -> dict[str, JSON]:
    """The parked value, from parts that are plain already."""
    return {
        "question": question,
        "__wait__": policy,
        "__source__": source,
        "__ask__": {
            "v": PACKED_VERSION,
            "fingerprint": fingerprint,
            "attempt": attempt,
            "asked_at": asked_at,
            "error": error,
            "answer_schema": answer_schema,
            "traceparent": traceparent,
            "call": call,
        },
    }


def packed_policy(policy: WaitPolicy, allowed_actions: Iterable[str]) -> dict[str, JSON]:
    """The policy with its actions settled."""
    return {**policy.to_dict(), "allowed_actions": [*allowed_actions]}


def default_actions(source: Mapping[str, JSON] | None) -> tuple[str, ...]:
    """What may be answered where the policy does not say."""
    return ("approve", "reject") if source and source.get("function") else ("resume",)


def _is_ours(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    packed = cast("Mapping[Any, Any]", value)
    return "question" in packed and isinstance(packed.get("__wait__"), dict)


def _part(packed: Mapping[str, Any], name: str) -> dict[str, Any]:
    return _field(packed, name, dict) or {}


def _field(part: Mapping[str, Any], name: str, *types: type) -> Any:
    value = part.get(name)
    if value is not None and (not isinstance(value, types) or isinstance(value, bool)):
        raise QuestionError(f"is {type(value).__name__}, so the parked value has been damaged", name)
    return value
