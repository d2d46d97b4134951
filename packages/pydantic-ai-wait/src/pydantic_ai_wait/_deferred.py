"""From a host's messages to what resumes a run with them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from agent_wait import (
    JSON,
    Clock,
    Question,
    SystemClock,
    ask_id,
    canonical_json,
    judge,
    to_plain,
    wrap_answer,
)
from pydantic_ai import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied, ToolReturn
from pydantic_ai.messages import ModelMessage, ToolCallPart

from pydantic_ai_wait._questions import open_calls, parked_values, record_for
from pydantic_ai_wait._record import KEY
from pydantic_ai_wait._results import read


class Deferred(NamedTuple):
    """What `deferred_results` makes of messages.

    Attributes:
        results: For `agent.run(message_history=..., deferred_tool_results=results)`, once nothing is missing.
        missing: The ids of the questions without an answer. Pydantic AI takes all answers at once.
        ignored: The messages that answer nothing that is open.
    """

    results: DeferredToolResults
    missing: list[str]
    ignored: list[Mapping[str, Any]]


def deferred_results(
    messages: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    requests: Any,
    *,
    history: Sequence[ModelMessage] | None = None,
    clock: Clock | None = None,
) -> Deferred:
    """What resumes the run with answers; the first usable one for each question counts.

    A call of a waiting function is approved whatever the answer is, with the answer beside it: the function
    applies it. A call of another tool is approved, with the edits in its arguments, or denied with the
    answer's reason. A call that was deferred (`CallDeferred`) returns the answer.

    Args:
        messages: Answers, best made by copying `reply_with`. Keep those that came before the rest did, and
            pass them all each time.
        requests: What the run stopped on: its result, its `DeferredToolRequests`, or its history. Without it
            a tool that never heard of us would run on a rejection.
        history: The messages of the run, where `requests` has none. They tell which turn a call is of, so
            without them an answer with a fingerprint to a tool that never heard of us is ignored.
        clock: For when the answers were given.

    Raises:
        TypeError: `requests` is nothing of the kind, or of a run that did not stop.
    """
    asked, told = read(requests)
    if asked is None and not told:
        raise TypeError("the run stopped on nothing")
    known = told if history is None else list(history)
    now = (clock or SystemClock()).now()
    return combine(
        [messages] if isinstance(messages, Mapping) else messages,
        asked or DeferredToolRequests(),
        known,
        given_at=lambda _: now,
    )


def combine(
    messages: Sequence[Mapping[str, Any]],
    requests: DeferredToolRequests,
    history: Sequence[ModelMessage],
    *,
    given_at: Callable[[Mapping[str, Any]], float],
) -> Deferred:
    """As `deferred_results`, from parts; `given_at` tells when a message came."""
    questions = questions_of(requests, history)
    parts = {part.tool_call_id: part for part in (*requests.approvals, *requests.calls)}
    results, ignored = DeferredToolResults(), list[Mapping[str, Any]]()
    answered: set[str] = set()
    for message in messages:
        question = questions.get(str(message.get("question_id")))
        if question is None or question.id in answered or not answers(message, question):
            ignored.append(message)
            continue
        answered.add(question.id)
        _put(results, message, question, parts[question.id], requests, history, given_at(message))
    asked = dict.fromkeys((*questions, *open_calls(history)))
    return Deferred(results, [name for name in asked if name not in answered], ignored)


def questions_of(requests: DeferredToolRequests, history: Sequence[ModelMessage]) -> dict[str, Question]:
    """What a run stopped on, by id."""
    values = parked_values(requests, history)
    return {name: Question.unpack(name, value) for name, value in values.items()}


def answers(message: Mapping[str, Any], question: Question) -> bool:
    """Whether a message answers this very ask, in a way that can be applied.

    A tool call's id and fingerprint stay the same when it is asked again, so the `ask_id` has to be looked
    at; it names the thread too.
    """
    if "answer" not in message or message.get("fingerprint") != question.fingerprint:
        return False
    ask = message.get("ask_id")
    if ask is not None and ask != ask_id(str(message.get("thread_id")), question):
        return False
    return unusable(question, message["answer"]) is None


def unusable(question: Question, answer: JSON) -> str | None:
    """Why an answer to a tool that never heard of us cannot be applied: it could not be asked again."""
    if question.source is not None or question.allowed_actions == ("resume",):
        return None
    verdict = judge(answer)
    return str(verdict.detail) if verdict.does == "again" else None


def _put(
    results: DeferredToolResults,
    message: Mapping[str, Any],
    question: Question,
    part: ToolCallPart,
    requests: DeferredToolRequests,
    history: Sequence[ModelMessage],
    at: float,
) -> None:
    name, answer = question.id, message["answer"]
    record = record_for(requests, history, name)
    if any(one.tool_call_id == name for one in requests.calls):
        results.calls[name] = ToolReturn(return_value=answer)
    elif record is not None:
        results.approvals[name] = ToolApproved()
        results.metadata[name] = {KEY: replace(record, reply=wrap_answer(message, at=at)).to_json()}
    elif judge(answer).does == "run":
        edits = judge(answer).detail
        shown = part.args_as_dict()
        results.approvals[name] = ToolApproved(override_args={**shown, **edits} if edits else None)
        results.metadata[name] = {"answer": answer, "answered_by": message.get("answered_by")}
    else:
        results.approvals[name] = ToolDenied(_reason(answer))


def _reason(answer: Any) -> str:
    """What the model is told of a denial."""
    reason: Any = cast("Mapping[str, Any]", answer).get("reason") if isinstance(answer, Mapping) else answer
    return reason if isinstance(reason, str) and reason else canonical_json(to_plain(answer, lenient=True))
