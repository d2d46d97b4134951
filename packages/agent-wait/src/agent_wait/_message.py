"""What a host's message is: a start, an answer, or nothing that can be meant."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from agent_wait._canonical import to_plain
from agent_wait._types import JSON

_ASK_DIGITS = re.compile("[0-9a-f]{16}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A message that wants a run.

    Attributes:
        thread_id: The conversation.
        input: What the agent is given; never None, which frameworks take for "go on".
        start_id: The sender's name for this request; None: it cannot be told from its own redelivery.
    """

    thread_id: str
    input: Any = field(repr=False)
    start_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A message that answers one question.

    Attributes:
        thread_id: The conversation.
        question_id: What it answers.
        answer: JSON data, as sent.
        ask_id: Names the ask, where the sender copied `reply_with`.
        fingerprint: Names the call; None for a bare interrupt, or where the sender left it out.
        is_decision: The question did not park (`mode="async"`): the answer is the host's to act on.
        message: All of it, as it came.
    """

    thread_id: str
    question_id: str
    answer: JSON = field(repr=False)
    ask_id: str | None = None
    fingerprint: str | None = None
    is_decision: bool = False
    message: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Malformed:
    """A message that nothing can be done with; `why` quotes none of its content."""

    why: str
    thread_id: str | None = None
    question_id: str | None = None


Message: TypeAlias = Start | Answer


def parse_message(message: object) -> Start | Answer | Malformed:
    """Read a message of any type and shape. Unknown keys are ignored, and a null is as good as a missing key.

    (All but `answer`, which may be null, and `input` and `question_id`, whose presence says what is meant.)
    """
    if not isinstance(message, Mapping):
        return Malformed(why=f"a message is a JSON object, not {type(message).__name__}")
    fields: dict[Any, Any] = dict(message)
    try:
        return _answer(fields) if "question_id" in fields else _start(fields)
    except _Unusable as error:
        return Malformed(
            why=str(error),
            thread_id=_id_or_none(fields, "thread_id"),
            question_id=_id_or_none(fields, "question_id"),
        )


class _Unusable(Exception):
    pass


def _start(fields: dict[Any, Any]) -> Start:
    thread_id = _id(fields, "thread_id")
    if "input" not in fields:
        raise _Unusable("there is neither question_id nor input, so it is no answer and no start")
    if fields["input"] is None:
        raise _Unusable("input is null")
    return Start(thread_id=thread_id, input=fields["input"], start_id=_optional_id(fields, "start_id"))


def _answer(fields: dict[Any, Any]) -> Answer:
    thread_id, question_id = _id(fields, "thread_id"), _id(fields, "question_id")
    if "input" in fields:
        raise _Unusable("there are both question_id and input, so it may be an answer or a start")
    if "answer" not in fields:
        raise _Unusable("there is no answer")
    if not _is_json(fields["answer"]):
        raise _Unusable("answer is no JSON data, or nested more than 100 levels deep")
    ask_id = _optional_id(fields, "ask_id")
    if ask_id is not None and not _belongs(ask_id, question_id):
        raise _Unusable("ask_id does not belong to question_id: copy reply_with")
    _optional_id(fields, "answered_by")
    mode: Any = fields.get("mode")
    if mode not in (None, "interrupt", "async"):
        raise _Unusable("mode is neither interrupt nor async")
    return Answer(
        thread_id=thread_id,
        question_id=question_id,
        answer=fields["answer"],
        ask_id=ask_id,
        fingerprint=_optional_id(fields, "fingerprint"),
        is_decision=mode == "async",
        message=fields,
    )


def _belongs(ask_id: str, question_id: str) -> bool:
    return (
        ask_id.startswith(f"{question_id}:")
        and _ASK_DIGITS.fullmatch(ask_id, len(question_id) + 1) is not None
    )


def id_fault(name: str, value: object) -> str | None:
    """Why this is no id that could name something for good, if so."""
    if not isinstance(value, str):
        return f"{name} is text, not {type(value).__name__}"
    if not value:
        return f"{name} is empty"
    if "\0" in value or not (value.isascii() or _is_unicode(value)):
        return f"{name} has a NUL or half a surrogate pair, which no store keeps"
    return None


def checked_id(name: str, value: str) -> str:
    """The id, if it could name something for good.

    Raises:
        TypeError: It is no text.
        ValueError: It is empty, or no store would keep it.
    """
    fault = id_fault(name, value)
    if fault is None:
        return value
    raise (ValueError if isinstance(value, str) else TypeError)(fault)  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without types


def _id(fields: Mapping[Any, Any], name: str) -> str:
    if name not in fields:
        raise _Unusable(f"there is no {name}")
    fault = id_fault(name, fields[name])
    if fault is not None:
        raise _Unusable(fault)
    return fields[name]


def _optional_id(fields: Mapping[Any, Any], name: str) -> str | None:
    return None if fields.get(name) is None else _id(fields, name)


def _id_or_none(fields: Mapping[Any, Any], name: str) -> str | None:
    try:
        return _optional_id(fields, name)
    except _Unusable:
        return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_json(value: Any) -> bool:
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        to_plain(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return _is_unicode(text)
