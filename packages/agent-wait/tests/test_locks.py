"""One lock for each thread of conversation."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Coroutine, Generator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from agent_wait import _locks
from agent_wait._locks import alocked, locked


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Generator[None]:
    yield
    assert _locks._queues == {}


def waiting(thread_id: str = "t-1") -> int:
    """How many wait, besides the one that holds."""
    return len(_locks._queues.get(thread_id, ())) - 1


def run_until_waiting(count: int) -> None:
    while waiting() < count:
        pass


async def until_waiting(count: int) -> None:
    while waiting() < count:  # noqa: ASYNC110  # a lock has no event to wait for
        await asyncio.sleep(0)


def started(order: list[str], name: str) -> threading.Thread:
    def hold() -> None:
        with locked("t-1"):
            order.append(name)

    thread = threading.Thread(target=hold)
    thread.start()
    return thread


@asynccontextmanager
async def cancelled(task: "asyncio.Task[None]") -> AsyncGenerator[None]:
    task.cancel()
    yield
    with pytest.raises(asyncio.CancelledError):
        await task


async def hold(order: list[str], name: str) -> None:
    async with alocked("t-1"):
        order.append(name)


def test_two_threads_of_conversation_do_not_wait_for_each_other() -> None:
    with locked("t-1"), locked("t-2"):
        assert set(_locks._queues) == {"t-1", "t-2"}


def test_one_waits_for_the_other() -> None:
    order: list[str] = []
    with locked("t-1"):
        other = started(order, "other")
        run_until_waiting(1)
        order.append("first")
    other.join()

    assert order == ["first", "other"]


def test_what_is_raised_inside_gives_the_lock_up() -> None:
    with pytest.raises(KeyError), locked("t-1"):
        raise KeyError

    with locked("t-1"):
        assert waiting() == 0


async def test_it_goes_round_in_the_order_of_arrival_sync_and_async_alike() -> None:
    order: list[str] = []
    async with alocked("t-1"):
        tasks = [asyncio.create_task(hold(order, "a"))]
        await until_waiting(1)
        thread = threading.Thread(target=lambda: asyncio.run(hold(order, "b")))
        thread.start()
        await until_waiting(2)
        tasks.append(asyncio.create_task(hold(order, "c")))
        await until_waiting(3)
        other = started(order, "d")
        await until_waiting(4)
    await asyncio.gather(*tasks)
    await asyncio.to_thread(thread.join)
    await asyncio.to_thread(other.join)

    assert order == ["a", "b", "c", "d"]


async def test_the_loop_goes_on_while_a_task_waits_for_a_sync_holder() -> None:
    order: list[str] = []
    release = threading.Event()
    held = threading.Event()

    def work() -> None:
        with locked("t-1"):
            held.set()
            release.wait()

    thread = threading.Thread(target=work)
    thread.start()
    held.wait()
    task = asyncio.create_task(hold(order, "task"))
    await until_waiting(1)
    for _ in range(10):
        await asyncio.sleep(0)
    assert order == []
    release.set()
    await task
    thread.join()

    assert order == ["task"]


async def test_a_waiter_that_is_cancelled_leaves_its_place_to_the_next() -> None:
    order: list[str] = []
    async with alocked("t-1"):
        first = asyncio.create_task(hold(order, "first"))
        await until_waiting(1)
        second = asyncio.create_task(hold(order, "second"))
        await until_waiting(2)
        async with cancelled(first):
            pass
        assert waiting() == 1
    await second

    assert order == ["second"]


async def test_a_waiter_that_is_cancelled_as_it_is_handed_the_lock_hands_it_on() -> None:
    order: list[str] = []
    async with alocked("t-1"):
        first = asyncio.create_task(hold(order, "first"))
        await until_waiting(1)
        second = asyncio.create_task(hold(order, "second"))
        await until_waiting(2)
    # The lock is the first one's now, which has not run since.
    async with cancelled(first):
        pass
    await second

    assert order == ["second"]


async def test_a_holder_that_is_cancelled_gives_the_lock_up() -> None:
    entered = asyncio.Event()

    async def for_ever() -> None:
        async with alocked("t-1"):
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(for_ever())
    await entered.wait()
    async with cancelled(task):
        pass

    async with alocked("t-1"):
        assert waiting() == 0


def on_a_loop_of_its_own(coroutine: Coroutine[Any, Any, None], waiters: int) -> asyncio.AbstractEventLoop:
    """Run until it has joined the queue, and no further."""
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: None)  # it would complain of the task that is left
    task = loop.create_task(coroutine)
    while waiting() < waiters:
        loop.run_until_complete(asyncio.sleep(0))
    assert not task.done()
    return loop


def test_a_waiter_whose_loop_was_closed_is_passed_over() -> None:
    order: list[str] = []
    lost = hold(order, "lost")
    with locked("t-1"):
        loop = on_a_loop_of_its_own(lost, 1)
        other = started(order, "other")
        run_until_waiting(2)
        loop.close()
    other.join()
    lost.close()

    assert order == ["other"]


def test_a_waiter_whose_loop_was_closed_before_it_could_take_the_lock_does_not_keep_it() -> None:
    order: list[str] = []
    lost = hold(order, "lost")
    with locked("t-1"):
        loop = on_a_loop_of_its_own(lost, 1)
    loop.close()

    with locked("t-1"):
        lost.close()

    assert order == []


async def for_ever() -> None:
    async with alocked("t-1"):
        await asyncio.get_running_loop().create_future()


def test_a_holder_whose_loop_was_closed_does_not_keep_the_lock() -> None:
    order: list[str] = []
    forgotten, lost = for_ever(), hold(order, "lost")
    loop = on_a_loop_of_its_own(forgotten, 0)
    other_loop = on_a_loop_of_its_own(lost, 1)
    other = started(order, "other")
    run_until_waiting(2)
    loop.close()
    other_loop.close()

    with locked("t-1"):  # the other one was first, and is let in by this arrival
        assert order == ["other"]
        forgotten.close()
        assert waiting() == 0
    other.join()
    lost.close()


def test_a_coroutine_that_is_closed_with_the_lock_gives_it_up() -> None:
    forgotten = for_ever()
    loop = on_a_loop_of_its_own(forgotten, 0)
    forgotten.close()

    with locked("t-1"):
        assert waiting() == 0
    loop.close()


def test_a_loop_that_is_closed_as_the_lock_is_handed_over_does_no_harm() -> None:
    waiter = object.__new__(_locks._AsyncWaiter)
    waiter._loop = asyncio.new_event_loop()
    waiter._loop.close()

    waiter.wake()

    assert waiter.is_gone


async def test_a_hundred_callers_of_both_kinds_never_meet() -> None:
    inside = 0
    meetings: list[int] = []

    def enter() -> None:
        nonlocal inside
        inside += 1
        meetings.append(inside)

    def leave() -> None:
        nonlocal inside
        inside -= 1

    def sync() -> None:
        with locked("t-1"):
            enter()
            leave()

    async def task() -> None:
        async with alocked("t-1"):
            enter()
            await asyncio.sleep(0)
            leave()

    await asyncio.gather(*(asyncio.to_thread(sync) for _ in range(50)), *(task() for _ in range(50)))

    assert meetings == [1] * 100
