"""Starting and stopping the local AWS."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

HOST = "127.0.0.1"
START_SECONDS = 30.0
_POLL_SECONDS = 0.05
_TRIES = 3
_LOG_LINES = 40


class LocalAwsError(Exception):
    """The local AWS cannot be started, or has died; the end of its log is part of the message."""


class LocalAws:
    """SQS, SNS, DynamoDB and the rest, spoken to over HTTP as the real ones, for one `with` block.

    The server is `ministack`, which pins a botocore of its own and therefore lives in an environment of its
    own. It listens on 127.0.0.1 only, keeps nothing, and ends with this process, however that ends.

    Args:
        python: The interpreter that has `ministack`. Left out: `AGENT_WAIT_MINISTACK_PYTHON`, else
            `.venv-ministack` at the top of the repository.
        options: More of the server's own settings, such as `{"AUTH": "true"}`: it then looks at policies.

    Raises:
        LocalAwsError: On entering, when it does not start. When it dies in between, whatever that made fail
            carries the end of its log as a note.
    """

    def __init__(self, python: Path | None = None, *, options: Mapping[str, str] | None = None) -> None:
        self._python = python or _default_python()
        self._options = options or {}
        self._stack = contextlib.ExitStack()
        self.endpoint = ""

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as stack:
            self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="local-aws-")))
            # Somebody else may take the port between its being found free and being listened on.
            for _ in range(_TRIES):
                port = _free_port()
                self._process = self._spawn(port)
                stack.callback(_stop, self._process)
                if self._comes_up(port):
                    break
            else:
                raise LocalAwsError(f"the local AWS ended at once, {_TRIES} times\n{self._log_tail()}")
            self.endpoint = f"http://{HOST}:{port}"
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._stack:
            if self._process.poll() is None:
                return
            death = f"the local AWS has died\n{self._log_tail()}"
            if error is None:
                raise LocalAwsError(death)
            error.add_note(death)

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    @property
    def settings(self) -> dict[str, str]:
        """What to export for boto3 to come here; nothing in it is a secret."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "NO_PROXY": HOST,
            "no_proxy": HOST,
        }

    @contextlib.contextmanager
    def in_environment(self) -> Generator[None]:
        """Point this process's boto3 here, as by `export`, and put everything back afterwards."""
        before = {name: os.environ.get(name) for name in (*self.settings, *_REAL_ACCOUNT)}
        for name in _REAL_ACCOUNT:
            os.environ.pop(name, None)
        os.environ.update(self.settings)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value

    def _spawn(self, port: int) -> subprocess.Popen[bytes]:
        inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        with (self._folder / "log").open("wb") as log:
            return subprocess.Popen(
                [self._python, Path(__file__).with_name("_server.py")],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._folder,
                env={
                    **inherited,
                    "BIND_HOST": HOST,
                    "MINISTACK_HOST": HOST,
                    "GATEWAY_PORT": str(port),
                    "TMPDIR": str(self._folder),
                    "S3_DATA_DIR": str(self._folder / "s3"),
                    "STATE_DIR": str(self._folder / "state"),
                    "LAMBDA_EXECUTOR": "local",
                    # Told by its health address: a server that took the port first has another.
                    "MINISTACK_EDITION": self._folder.name,
                    "PYTHONUNBUFFERED": "1",
                    **self._options,
                },
            )

    def _comes_up(self, port: int) -> bool:
        give_up = time.monotonic() + START_SECONDS
        while self._process.poll() is None:
            if _edition_at(port) == self._folder.name:
                return True
            if time.monotonic() > give_up:
                raise LocalAwsError(f"the local AWS is not up after {START_SECONDS:g} s\n{self._log_tail()}")
            time.sleep(_POLL_SECONDS)
        return False

    def _log_tail(self) -> str:
        lines = (self._folder / "log").read_text(errors="replace").splitlines()
        return "\n".join(["the end of its log:", *lines[-_LOG_LINES:]])


# What would send boto3 to a real account, or nowhere, in spite of the settings above.
_REAL_ACCOUNT = ("AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_REGION", "AWS_SESSION_TOKEN")


def _default_python() -> Path:
    named = os.environ.get("AGENT_WAIT_MINISTACK_PYTHON")
    python = Path(named) if named else Path(__file__).parents[3] / ".venv-ministack" / "bin" / "python"
    if not python.exists():
        raise LocalAwsError(f"ministack is to run in an environment of its own, and there is no {python}")
    return python


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]


def _edition_at(port: int) -> str | None:
    connection = http.client.HTTPConnection(HOST, port, timeout=1)
    try:
        connection.request("GET", "/_ministack/health")
        return json.loads(connection.getresponse().read())["edition"]
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return None
    finally:
        connection.close()


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    # Last: to the server it means that nobody is left.
    if process.stdin:
        process.stdin.close()
