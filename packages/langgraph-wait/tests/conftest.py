import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from lg_host import Host
from lg_shapes import Saver


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def run() -> Generator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """Runs a coroutine, always on the same loop."""
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture(params=["memory", "sqlite"])
def reopen(
    request: pytest.FixtureRequest, mode: str, run: Callable[[Any], Any], tmp_path: Path
) -> Generator[Callable[[], Saver]]:
    """Makes a saver on the same store each time, as another process would."""
    path = str(tmp_path / "checkpoints.sqlite")
    memory = InMemorySaver()
    with ExitStack() as stack:

        def make() -> Saver:
            if request.param == "memory":
                return memory
            if mode == "sync":
                connection = sqlite3.connect(path, check_same_thread=False)
                return SqliteSaver(stack.enter_context(closing(connection)))
            generator = _async_sqlite(path)
            stack.callback(lambda: run(generator.aclose()))
            return run(anext(generator))

        yield make


async def _async_sqlite(path: str) -> AsyncGenerator[Saver]:
    async with AsyncSqliteSaver.from_conn_string(path) as saver:
        yield saver


@pytest.fixture
def saver(reopen: Callable[[], Saver]) -> Saver:
    return reopen()


@pytest.fixture
def host(mode: str, run: Callable[[Any], Any]) -> Host:
    return Host(mode == "async", run)
