"""What the templates say of a question and of its answer."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from agent_wait import JSON, WaitEnvelope
from refund_agent.approvals import Approval

from inbox.form import REDACTED
from inbox.schema import same
from inbox.text import as_json, brief, human, visible

DEADLINE = "deadline"
"""Who answers when nobody has: the sweep, and the scheduler."""

_DONE = {"approve": "Approved", "reject": "Rejected", "resume": "Answered"}
_LONG = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A value of a question, by name."""

    label: str
    value: JSON

    @property
    def is_hidden(self) -> bool:
        return self.value == REDACTED

    @property
    def is_text(self) -> bool:
        return isinstance(self.value, str) and self.value != ""

    @property
    def text(self) -> str:
        match self.value:
            case str(text):
                return text or "(empty)"
            case None:
                return "(none)"
            case bool(yes):
                return "yes" if yes else "no"
            case dict() | list() as data:
                return as_json(data, indent=2)
            case number:
                return as_json(number)

    @property
    def brief(self) -> str:
        return "hidden" if self.is_hidden else brief(self.value if self.is_text else self.text)

    @property
    def is_data(self) -> bool:
        return isinstance(self.value, dict | list)

    @property
    def is_long(self) -> bool:
        return len(self.text) > _LONG


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What an approver made of a value."""

    label: str
    before: Fact | None
    after: Fact


def title(question: WaitEnvelope) -> str:
    match question.question:
        case {"function": str(name), "args": dict()}:
            return human(name)
        case str(text) if text.strip():
            return brief(text, most=120)
        case _:
            return "A question"


def facts(question: WaitEnvelope) -> list[Fact]:
    match question.question:
        case {"function": str(), "args": dict(values)}:
            pass
        case dict(values):
            pass
        case None:
            # Announced as closed by somebody who did not have it any more.
            return []
        case str(text) if brief(text, most=120) == text:
            return []
        case value:
            return [Fact(label="Question", value=value)]
    return [Fact(label=human(name), value=value) for name, value in values.items()]


def action_of(answer: JSON) -> str:
    """`Approved`, for what is shown of an answer; `Answered` where it names no action."""
    match answer:
        case {"action": str(action)} if action:
            return _DONE.get(action, f"Answered “{human(action)}”")
        case _:
            return "Answered"


def tone(answer: JSON) -> str:
    match answer:
        case {"action": "approve"}:
            return "good"
        case {"action": "reject"}:
            return "bad"
        case _:
            return "plain"


def changes(approval: Approval) -> list[Change]:
    """What was edited, before and after."""
    args: dict[str, JSON] = {}
    match approval.question.question:
        case {"function": str(), "args": dict(asked)}:
            args = asked
        case _:
            pass
    match approval.answer:
        case {"action": "approve", "args": dict(edited)}:
            return [
                Change(
                    label=human(name),
                    before=Fact(label=name, value=args[name]) if name in args else None,
                    after=Fact(label=name, value=value),
                )
                for name, value in edited.items()
                if name not in args or not same(args[name], value)
            ]
        case _:
            return []


def remarks(answer: JSON) -> list[Fact]:
    """What an answer says beside its action and its edits."""
    match answer:
        case {"action": str(action), **rest}:
            said = {name: value for name, value in rest.items() if name != "args" or action != "approve"}
            return [Fact(label=human(name), value=value) for name, value in said.items()]
        case dict(values):
            return [Fact(label=human(name), value=value) for name, value in values.items()]
        case value:
            return [Fact(label="Answer", value=value)]


def who(approval: Approval) -> str:
    by = approval.answered_by or "somebody"
    return "the deadline (nobody answered)" if by == DEADLINE else by


def moment(text: str) -> str:
    """`2026-12-03T21:42:43Z` as `3 Dec 2026, 21:42 UTC`."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return text
    return f"{at.day} {at:%b %Y, %H:%M} UTC"


def left(seconds: float) -> str:
    """`2 d 23 h`, as the script goes on counting."""
    minutes, hours, days = int(seconds // 60), int(seconds // 3600), int(seconds // 86400)
    if seconds < 60:
        return f"{max(int(seconds), 0)} s"
    if hours < 1:
        return f"{minutes} min"
    return f"{hours} h {minutes % 60} min" if days < 1 else f"{days} d {hours % 24} h"


def seconds_left(question: WaitEnvelope, now: float) -> float | None:
    try:
        return datetime.fromisoformat(question.expires_at).timestamp() - now if question.expires_at else None
    except ValueError:
        return None


def address(question: WaitEnvelope, path: str = "/question") -> str:
    return f"{path}?{urlencode({'thread': question.thread_id, 'ask': question.ask_id})}"


def element_id(question: WaitEnvelope) -> str:
    return f"q-{hashlib.sha256(question.ask_id.encode()).hexdigest()[:16]}"


def asked_again(approval: Approval, of_thread: Sequence[Approval]) -> Approval | None:
    """The next time the same call was asked, if it was."""
    return next((each for each in of_thread if _is_again(each, approval.question, +1)), None)


def asked_before(approval: Approval, of_thread: Sequence[Approval]) -> Approval | None:
    return next((each for each in of_thread if _is_again(each, approval.question, -1)), None)


def _is_again(other: Approval, question: WaitEnvelope, step: int) -> bool:
    if question.fingerprint is None:
        return False
    return (other.question.fingerprint, other.question.attempt) == (
        question.fingerprint,
        question.attempt + step,
    )


def matches(approval: Approval, words: str, tags: Sequence[tuple[str, str]]) -> bool:
    """Whether a search finds it: every word somewhere in what is shown of it, and every tag."""
    question = approval.question
    if any(question.tags.get(name) != value for name, value in tags):
        return False
    told: list[JSON] = [question.question, dict(question.tags), question.thread_id, approval.answered_by]
    haystack = visible("\n".join(_texts(told))).casefold()
    return all(word in haystack for word in visible(words).casefold().split())


def _texts(value: JSON) -> Iterator[str]:
    match value:
        case dict(members):
            for name, each in members.items():
                yield human(name)
                yield from _texts(each)
        case list(items):
            for each in items:
                yield from _texts(each)
        case str(text):
            yield text
            yield human(text)
        case other:
            yield as_json(other)
