"""What became of one message."""

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from agent_wait._publication import Publication

OutcomeKind: TypeAlias = Literal[
    "started",
    "resumed",
    "continued",
    "kept",
    "republished",
    "already_answered",
    "unknown_question",
    "busy",
    "expired",
    "decision",
    "refused",
]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What `WaitPublisher` did with a message, and whether the host may acknowledge it.

    Attributes:
        kind: `started`, `resumed`, `continued`, `kept`, `republished`, `already_answered`,
            `unknown_question`, `busy`, `expired`, `decision` or `refused`.
        thread_id: None only for a message that names none.
        question_id: The question that the message answers, if it is an answer.
        detail: Why, for a person; never the question's or the answer's content.
        result: What the run returned, when one was made.
        publication: What was announced, and what could not be.
        acknowledge: False when something of what the message caused is not yet safe: let the transport
            deliver it again.
    """

    kind: OutcomeKind
    thread_id: str | None
    question_id: str | None = None
    detail: str = ""
    result: Any = field(default=None, repr=False)
    publication: Publication = field(default_factory=Publication, repr=False)
    acknowledge: bool = field(kw_only=True)
