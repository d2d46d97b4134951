"""One HTTP request and the status of its answer, within one deadline, on the sockets of the standard library.

`http.client` would send headers and body apart, wait for what it need not read, and give every socket
operation the whole timeout, so that a receiver that drips holds it for ever.
"""

import re
import socket
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from agent_wait._announcer import UNKNOWN
from agent_wait._errors import AnnounceError
from agent_wait._fan_out import Job, fan_out

if TYPE_CHECKING:
    import ssl

_MAX_HEAD = 16384  # bytes before the final status line is complete
_STATUS_LINE = re.compile(rb"HTTP/\d\.\d ([1-9]\d\d)(?: .*)?\r?")
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_SWITCHING = 101  # the one interim status that nothing follows


@dataclass(frozen=True, slots=True, repr=False)
class Target:
    """Where a request goes. Without a repr: the address may be a credential.

    Attributes:
        host: A name in ASCII, or an IP address without brackets.
        port: 1 to 65535.
        path: With the query, percent-encoded; begins with `/`.
        tls: Whether it is https.
    """

    host: str
    port: int
    path: str
    tls: bool

    @property
    def authority(self) -> str:
        """What the `Host` header says."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


def exchange(
    target: Target, request: bytes, *, timeout: float, context: "ssl.SSLContext | None"
) -> int | AnnounceError:
    """Send a request and return the status of its answer, or why there is none.

    Nothing is raised, since what sockets raise quotes addresses. Neither redirects nor proxies are followed,
    and of the answer nothing is read but the status line and what comes before it.

    Args:
        target: Where to.
        request: All of it: headers and body leave in one write.
        timeout: Seconds for the whole of it: looking up the host, connecting, handshake, sending, waiting.
        context: For https.
    """
    line = _Line(time.monotonic() + timeout)
    try:
        line.connect(target)
        if context is not None:
            line.secure(context, target.host)
        whole = line.send(request)
        status = line.status()
    except Exception as error:  # noqa: BLE001  # whatever it is, its text stays here
        return line.failure(error)
    finally:
        line.close()
    if status // 100 == 2 and not whole:
        return AnnounceError(f"answered HTTP {status} to a part of the request: {UNKNOWN}")
    return status


class _NoAnswerError(Exception):
    """What came instead of an answer, in words that quote nothing."""


class _Line:
    """A connection whose every operation gets only the time that is left."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._sockets: list[socket.socket] = []
        self._stage = "looking up the host: not sent"

    def connect(self, target: Target) -> None:
        addresses = self._addresses(target)
        self._stage = "connecting: not sent"
        failed: OSError | None = None
        for index, (family, kind, protocol, _, address) in enumerate(addresses):
            # One address that swallows everything leaves time for the others.
            share = self._left() / (len(addresses) - index)
            try:
                self._sockets.append(socket.socket(family, kind, protocol))
                self._sockets[-1].settimeout(share)
                self._sockets[-1].connect(address)
            except OSError as error:
                failed = error
            else:
                return
        raise failed or _NoAnswerError("no address")

    def secure(self, context: "ssl.SSLContext", host: str) -> None:
        self._stage = "in the TLS handshake: not sent"
        secured = context.wrap_socket(self._socket(), server_hostname=host, do_handshake_on_connect=False)
        self._sockets.append(secured)
        secured.settimeout(self._left())
        secured.do_handshake()

    def send(self, request: bytes) -> bool:
        """Whether all of it went out: a receiver may answer and close before it has read everything."""
        self._stage = f"sending: {UNKNOWN}"
        left = memoryview(request)
        while left:
            try:
                left = left[self._socket().send(left) :]
            except TimeoutError:
                raise
            except OSError:
                return False
        return True

    def status(self) -> int:
        """The first final status."""
        self._stage = f"waiting for the answer: {UNKNOWN}"
        head, total = b"", 0
        while True:
            line, complete, _ = head.partition(b"\n")
            if complete:
                match = _STATUS_LINE.fullmatch(line)
                if match is None:
                    raise _NoAnswerError("something that is not HTTP")
                status = int(match[1])
                if status >= 200 or status == _SWITCHING:
                    return status
                if end := _END_OF_HEAD.search(head):
                    head = head[end.end() :]
                    continue
            if total > _MAX_HEAD:
                raise _NoAnswerError("too long a head")
            received = self._socket().recv(4096)
            if not received:
                raise _NoAnswerError("connection closed")
            head += received
            total += len(received)

    def failure(self, error: Exception) -> AnnounceError:
        """What went wrong, in words that quote nothing."""
        import ssl  # noqa: PLC0415  # not worth its time at import

        what = str(error) if isinstance(error, _NoAnswerError) else type(error).__name__
        retryable = not isinstance(error, ssl.SSLCertVerificationError)
        return AnnounceError(f"{what} while {self._stage}", retryable=retryable)

    def close(self) -> None:
        for one in self._sockets:
            one.close()

    def _socket(self) -> socket.socket:
        """The socket, with what is left as its timeout."""
        self._sockets[-1].settimeout(self._left())
        return self._sockets[-1]

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _addresses(self, target: Target) -> list[Any]:
        look_up = partial(socket.getaddrinfo, target.host, target.port, type=socket.SOCK_STREAM)
        try:
            return look_up(flags=socket.AI_NUMERICHOST)
        except socket.gaierror:
            pass  # a name: looking it up knows no timeout, so it is done on a thread that can be left behind
        found: list[Any] = []
        job = Job(target, lambda _: found.extend(look_up()), budget=self._left())
        fan_out([job])
        if job.error is not None:
            raise job.error
        if job.abandoned:
            raise TimeoutError
        return found
