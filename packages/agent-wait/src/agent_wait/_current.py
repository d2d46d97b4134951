"""What a body may know about the wait that let it run."""

from contextvars import ContextVar
from typing import Any, Protocol

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

    __slots__ = ("_call", "_named", "_names", "answer", "answered_by", "asked", "question_id")

    def __init__(
        self,
        names: "Names",
        call: Any,
        named: Any,
        asked: bool,
        answer: JSON = None,
        answered_by: str | None = None,
        question_id: str | None = None,
    ) -> None:
        self._names = names
        self._call = call
        self._named = named
        self.asked = asked
        self.answer = answer
        self.answered_by = answered_by
        self.question_id = question_id

    @property
    def thread_id(self) -> str:
        """The thread of the run."""
        return self._names.thread_id(self._call)

    @property
    def idempotency_key(self) -> str:
        """See the class.

        Raises:
            QuestionError: Nothing was asked, and the arguments have no JSON form to name the call by.
        """
        return self._names.idempotency_key(self._call, self._named)


class Names(Protocol):
    """What names a call, worked out when somebody wants to know."""

    def thread_id(self, call: Any) -> str:
        """The thread of the run."""
        ...

    def idempotency_key(self, call: Any, named: Any) -> str:
        """See `CurrentWait`; `named` is the call's question with its fingerprint, where there is one."""
        ...


CURRENT: ContextVar[CurrentWait | None] = ContextVar("agent_wait", default=None)


def current_wait() -> CurrentWait | None:
    """The wait around the body that is running now; None outside of one.

    It travels with the context: into coroutines, `asyncio.to_thread`, and threads started with
    `contextvars.copy_context()`.
    """
    return CURRENT.get()
