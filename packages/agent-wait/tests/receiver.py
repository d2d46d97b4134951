"""A webhook's receiver on a real socket, as well or ill behaved as a test wants it."""

import json
import socket
import ssl
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

Connection = socket.socket
LONG = 50.0  # seconds: less than a test may take, more than one ever needs


class Receiver:
    """Listens on a free port and lets `behave` handle every connection, each on a thread of its own.

    Attributes:
        requests: The bytes of every request that `read` has read.
        connections: How many came.
        over: Set when the test is over: what hangs or drips waits for it.
    """

    def __init__(self, behave: Callable[["Receiver", Connection], None], *, host: str = "127.0.0.1") -> None:
        self.behave = behave
        self.requests: list[bytes] = []
        self.connections = 0
        self.over = threading.Event()
        self._listener = socket.create_server(
            (host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET
        )
        self.host, self.port = host, int(self._listener.getsockname()[1])
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def url(self, path: str = "/hook", *, scheme: str = "http") -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}{path}"

    def bodies(self) -> list[dict[str, Any]]:
        """What has been asked, as the receiver reads it."""
        return [json.loads(body_of(request)) for request in self.requests]

    def read(self, connection: Connection) -> bytes:
        """One whole request."""
        received = b""
        while b"\r\n\r\n" not in received or len(body_of(received)) < int(header(received, "content-length")):
            part = connection.recv(65536)
            if not part:
                break
            received += part
        self.requests.append(received)
        return received

    def close(self) -> None:
        self.over.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(LONG)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._threads.append(threading.Thread(target=self._handle, args=(connection,)))
            self._threads[-1].start()

    def _handle(self, connection: Connection) -> None:
        connection.settimeout(LONG)
        with connection, suppress(OSError):  # the sender may leave whenever it has what it needs
            self.behave(self, connection)


@contextmanager
def receiving(
    behave: Callable[[Receiver, Connection], None], *, host: str = "127.0.0.1"
) -> Generator[Receiver]:
    receiver = Receiver(behave, host=host)
    try:
        yield receiver
    finally:
        receiver.close()


def answers(status: int, *headers: str, body: bytes = b"") -> Callable[[Receiver, Connection], None]:
    """Reads the request and answers it."""
    lines = (f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", *headers, "", "")

    def behave(receiver: Receiver, connection: Connection) -> None:
        receiver.read(connection)
        connection.sendall("\r\n".join(lines).encode() + body)

    return behave


def says(*parts: bytes, first: bytes = b"") -> Callable[[Receiver, Connection], None]:
    """Reads the request, says `first`, and goes on with the parts, over and over, until the test is over."""

    def behave(receiver: Receiver, connection: Connection) -> None:
        receiver.read(connection)
        connection.sendall(first)
        while parts:
            for part in parts:
                if receiver.over.wait(0.005):
                    return
                connection.sendall(part)

    return behave


def hangs(receiver: Receiver, connection: Connection) -> None:
    """Takes the request and never answers."""
    receiver.read(connection)
    receiver.over.wait()


def over_tls(
    context: ssl.SSLContext, behave: Callable[[Receiver, Connection], None]
) -> Callable[[Receiver, Connection], None]:
    def secured(receiver: Receiver, connection: Connection) -> None:
        with context.wrap_socket(connection, server_side=True) as tls:
            behave(receiver, tls)

    return secured


def header(request: bytes, name: str) -> str:
    """A header of a request; names in any case."""
    return headers_of(request)[name.lower()]


def headers_of(request: bytes) -> dict[str, str]:
    """All headers of a request, names in lower case; none comes twice."""
    lines = request.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
    pairs = [line.partition(": ")[::2] for line in lines]
    found = {name.lower(): value for name, value in pairs}
    assert len(found) == len(pairs), lines
    return found


def body_of(request: bytes) -> bytes:
    return request.partition(b"\r\n\r\n")[2]
