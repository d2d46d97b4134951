"""The refund agent on SQLite, one message a process, killed at a marked point."""

import json
import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

from agent_wait import BaseAnnounce, WaitEnvelope, WaitPublisher
from agent_wait._types import Transition
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph_wait import LangGraphAdapter
from refund_agent import host
from refund_agent.graph import build_graph
from refund_agent.payments import Entry, SqliteLedger

POINTS = (
    "in a write of the saver",
    "after a write of the saver",
    "in a checkpoint",
    "after the run",
    "before an announcement",
    "after an announcement",
    "before acknowledging",
    "in the effect",
    "after the effect",
    "in the notification",
)


def dying(at: str, nth: int) -> Callable[[str], None]:
    """What kills this process when it comes to a point for the nth time, from 0."""
    left = nth

    def mark(point: str) -> None:
        nonlocal left
        if point == at:
            if left == 0:
                _kill()
            left -= 1

    return mark


def _kill() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("nobody survives SIGKILL")


class _Saver(SqliteSaver):
    mark: Callable[[str], None]

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        self.mark("in a write of the saver")
        super().put_writes(*args, **kwargs)
        self.mark("after a write of the saver")

    def put(self, *args: Any, **kwargs: Any) -> Any:
        self.mark("in a checkpoint")
        return super().put(*args, **kwargs)


class _Ledger(SqliteLedger):
    mark: Callable[[str], None]

    def put_once(self, entry: Entry) -> Entry:
        self.mark("in the effect" if entry.kind == "refund" else "in the notification")
        stored = super().put_once(entry)
        if entry.kind == "refund":
            self.mark("after the effect")
        return stored


class _Adapter(LangGraphAdapter):
    mark: Callable[[str], None]

    def invoke(self, value: Any, config: Any) -> Any:
        result = super().invoke(value, config)
        self.mark("after the run")
        return result


class ToFile(BaseAnnounce):
    """Announces by appending a line to a file, which is there whatever becomes of the process."""

    def __init__(self, path: Path, mark: Callable[[str], None]) -> None:
        super().__init__()
        self.name, self._path, self._mark = path.name, path, mark

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        self._mark("before an announcement")
        with self._path.open("a") as file:
            file.write(envelope.to_json() + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._mark("after an announcement")


def handle(folder: Path, body: str, at: str, nth: int) -> None:
    """Handle one message in this process; its outcome is in `acknowledged` when it was acknowledged."""
    mark = dying(at, nth)
    with closing(sqlite3.connect(folder / "threads.db", check_same_thread=False)) as connection:
        saver, ledger = _Saver(connection), _Ledger(folder / "ledger.db")
        adapter = _Adapter(build_graph(ledger, saver))
        saver.mark = ledger.mark = adapter.mark = mark
        announce = [ToFile(folder / "topic", mark), ToFile(folder / "table", mark)]
        publisher = WaitPublisher(adapter, announce=announce, late_answers="refuse")
        outcome = host.handle(publisher, body)
    mark("before acknowledging")
    if outcome.acknowledge:
        (folder / "acknowledged").write_text(outcome.kind)


def announced(folder: Path, where: str, kind: str) -> dict[str, dict[str, Any]]:
    """What was announced there, one of each `dedupe_key`."""
    path = folder / where
    lines = path.read_text().splitlines() if path.exists() else []
    return {
        envelope["dedupe_key"]: envelope for envelope in map(json.loads, lines) if envelope["type"] == kind
    }
