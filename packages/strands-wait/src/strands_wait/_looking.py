"""Looking at a thread without making it.

Strands' session managers create the session that they are constructed for, so that asking an agent with one
about a thread that never ran would leave an empty session behind.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from strands import Agent
from strands.session.repository_session_manager import RepositorySessionManager
from strands.session.session_repository import SessionRepository

_looking: ContextVar[bool] = ContextVar("strands_wait_looking", default=False)
_construct: Callable[..., None] = RepositorySessionManager.__init__


class _NeverRanError(Exception):
    pass


def look(make_agent: Callable[[str], Agent], thread_id: str) -> Agent | None:
    """The thread's agent, or None where there is no session to read."""
    token = _looking.set(True)
    try:
        return make_agent(thread_id)
    except _NeverRanError:
        return None
    finally:
        _looking.reset(token)


def stop_at_unknown_sessions() -> None:
    """Let a session manager that is made while we look create no session. Nothing else changes."""
    RepositorySessionManager.__init__ = _construct_unless_looking


def _construct_unless_looking(
    self: RepositorySessionManager, session_id: str, session_repository: SessionRepository, **kwargs: Any
) -> None:
    if _looking.get() and session_repository.read_session(session_id) is None:
        raise _NeverRanError
    _construct(self, session_id, session_repository, **kwargs)
