import asyncio

import pytest

_loops: list[asyncio.AbstractEventLoop] = []


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Hooks, and no fixture, since they reach what the README and the docstrings run too.

    `run_sync` makes an event loop where there is none, and leaves it open.
    """
    _loops.append(asyncio.new_event_loop())
    asyncio.set_event_loop(_loops[-1])


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    asyncio.set_event_loop(None)
    _loops.pop().close()
