"""From a host's messages to what resumes a run with them."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from agent_wait import JSON, Clock, Question, SystemClock, ask_id, wrap_answer
from strands.types.interrupt import InterruptResponseContent

from strands_wait._results import interrupts_in


def interrupt_responses(
    messages: Mapping[str, Any] | Sequence[Mapping[str, Any]], pending: Any, *, clock: Clock | None = None
) -> list[InterruptResponseContent]:
    """What resumes the agent with answers: `agent(interrupt_responses(messages, result))`.

    Everything is looked at before anything is built, since Strands applies what comes before an unknown id.
    The answer to a wait is wrapped; a hook's own interrupt gets what was sent. Of two answers to one question
    the first counts. Questions without an answer stay open.

    Args:
        messages: Answers, best made by copying `reply_with`.
        pending: What the run stopped on: its result, its interrupts, or `Question`s.
        clock: For when the answers were given.

    Raises:
        ValueError: A message answers nothing that is open, or a bare interrupt with null, which is Strands'
            own mark of an open interrupt (https://github.com/strands-agents/harness-sdk/issues/4470).
    """
    questions = {question.id: question for question in _questions(pending)}
    given = [messages] if isinstance(messages, Mapping) else messages
    responses: dict[str, InterruptResponseContent] = {}
    at = (clock or SystemClock()).now()
    for message in given:
        question = _answered(message, questions)
        if (why := refusal(question, message["answer"])) is not None:
            raise ValueError(why)
        response = wrap_answer(message, at=at)
        responses.setdefault(
            question.id, {"interruptResponse": {"interruptId": question.id, "response": response}}
        )
    return list(responses.values())


def refusal(question: Question, answer: JSON) -> str | None:
    """Why Strands could not carry the answer, if it could not."""
    if question.fingerprint is None and answer is None:
        return "a bare interrupt of Strands cannot be answered with null: it would stay open"
    return None


def _questions(pending: Any) -> list[Question]:
    if isinstance(pending, Sequence) and all(
        isinstance(one, Question) for one in cast("Sequence[Any]", pending)
    ):
        return list(cast("Sequence[Question]", pending))
    return [Question.unpack(*found) for found in interrupts_in(pending)]


def _answered(message: Mapping[str, Any], questions: Mapping[str, Question]) -> Question:
    if "answer" not in message:
        raise ValueError("the message has no answer")
    question = questions.get(message.get("question_id", ""))
    if question is None:
        raise ValueError("the message answers no question that is open")
    if message.get("fingerprint") != question.fingerprint:
        raise ValueError("the fingerprint is not the open question's: copy reply_with")
    ask = message.get("ask_id")
    if ask is not None and ask != ask_id(str(message.get("thread_id")), question):
        raise ValueError("this ask of the question is not open")
    return question
