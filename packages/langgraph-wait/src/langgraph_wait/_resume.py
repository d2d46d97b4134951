"""From a host's message to what resumes a graph with it."""

import re
from collections.abc import Mapping
from typing import Any

from agent_wait import Clock, SystemClock, wrap_answer
from langgraph.types import Command

_ID = re.compile("[0-9a-f]{32}")


def resume_command(message: Mapping[str, Any], *, clock: Clock | None = None) -> Command[Any]:
    """What resumes the graph with an answer: `graph.invoke(resume_command(message), config)`.

    Always by the question's id: a bare value is lost, misrouted or refused when there are two questions.

    Args:
        message: An answer, best made by copying `reply_with`. With a fingerprint it reaches the call that it
            names and no other; without one it is handed on as it is, as a bare `interrupt()` expects.
        clock: For when the answer was given.

    Raises:
        ValueError: It is no answer, or `question_id` is no id of LangGraph's: that would be taken for the
            answer itself.
    """
    return command_for(message, str(message.get("question_id")), clock=clock)


def command_for(message: Mapping[str, Any], id: str, *, clock: Clock | None = None) -> Command[Any]:
    """As `resume_command`, under an id that is not the message's."""
    if "answer" not in message:
        raise ValueError("the message has no answer")
    if _ID.fullmatch(id) is None:
        raise ValueError(
            "question_id is not 32 hex digits, so the message answers no question of LangGraph's"
        )
    return Command(resume={id: wrap_answer(message, at=(clock or SystemClock()).now())})
