"""The page on an address of this machine."""

import contextlib
import socket
import threading
from collections.abc import Generator

import uvicorn
from starlette.applications import Starlette

HOST = "127.0.0.1"


def listen(port: int = 0) -> socket.socket:
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


@contextlib.contextmanager
def served(app: Starlette, listener: socket.socket) -> Generator[str]:
    """Serve the page from a thread, for one `with` block; gives its address."""
    server = uvicorn.Server(
        uvicorn.Config(app, lifespan="off", log_level="warning", timeout_graceful_shutdown=5)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, name="inbox")
    thread.start()
    try:
        yield f"http://{HOST}:{listener.getsockname()[1]}"
    finally:
        # Live connections end by themselves; the server waits for them.
        app.state.stopping.set()
        server.should_exit = True
        thread.join()
        listener.close()
