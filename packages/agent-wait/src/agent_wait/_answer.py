"""What an answer is, how it travels through the framework, and what it does to an approved call."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from agent_wait._canonical import to_plain
from agent_wait._types import JSON

_WRAPPER = "__answer__"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedAnswer:
    """An answer with the name of the call that it answers, as the framework hands it on.

    Attributes:
        answer: As it was sent.
        fingerprint: Names the call; it is taken by no other.
        question_id: The id that it was sent under.
        ask_id: Names the ask that it was sent for.
        at: When it was given to the framework, seconds since the epoch, UTC.
        answered_by: Who gave it, as the host says.
    """

    answer: Any
    fingerprint: str
    question_id: str | None = None
    ask_id: str | None = None
    at: float | None = None
    answered_by: str | None = None

    def to_value(self) -> dict[str, JSON]:
        """What goes through the framework: a dict with one key, `__answer__`."""
        return {
            _WRAPPER: {
                "v": 1,
                "answer": self.answer,
                "fingerprint": self.fingerprint,
                "question_id": self.question_id,
                "ask_id": self.ask_id,
                "at": self.at,
                "answered_by": self.answered_by,
            }
        }


def wrap_answer(message: Mapping[str, Any], *, at: float) -> JSON:
    """A message's answer, wrapped when it carries a fingerprint, and else exactly as it was sent.

    A bare interrupt, or a framework's own middleware, must get what was sent.

    Args:
        message: A well-formed answer.
        at: Now, in seconds since the epoch, UTC.
    """
    fingerprint: str | None = message.get("fingerprint")
    answer: Any = message["answer"]
    if fingerprint is None:
        return answer
    return WrappedAnswer(
        answer=to_plain(answer, "answer", lenient=True),
        fingerprint=fingerprint,
        question_id=message.get("question_id"),
        ask_id=message.get("ask_id"),
        at=at,
        answered_by=message.get("answered_by"),
    ).to_value()


def unwrap_answer(value: Any) -> WrappedAnswer | None:
    """Read what `wrap_answer` made, one level deep; None for anything else, which is an answer as sent."""
    read = wrapped_part(value)
    if read is None:
        return None
    return WrappedAnswer(
        answer=read["answer"],
        fingerprint=read["fingerprint"],
        question_id=read.get("question_id"),
        ask_id=read.get("ask_id"),
        at=read.get("at"),
        answered_by=read.get("answered_by"),
    )


def wrapped_part(value: Any) -> dict[str, Any] | None:
    """What is in the wrapper, as it was parked; None for anything that is no wrapper."""
    if not _is_object(value) or len(value) != 1:
        return None
    read: Any = value.get(_WRAPPER)
    if not _is_object(read):
        return None
    return read if "answer" in read and type(read.get("fingerprint")) is str else None


def is_answer(message: object) -> bool:
    """Whether a host's message is an answer: it names a question. Everything else is a start.

    >>> is_answer({"thread_id": "t-1", "question_id": "q-1", "answer": {"action": "approve"}})
    True
    """
    return isinstance(message, Mapping) and "question_id" in message


class Verdict(NamedTuple):
    """What an answer does to a call without a decision parameter.

    `run`: the body runs, with `detail` as the edited arguments, if any. `give`: the answer is returned in
    the body's place. `again`: the question is asked again, with `detail` as the reason.
    """

    does: Literal["run", "give", "again"]
    detail: Any = None


_RUN = Verdict("run")
_GIVE = Verdict("give")


def judge(answer: Any) -> Verdict:
    """The answer table of the contract, as far as it does not need the function."""
    if type(answer) is str:
        return _again_if_encoded(answer)
    if not _is_object(answer) or answer.get("action") != "approve":
        return _GIVE
    if "args" not in answer:
        return _RUN
    edits: Any = answer["args"]
    if not _is_object(edits):
        return Verdict("again", "args must be an object of argument names and values")
    return Verdict("run", edits) if edits else _RUN


def _is_object(value: Any) -> bool:
    return type(value) is dict


def _again_if_encoded(text: str) -> Verdict:
    if "{" not in text:
        return _GIVE
    try:
        inner: Any = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return _GIVE
    if isinstance(inner, str):
        return _again_if_encoded(inner)
    if isinstance(inner, dict) and "action" in inner:
        return Verdict("again", "the answer is JSON in a text: send the object itself")
    return _GIVE
