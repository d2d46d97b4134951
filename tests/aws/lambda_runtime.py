"""Lambda on this machine: its Runtime API, and the real runtime client running an asset against it.

https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

import json
import os
import queue
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distribution
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CLIENT = ("awslambdaric", "simplejson", "snapshot-restore-py")
"""The runtime client and what it needs; Lambda has them in /var/runtime, apart from the function."""

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:refund-agent"
SECONDS = 60.0


def install_client(folder: Path) -> Path:
    """Copy the runtime client out of this environment, of which the function is to see nothing else."""
    for name in CLIENT:
        for file in distribution(name).files or ():
            if ".." not in file.parts:
                target = folder / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(str(file.locate()), target)
    return folder


class FunctionFailed(Exception):
    """The handler raised, or could not be imported; what the runtime client says of it."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    events: "queue.Queue[tuple[str, bytes]]"
    replies: "queue.Queue[tuple[str, Any]]"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: a function that is killed hangs up."""


class _RuntimeApi(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body leave in two writes; with Nagle's algorithm each reply would take 40 ms.
    disable_nagle_algorithm = True

    @property
    def _api(self) -> "_Server":
        assert isinstance(self.server, _Server)
        return self.server

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        request_id, event = self._api.events.get()
        self.send_response(200)
        self.send_header("Lambda-Runtime-Aws-Request-Id", request_id)
        self.send_header("Lambda-Runtime-Deadline-Ms", str(int((time.time() + SECONDS) * 1000)))
        self.send_header("Lambda-Runtime-Invoked-Function-Arn", FUNCTION)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(event)))
        self.end_headers()
        self.wfile.write(event)

    def do_POST(self) -> None:
        body = self._body()
        found = re.search(r"/(response|error)$", self.path)
        assert found
        self._api.replies.put((found[1], json.loads(body or b"null")))
        self.send_response(202)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        body = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body


class Function:
    """One execution environment of a function, from its cold start until it is killed.

    Args:
        asset: The folder that Lambda would unpack to /var/task.
        handler: Such as `refund_agent.lambda_handler.handler`.
        client: Where `install_client` has put the runtime client.
        environment: Variables of the function, credentials included.
        python: The interpreter; left out, the one that this environment was made from.
    """

    def __init__(
        self,
        asset: Path,
        handler: str,
        client: Path,
        environment: Mapping[str, str],
        python: str | None = None,
    ) -> None:
        self._server = _Server(("127.0.0.1", 0), _RuntimeApi)
        self._server.events = queue.Queue()
        self._server.replies = queue.Queue()
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        base: str = getattr(sys, "_base_executable", sys.executable)
        # -S: nothing of the machine's site-packages, as on Lambda.
        self._process = subprocess.Popen(
            [python or base, "-s", "-S", "-m", "awslambdaric", handler],
            cwd=asset,
            env={
                "PATH": os.environ["PATH"],
                "LANG": "C.UTF-8",
                "PYTHONPATH": str(client),
                # /var/task cannot be written to.
                "PYTHONDONTWRITEBYTECODE": "1",
                "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._server.server_port}",
                "AWS_LAMBDA_FUNCTION_NAME": "refund-agent",
                "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
                "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
                "AWS_REGION": "us-east-1",
                "_HANDLER": handler,
                "LAMBDA_TASK_ROOT": str(asset),
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.log: list[str] = []
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        return self._process.pid

    def invoke(self, event: Any) -> Any:
        """What the handler returns.

        Raises:
            FunctionFailed: It raised, or there was no handler to call.
        """
        self._server.events.put((f"request-{time.time_ns()}", json.dumps(event).encode()))
        try:
            kind, payload = self._server.replies.get(timeout=SECONDS)
        except queue.Empty:
            raise FunctionFailed("no reply\n" + "\n".join(self.log)) from None
        if kind == "error":
            raise FunctionFailed("\n".join([f"{payload['errorType']}: {payload['errorMessage']}", *self.log]))
        return payload

    def kill(self) -> None:
        """End it as Lambda ends one: at once."""
        self._process.kill()
        self._process.wait()
        self._reader.join(timeout=5)
        self._server.shutdown()
        self._server.server_close()

    def _read_log(self) -> None:
        assert self._process.stdout
        with self._process.stdout as lines:
            for line in lines:
                self.log.append(line.rstrip())
