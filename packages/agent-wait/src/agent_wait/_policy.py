"""What the asker declares about a question."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Any, Self, cast

from agent_wait._canonical import text_of, to_plain
from agent_wait._duration import duration_seconds, format_duration, parse_duration
from agent_wait._errors import PolicyError, QuestionError
from agent_wait._types import JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitPolicy:
    """What the asker declares about a question. It checks itself when it is built.

    The policy is published; `wait` enforces none of it, `WaitPublisher` only what it is built to.

    Attributes:
        timeout: How long an answer is waited for, from when the question was asked: an ISO 8601 duration of
            weeks, days, hours, minutes and seconds (`P3D`, `PT4H30M`), a number of seconds, or a
            `timedelta`; above zero, at most 100 years. None: for ever. Kept as ISO 8601 text.
        default: What to send if nobody answers by then. None: nothing is declared; who means "null"
            writes an object.
        allowed_actions: What an answer's `action` may be. None: `approve` and `reject` for `wait`,
            `resume` for `ask()` and bare interrupts.
        tags: Routing hints, text to text; message attributes on SNS and SQS.
        correlation: The asker's reference for an outside job, text to text.
        answer_schema: JSON Schema 2020-12 of a usable answer. None: derived from the function.
        redact: Names of arguments that are published as `"[redacted]"`; the body gets the real values.

    Raises:
        PolicyError: A field that cannot be meant.
    """

    timeout: str | float | timedelta | None = None
    default: JSON = None
    allowed_actions: tuple[str, ...] | None = None
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    correlation: Mapping[str, str] | None = None
    answer_schema: Mapping[str, JSON] | None = None
    redact: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.timeout is not None:
            parse_duration(self.timeout)
            self._set("timeout", _duration_text(self.timeout))
            parse_duration(self.timeout)  # what is left of it once it is text
        self._set("default", _json("default", self.default))
        if self.allowed_actions is not None:
            self._set("allowed_actions", _names("allowed_actions", self.allowed_actions))
            if not self.allowed_actions:
                raise PolicyError("allowed_actions is empty: nobody could answer")
        self._set("tags", _texts("tags", self.tags))
        if self.correlation is not None:
            self._set("correlation", _texts("correlation", self.correlation))
        if self.answer_schema is not None:
            schema = _json("answer_schema", self.answer_schema)
            if not isinstance(schema, dict):
                raise PolicyError("answer_schema is a JSON Schema object")
            self._set("answer_schema", schema)
        self._set("redact", _names("redact", self.redact))

    @property
    def timeout_seconds(self) -> float | None:
        """The timeout in seconds; None: for ever."""
        return None if self.timeout is None else duration_seconds(cast("str", self.timeout))

    def to_dict(self) -> dict[str, JSON]:
        """Plain JSON data that `from_dict` reads back equal."""
        return {
            "timeout": _duration_text(self.timeout),
            "default": self.default,
            "allowed_actions": None if self.allowed_actions is None else list(self.allowed_actions),
            "tags": dict(self.tags),
            "correlation": None if self.correlation is None else dict(self.correlation),
            "answer_schema": None if self.answer_schema is None else dict(self.answer_schema),
            "redact": list(self.redact),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any] | None) -> Self:
        """Read a stored policy: keys it does not know are ignored, missing ones are filled in.

        Raises:
            PolicyError: A field that it does know cannot be meant.
        """
        if data is None:
            return cls()
        if not isinstance(data, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without types
            raise PolicyError(f"a policy is an object, not {type(data).__name__}")
        known: dict[str, Any] = {f.name: data[f.name] for f in fields(cls) if data.get(f.name) is not None}
        return cls(**known)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


def _duration_text(timeout: str | float | timedelta | None) -> str | None:
    if timeout is None or isinstance(timeout, str):
        return timeout
    return format_duration(timeout if isinstance(timeout, timedelta) else timedelta(seconds=timeout))


def _json(name: str, value: Any) -> JSON:
    try:
        return to_plain(value, name)
    except QuestionError as error:
        raise PolicyError(str(error)) from error


def _names(name: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise PolicyError(f"{name} is a tuple of names; {value!r} alone would be taken apart into letters")
    # Nothing else that can be gone through: a set has an order of its own in every process.
    if not isinstance(value, (tuple, list)):
        raise PolicyError(f"{name} is a tuple of names, not {type(value).__name__}")
    given = tuple(value)  # pyright: ignore[reportUnknownVariableType]  # checked next
    if not all(isinstance(item, str) and item for item in given):  # pyright: ignore[reportUnknownVariableType]
        raise PolicyError(f"{name} holds non-empty text only")
    names = tuple(map(text_of, given))
    if len(set(names)) != len(names):
        raise PolicyError(f"{name} names something twice")
    return names


def _texts(name: str, value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise PolicyError(f"{name} maps text to text; it is {type(value).__name__}")
    pairs = dict(value)  # pyright: ignore[reportUnknownVariableType]  # checked next
    if not all(isinstance(key, str) and key and isinstance(text, str) for key, text in pairs.items()):  # pyright: ignore[reportUnknownVariableType]
        raise PolicyError(f"{name} maps non-empty text to text")
    return {text_of(key): text_of(text) for key, text in pairs.items()}  # pyright: ignore[reportUnknownVariableType]
