"""What `WaitPublisher` does with a message, from the first look at the thread to the outcome.

`converge` yields one step after the other and is sent what became of it, so that a sync and an async driver
share every rule. What a message does to a thread is in `_decision`.
"""

from collections.abc import Generator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from agent_wait._adapter import ThreadState
from agent_wait._decision import Begin, Given, GoOn, Resume, Rules, Run, Stop, decide, is_to_be_continued
from agent_wait._errors import QuestionClosed
from agent_wait._identity import ask_id
from agent_wait._message import Answer, Start
from agent_wait._outcome import Outcome, OutcomeKind
from agent_wait._publication import Publication
from agent_wait._question import Question
from agent_wait._types import Transition

# How many attempts of one call an `ask_id` is looked up in.
_ATTEMPTS = 256

Asks: TypeAlias = Mapping[str, Question]
"""Questions by their `ask_id`."""


@dataclass(frozen=True, slots=True)
class Read:
    """Read the thread; the reply is its `ThreadState`."""


@dataclass(frozen=True, slots=True)
class Announce:
    """Announce; the reply is the `Publication`."""

    asks: Asks
    transition: Transition


Step: TypeAlias = Read | Run | Announce


def converge(message: Start | Answer | Given, rules: Rules) -> Generator[Step, Any, Outcome]:
    """The steps for one message, to be taken under the thread's lock; returns what became of it."""
    thread_id = message.thread_id
    first: ThreadState = yield Read()
    after, seen = first, _parked(thread_id, first)
    decision = decide(message, first, rules)
    result: Any = None
    continued = is_to_be_continued(message, first, decision)
    try:
        if continued:
            result = yield GoOn(starts=first.starts)
            after = yield Read()
            seen = {**_parked(thread_id, after), **seen}
            decision = decide(message, after, rules, continued=True)
        if not isinstance(decision, Stop):
            result = yield decision
            after = yield Read()
    except QuestionClosed:
        decision = Stop("already_answered", "another process was first")
        after = yield Read()
    except Exception:
        # The branch that failed may fail for ever, and must not hide what its siblings asked.
        with suppress(Exception):
            yield from republish(thread_id)
        raise
    created = _open(thread_id, after)
    if isinstance(decision, Begin | Resume) and not first.unfinished:
        created = {ask: question for ask, question in created.items() if ask not in seen}
    publication = Publication()
    if created:
        publication += yield Announce(created, "created")
    if resumed := closed_asks(message, seen, after, applied=not isinstance(decision, Stop)):
        publication += yield Announce(resumed, "resumed")
    kind, detail = _verdict(decision, after, thread_id, continued=continued)
    return Outcome(
        kind,
        thread_id,
        message.question_id if isinstance(message, Answer) else None,
        detail,
        result,
        publication,
        acknowledge=not publication.failures,
    )


def republish(thread_id: str) -> Generator[Step, Any, Publication]:
    """The steps that announce what is open once more."""
    state: ThreadState = yield Read()
    asks = _open(thread_id, state)
    return (yield Announce(asks, "created")) if asks else Publication()


def closed_asks(
    message: Start | Answer | Given, seen: Asks, after: ThreadState, *, applied: bool
) -> dict[str, Question]:
    """What is announced as `resumed`: what a message closed that was applied, or the ask that it names.

    The first delivery of an answer may have died between the run and the announcement, and then only the
    message still names the ask, and with it those whose answers were kept for this one. It must be an ask of
    this thread, and nothing may be open under its id, since a framework can show one question under
    another's id: unless that is a later attempt of the same.
    """
    parked = _parked(message.thread_id, after)
    named = message.ask_id if isinstance(message, Answer) and after.known else None
    along = _asks(message.thread_id, after.closed)
    if named not in along:
        along = {}
    closed = {
        ask: question
        for ask, question in {**seen, **along}.items()
        if ask not in parked and (applied or ask == named or ask in along)
    }
    if isinstance(message, Answer) and named is not None and named not in closed:
        question = _question_of(message)
        if question is not None and all(
            q.id != question.id or _is_later(q, question) for q in parked.values()
        ):
            closed[named] = question
    return closed


def _question_of(answer: Answer) -> Question | None:
    """The question of a redelivered answer, with ids alone; None when its `ask_id` is of another thread."""
    question = Question(answer.question_id, None, fingerprint=answer.fingerprint)
    if question.fingerprint is None:
        return question
    attempts = (replace(question, attempt=n) for n in range(1, _ATTEMPTS + 1))
    return next((q for q in attempts if ask_id(answer.thread_id, q) == answer.ask_id), None)


def _is_later(question: Question, than: Question) -> bool:
    return question.fingerprint == than.fingerprint and question.attempt > than.attempt


def _verdict(
    decision: Run | Stop, after: ThreadState, thread_id: str, *, continued: bool
) -> tuple[OutcomeKind, str]:
    match decision:
        case Stop(kind="republished" | "already_answered") if continued:
            return "continued", decision.detail
        case Stop():
            return decision.kind, decision.detail
        case Begin():
            return "started", ""
        case GoOn():
            return "continued", "the answer had been taken before"
        case Resume() if ask_id(thread_id, decision.question) in _asks(thread_id, after.kept):
            return "kept", f"the framework waits for {len(after.pending)} more"
        case _:
            return "resumed", ""


def _parked(thread_id: str, state: ThreadState) -> dict[str, Question]:
    return _asks(thread_id, (*state.pending, *state.kept))


def _open(thread_id: str, state: ThreadState) -> dict[str, Question]:
    return _asks(thread_id, state.pending)


def _asks(thread_id: str, questions: tuple[Question, ...]) -> dict[str, Question]:
    return {ask_id(thread_id, question): question for question in questions}
