"""The page on an address of this machine, until told to stop."""

import contextlib
import socket
import threading
from collections.abc import Generator
from types import FrameType

import uvicorn
from starlette.applications import Starlette

HOST = "127.0.0.1"


class Server(uvicorn.Server):
    """Uvicorn, whose live connections end when it is told to."""

    def __init__(self, app: Starlette) -> None:
        self._stopping: threading.Event = app.state.stopping
        super().__init__(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5))

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.stop()
        super().handle_exit(sig, frame)

    def stop(self) -> None:
        self._stopping.set()
        self.should_exit = True


def listen(port: int) -> socket.socket:
    """A socket of this machine's own; port 0 is any.

    Raises:
        OSError: Somebody else has the port.
    """
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def address_of(listener: socket.socket) -> str:
    return f"http://{HOST}:{listener.getsockname()[1]}"


@contextlib.contextmanager
def served(app: Starlette, *, port: int = 0) -> Generator[str]:
    """Serve the page from a thread, for one `with` block; gives its address."""
    listener = listen(port)
    server = Server(app)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="inbox")
    thread.start()
    try:
        yield address_of(listener)
    finally:
        server.stop()
        thread.join()
        listener.close()
