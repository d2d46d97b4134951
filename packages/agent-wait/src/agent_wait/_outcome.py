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

    What each kind means, and what the host does beside acknowledging it:

    * `started`: the run was made. `resumed`: the answer was applied and the run went on.
    * `continued`: unfinished work of an earlier, broken run was taken up; the message had been applied
      before.
    * `kept`: the answer is stored until the framework has all it needs.
    * `republished`: a start came again; what the thread waits on was announced again.
    * `already_answered`: the question is not open on this thread: answered, asked again, or never asked.
      Log it.
    * `unknown_question`: the thread has never run. Log it; a dead letter if it matters.
    * `busy`: another start, for a thread that is parked or held. Nothing else has the input: put it on the
      dead-letter queue and tell the sender.
    * `expired`: the answer came too late, with `late_answers="refuse"`. Tell the sender.
    * `decision`: an answer to a question of `mode="async"`. Nothing was run; act on it.
    * `refused`: malformed, or it would wedge the framework. A dead letter.

    Attributes:
        kind: See above.
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
