"""The decision table: what a message does to a thread in a given state. Pure, and blind to sync and async."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from agent_wait._adapter import Taken, ThreadState
from agent_wait._canonical import encode, to_plain
from agent_wait._identity import ask_id
from agent_wait._message import Answer, Start
from agent_wait._outcome import OutcomeKind
from agent_wait._question import Question
from agent_wait._types import JSON

STARTS_KEPT = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the host chose, and what only the adapter knows.

    Attributes:
        now: The time by which an answer is late or is not, in seconds since the epoch, UTC.
        refuse_late: Whether late answers are refused.
        refusal: `FrameworkAdapter.refusal`.
    """

    now: Callable[[], float]
    refuse_late: bool
    refusal: Callable[[Question, JSON], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What `WaitPublisher.invoke` was given: it runs, whatever the thread is."""

    thread_id: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Begin:
    """Run the agent on an input; the reply is the run's result, as for the next two."""

    value: Any
    starts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """Run the agent on an answer."""

    answer: Answer
    question: Question
    taken: Taken | None
    starts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GoOn:
    """Take unfinished work up."""

    starts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stop:
    """Run nothing, and say why."""

    kind: OutcomeKind
    detail: str = ""


Run: TypeAlias = Begin | Resume | GoOn


def decide(
    message: Start | Answer | Given, state: ThreadState, rules: Rules, *, continued: bool = False
) -> Run | Stop:
    """What a message does to a thread in this state.

    Args:
        message: Well-formed, and not an answer that is the host's own to act on.
        state: As it was just read.
        rules: See there.
        continued: The thread was unfinished and has just been continued, on behalf of this message.
    """
    if isinstance(message, Given):
        return Begin(value=message.value, starts=state.starts)
    if isinstance(message, Start):
        return _decide_start(message, state, continued=continued)
    return _decide_answer(message, state, rules)


def is_to_be_continued(message: Start | Answer | Given, state: ThreadState, decision: Run | Stop) -> bool:
    """Whether unfinished work is taken up before the message is looked at again.

    Not when the message runs the thread itself: a resume takes the dead tasks up as well, and a branch that
    always fails must not block its healthy sibling. Nor for a start with a new id: the transport has given
    the old one up, and the new input replaces it.
    """
    if not state.unfinished or state.held:
        return False
    if isinstance(message, Start):
        return message.start_id is None or message.start_id in state.starts
    return isinstance(decision, Stop)


def _decide_start(start: Start, state: ThreadState, *, continued: bool) -> Run | Stop:
    known = continued if start.start_id is None else start.start_id in state.starts
    if known:
        return Stop("republished", "this start has run before")
    if state.held:
        return Stop("busy", "the thread is held at a static breakpoint")
    if state.pending or state.kept:
        if start.start_id is None:
            return Stop("republished", "without a start_id it cannot be told from a start that came again")
        return Stop("busy", "the thread is parked")
    new = () if start.start_id is None else (start.start_id,)
    return Begin(value=start.input, starts=(*state.starts, *new)[-STARTS_KEPT:])


def _decide_answer(answer: Answer, state: ThreadState, rules: Rules) -> Run | Stop:
    if not state.known:
        return Stop("unknown_question", "the thread has never run")
    question = next((q for q in state.pending if q.id == answer.question_id), None)
    if question is None:
        return Stop("already_answered", "the question is not open")
    if answer.ask_id is not None and answer.ask_id != ask_id(answer.thread_id, question):
        return Stop("already_answered", "this ask of the question is not open")
    if answer.fingerprint != question.fingerprint:
        return Stop("refused", "the fingerprint is not the open question's: copy reply_with")
    taken = state.taken.get(question.id)
    if taken is not None and _same(taken.answer, answer.answer):
        return GoOn(starts=state.starts)
    if taken is not None and question.fingerprint is None:
        return Stop(
            "refused", "the run failed after it took another answer, and a bare interrupt takes one only"
        )
    if rules.refuse_late and (stop := _if_late(answer, question, rules.now)):
        return stop
    if (why := rules.refusal(question, answer.answer)) is not None:
        return Stop("refused", why)
    return Resume(answer=answer, question=question, taken=taken, starts=state.starts)


def _if_late(answer: Answer, question: Question, now: Callable[[], float]) -> Stop | None:
    """At the deadline is late, as a token is expired on its `exp` (RFC 7519, 4.1.4)."""
    policy = question.policy
    if policy.timeout is None or (policy.default is not None and _same(policy.default, answer.answer)):
        return None
    if question.expires_at is None:
        return Stop("refused", "nobody knows when it was asked, so its deadline cannot be told")
    return Stop("expired", "it came at the deadline or after it") if now() >= question.expires_at else None


def _same(one: JSON, other: JSON) -> bool:
    """By canonical JSON, where True is not 1."""
    return encode(to_plain(one, lenient=True)) == encode(to_plain(other, lenient=True))
