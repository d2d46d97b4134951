"""What a body may know about the wait that let it run."""

from collections.abc import Callable
from contextvars import ContextVar
from functools import cached_property

from agent_wait._types import JSON


class CurrentWait:
    """The wait around the body that is running now.

    Attributes:
        answer: The answer, as it was sent; None when nothing was asked.
        answered_by: Who gave it, as the host says; None when it does not.
        question_id: The question that was answered; None when nothing was asked, or the answer was given
            by the framework's own means.
        asked: False when `when` said that no question was needed.
        thread_id: The thread of the run.
        idempotency_key: 64 hex digits: the same on every re-run and re-ask of this call, and for no other
            call. Hand it to whatever must not happen twice when the process dies right after it.
    """

    def __init__(
        self,
        *,
        asked: bool,
        thread_id: Callable[[], str],
        key: Callable[[str], str],
        answer: JSON = None,
        answered_by: str | None = None,
        question_id: str | None = None,
    ) -> None:
        self.asked = asked
        self.answer = answer
        self.answered_by = answered_by
        self.question_id = question_id
        self._thread_id = thread_id
        self._key = key

    @cached_property
    def thread_id(self) -> str:
        """The thread of the run."""
        return self._thread_id()

    @cached_property
    def idempotency_key(self) -> str:
        """See the class.

        Raises:
            QuestionError: Nothing was asked, and the arguments have no JSON form to name the call by.
        """
        return self._key(self.thread_id)


CURRENT: ContextVar[CurrentWait | None] = ContextVar("agent_wait", default=None)


def current_wait() -> CurrentWait | None:
    """The wait around the body that is running now; None outside of one.

    It travels with the context: into coroutines, `asyncio.to_thread`, and threads started with
    `contextvars.copy_context()`.
    """
    return CURRENT.get()
