"""Servers some milliseconds away, for benchmarks: each a process of its own that ends with its parent.

`proxy` passes on what it is sent, later; `canned` answers AWS's calls with a success and knows nothing, so
that what is left is what the client costs.
"""

import asyncio
import subprocess
import sys
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

HOST = "127.0.0.1"
OTHERS = b'{"MessageId": "m-1", "FailedEntryCount": 0, "Entries": [{"EventId": "e-1"}]}'
SNS = b"<%sResponse><%sResult><MessageId>m-1</MessageId></%sResult></%sResponse>"


class Delayed(asyncio.Protocol):
    """One connection's end: what arrives here leaves at the other end half a round trip later.

    Opening a connection costs nothing extra: what is measured is on connections that are open.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._arrived: deque[bytes | None] = deque()
        self._waiting: list[bytes | None] = []
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.WriteTransport | None = None
        self.other: Delayed | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)
        for data in self._waiting:
            self._write(data)

    def data_received(self, data: bytes) -> None:
        self._later(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._later(None)

    def _later(self, data: bytes | None) -> None:
        self._arrived.append(data)
        self._loop.call_later(self._seconds, self._pass_on)

    def _pass_on(self) -> None:
        data = self._arrived.popleft()
        if self.other is not None:
            self.other.leave(data)

    def leave(self, data: bytes | None) -> None:
        """Write what arrived at the other end; None closes."""
        if self._transport is None:
            self._waiting.append(data)
        else:
            self._write(data)

    def _write(self, data: bytes | None) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        if data is None:
            self._transport.close()
        else:
            self._transport.write(data)


class Proxied(Delayed):
    """A client's end, which makes the server's."""

    def __init__(self, seconds: float, target: int) -> None:
        super().__init__(seconds)
        self._target = target

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.other = other = Delayed(self._seconds)
        other.other = self
        self._opening = self._loop.create_task(self._open(other))

    async def _open(self, other: Delayed) -> None:
        try:
            await self._loop.create_connection(lambda: other, HOST, self._target)
        except OSError:
            self.leave(None)


class Canned(asyncio.Protocol):
    """Answers every request with a success, a round trip later."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._read = b""
        self._loop = asyncio.get_running_loop()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)

    def data_received(self, data: bytes) -> None:
        self._read += data
        while True:
            head, end, body = self._read.partition(b"\r\n\r\n")
            length = next(
                (
                    int(line[15:])
                    for line in head.lower().split(b"\r\n")
                    if line.startswith(b"content-length:")
                ),
                0,
            )
            if not end or len(body) < length:
                return
            self._read = body[length:]
            self._loop.call_later(self._seconds, self._transport.write, reply_to(head, body[:length]))


def reply_to(head: bytes, body: bytes) -> bytes:
    """A success: XML for SNS, which is asked by a form, and an object that fits each of the others."""
    if b"x-amz-target" in head.lower():
        kind, answer = b"json", OTHERS
    else:
        action = body.partition(b"Action=")[2].partition(b"&")[0]
        kind, answer = b"xml", SNS % ((action,) * 4)
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/%s\r\nContent-Length: %d\r\n\r\n%s" % (
        kind,
        len(answer),
        answer,
    )


@contextmanager
def far_away(kind: str, milliseconds: float, *target: int) -> Generator[int]:
    """The port of a running `proxy` to the port `target`, or of a `canned`, with so long a round trip."""
    command = [sys.executable, Path(__file__), kind, str(milliseconds / 1000), *map(str, target)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield int(process.stdout.readline())
        finally:
            process.stdin.close()


async def serve(kind: str, seconds: float, *target: int) -> None:
    """Listen until standard input ends, which it does with the parent, however that ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(
        lambda: Canned(seconds) if kind == "canned" else Proxied(seconds / 2, *target), HOST, 0
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        asyncio.run(serve(sys.argv[1], float(sys.argv[2]), *map(int, sys.argv[3:])))
