"""What a body may know about the wait that let it run."""

from contextvars import ContextVar
from typing import Any, NamedTuple, Protocol

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

    __slots__ = ("_around", "answer", "answered_by", "asked", "question_id")

    def __init__(self, around: "Around") -> None:
        given = around.given
        self._around = around
        self.asked: bool = given is not None
        self.answer: JSON = None if given is None else given.answer
        self.answered_by: str | None = None if given is None else given.answered_by
        self.question_id: str | None = None if given is None else given.question_id

    @property
    def thread_id(self) -> str:
        """The thread of the run."""
        return self._around.names.thread_id(self._around.call)

    @property
    def idempotency_key(self) -> str:
        """See the class.

        Raises:
            QuestionError: Nothing was asked, and the arguments have no JSON form to name the call by.
        """
        return self._around.names.idempotency_key(self._around.call, self._around.named)


class Names(Protocol):
    """What names a call, worked out when somebody wants to know."""

    def thread_id(self, call: Any) -> str:
        """The thread of the run."""
        ...

    def idempotency_key(self, call: Any, named: Any) -> str:
        """See `CurrentWait`; `named` is the call's question with its fingerprint, where there is one."""
        ...


class Around(NamedTuple):
    """What is around a body, as it stands when the body starts; nothing is worked out of it until asked for.

    Attributes:
        names: Works out what names the call.
        call: The call.
        named: Its question and fingerprint, where it had to be named.
        given: Its answer; None when nothing was asked.
    """

    names: Names
    call: Any
    named: Any
    given: Any


CURRENT: ContextVar[Around | tuple[Names, Any, Any, Any] | None] = ContextVar("agent_wait", default=None)


def current_wait() -> CurrentWait | None:
    """The wait around the body that is running now; None outside of one.

    It travels with the context: into coroutines, `asyncio.to_thread`, and threads started with
    `contextvars.copy_context()`.
    """
    around = CURRENT.get()
    return None if around is None else CurrentWait(Around(*around))
