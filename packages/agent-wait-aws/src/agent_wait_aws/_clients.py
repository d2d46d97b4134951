"""boto3 clients: injected, or made when first needed."""

import os
import threading
import weakref
from contextlib import suppress
from typing import Any, Generic, Protocol, TypeVar, cast

C = TypeVar("C")


class Session(Protocol):
    """A `boto3.session.Session`."""

    def client(self, *args: Any, **kwargs: Any) -> Any:
        """Make a client."""
        ...


# Sessions are not safe from several threads, the clients they make are.
# https://boto3.amazonaws.com/v1/documentation/api/latest/guide/session.html#multithreading-or-multiprocessing-with-sessions
_lock = threading.Lock()
_own_session: Session | None = None
_made: "weakref.WeakSet[LazyClient[Any]]" = weakref.WeakSet()


class LazyClient(Generic[C]):
    """One client, made once, under a lock that all share.

    Args:
        service: As boto3 names it, such as `sns`.
        client: Used as it is; the rest is then not looked at.
        region_name: None is the region of the session.
        session: None is boto3's default session where the process has set one up, else one that all share.
    """

    def __init__(
        self, service: str, *, client: C | None, region_name: str | None, session: Session | None
    ) -> None:
        self._service = service
        self._client = client
        self._region_name = region_name
        self._session = session

    def get(self) -> C:
        """The client."""
        if self._client is None:
            with _lock:
                if self._client is None:
                    self._client = self._make()
                    _made.add(self)
        return self._client

    def forget(self) -> None:
        """Make the client anew when it is next needed."""
        self._client = None

    def _make(self) -> C:
        from botocore.config import Config  # noqa: PLC0415  # when first needed

        config = Config(
            # A thread that hangs here ends within half a minute; a publish stops waiting for it before that.
            connect_timeout=3,
            read_timeout=5,
            retries={"mode": "standard", "total_max_attempts": 3},
            max_pool_connections=32,
            tcp_keepalive=True,
        )
        session = self._session or _shared_session()
        return cast(C, session.client(self._service, region_name=self._region_name, config=config))


def region_of_arn(arn: str) -> str | None:
    """The region an ARN names, if it names one."""
    parts = arn.split(":")
    return parts[3] or None if len(parts) >= 6 and parts[0] == "arn" else None


def _shared_session() -> Session:
    global _own_session  # noqa: PLW0603  # one for the process, as boto3 has one
    import boto3  # noqa: PLC0415  # when first needed

    if boto3.DEFAULT_SESSION is not None:
        return boto3.DEFAULT_SESSION
    if _own_session is None:
        _own_session = boto3.session.Session()
    return _own_session


def _start_anew() -> None:
    """In a forked child: the connections are the parent's, and its threads may have held the lock."""
    global _lock, _own_session  # noqa: PLW0603  # one for the process
    _lock = threading.Lock()
    _own_session = None
    for client in list(_made):
        client.forget()
    _made.clear()


with suppress(AttributeError):  # which Windows raises, where nothing forks
    os.register_at_fork(after_in_child=_start_anew)
