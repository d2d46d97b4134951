"""A PostgreSQL of the tests' own: on a free port of this machine, in a folder that goes when it does."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg

HOST = "127.0.0.1"
_START_SECONDS = 60.0
# The server ends when its standard input does, and so with whoever started it, however that ended.
_UNTIL_END_OF_INPUT = '"$@" & server=$!; cat >/dev/null; kill -INT $server; wait $server'


@contextmanager
def postgres() -> Generator[str]:
    """A server with an empty database, as a connection string.

    Raises:
        RuntimeError: It is not installed (`tools/install-services`), or does not come up.
    """
    programs, user = _programs(), _user()
    with tempfile.TemporaryDirectory(prefix="postgres-") as name:
        folder = Path(name)
        if user is not None:
            shutil.chown(folder, user)
        data, log, port = folder / "data", folder / "log", _free_port()
        subprocess.run(
            [programs / "initdb", "--pgdata", data, "--auth", "trust", "--username", "test", "--no-sync"],
            check=True,
            capture_output=True,
            user=user,
            cwd=folder,
        )
        settings = {"listen_addresses": HOST, "port": port, "unix_socket_directories": "", "fsync": "off"}
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        with log.open("wb") as output:
            server = subprocess.Popen(
                ["sh", "-c", _UNTIL_END_OF_INPUT, "sh", programs / "postgres", "-D", data, *options],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                user=user,
                cwd=folder,
            )
        address = f"postgresql://test@{HOST}:{port}/postgres"
        try:
            _wait_for(address, log)
            yield address
        finally:
            assert server.stdin is not None
            server.stdin.close()
            server.wait(timeout=_START_SECONDS)


def _programs() -> Path:
    """Where Debian has the server's programs, the newest first; else where the search path has them."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    found = shutil.which("initdb", path=os.pathsep.join([*map(str, reversed(versions)), os.environ["PATH"]]))
    if found is None:
        raise RuntimeError("there is no PostgreSQL: run tools/install-services")
    return Path(found).resolve().parent


def _user() -> str | None:
    """Whom to run it as: PostgreSQL refuses to be root. None: as we are."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        return "nobody"


def _wait_for(address: str, log: Path) -> None:
    give_up = time.monotonic() + _START_SECONDS
    while True:
        try:
            psycopg.connect(address).close()
        except psycopg.OperationalError as error:
            if time.monotonic() > give_up:
                raise RuntimeError(f"PostgreSQL is not up\n{log.read_text()[-2000:]}") from error
            time.sleep(0.05)
        else:
            return


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return probe.getsockname()[1]
