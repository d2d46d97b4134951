"""One lock for each thread of conversation in this process, for sync and async callers alike."""

import threading
from collections import deque
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Protocol


class _Waiter(Protocol):
    @property
    def is_gone(self) -> bool:
        """Whether it can neither take the lock any more nor give it up."""
        ...

    def wake(self) -> None:
        """Say that the lock is handed over."""
        ...


# The first of a queue holds the lock, the others wait in their order; without a queue nobody does.
_queues: dict[str, deque[_Waiter]] = {}
# Held for moments only. Reentrant, because closing a forgotten coroutine leaves a queue from within
# whatever code the garbage collector interrupts.
_guard = threading.RLock()


@contextmanager
def locked(thread_id: str) -> Generator[None]:
    """Hold the thread's lock. It goes round in the order of arrival, sync or async, and is not reentrant."""
    waiter = _SyncWaiter()
    try:
        if not _arrive(thread_id, waiter):
            waiter.wait()
        yield
    finally:
        _leave(thread_id, waiter)


@asynccontextmanager
async def alocked(thread_id: str) -> AsyncGenerator[None]:
    """As `locked`. Waiting does not block the loop, and may be cancelled at any moment."""
    waiter = _AsyncWaiter()
    try:
        if not _arrive(thread_id, waiter):
            await waiter.wait()
        yield
    finally:
        _leave(thread_id, waiter)


class _SyncWaiter:
    is_gone = False

    def __init__(self) -> None:
        self._handed_over = threading.Event()

    def wait(self) -> None:
        self._handed_over.wait()

    def wake(self) -> None:
        self._handed_over.set()


class _AsyncWaiter:
    def __init__(self) -> None:
        import asyncio  # noqa: PLC0415  # not worth its time at import

        self._loop = asyncio.get_running_loop()
        self._handed_over: asyncio.Future[None] = self._loop.create_future()

    async def wait(self) -> None:
        await self._handed_over

    @property
    def is_gone(self) -> bool:
        return self._loop.is_closed()

    def wake(self) -> None:
        with suppress(RuntimeError):  # closed this very moment: whoever comes next finds it gone
            self._loop.call_soon_threadsafe(self._resolve)

    def _resolve(self) -> None:
        if not self._handed_over.done():
            self._handed_over.set_result(None)


def _arrive(thread_id: str, waiter: _Waiter) -> bool:
    """Join the queue; whether the lock is held at once."""
    with _guard:
        queue = _queues.setdefault(thread_id, deque())
        queue.append(waiter)
        if queue[0].is_gone:
            _hand_over(queue)
        return queue[0] is waiter


def _leave(thread_id: str, waiter: _Waiter) -> None:
    """Give up the lock, or the place in the queue: whoever was just handed it and leaves hands it on."""
    with _guard:
        queue = _queues.get(thread_id)
        if queue is None or waiter not in queue:
            return
        if queue[0] is waiter:
            _hand_over(queue)
        else:
            queue.remove(waiter)
        if not queue:
            _queues.pop(thread_id, None)


def _hand_over(queue: deque[_Waiter]) -> None:
    queue.popleft()
    while queue and queue[0].is_gone:
        queue.popleft()
    if queue:
        queue[0].wake()
