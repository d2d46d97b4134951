"""Calls side by side, on threads that nothing ever has to wait for.

A call that hangs costs its budget. It blocks neither an event loop nor the interpreter's exit: the threads
are daemons, since those of an executor, and so of `asyncio.to_thread`, are joined at exit.
"""

import contextvars
import os
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from agent_wait._errors import AnnounceError

if TYPE_CHECKING:
    import asyncio

MAX_ABANDONED = 8
"""Calls of one owner that may be hanging before further ones fail at once."""

_CANCEL_GRACE = 1.0  # seconds that coroutines get to clean up before a cancellation goes on without them
_running: "set[Job]" = set()  # changed by single operations only: no lock that a fork could leave locked
with suppress(AttributeError):  # which Windows raises, where nothing forks
    os.register_at_fork(after_in_child=_running.clear)  # what hangs, hangs in the parent


class Job:
    """One call to be made.

    Args:
        owner: Whose call it is; hanging ones are counted for each.
        call: Runs on a thread of its own, in a copy of the caller's context, and is given the job.
        acall: Runs on the event loop instead where there is one.
        budget: Seconds to wait for it; None for as long as it takes.

    Attributes:
        abandoned: Nobody waits any more: a call of several steps ends before its next.
        error: What the call raised, or why it was never made.
    """

    __slots__ = ("abandoned", "acall", "budget", "call", "ended", "error", "owner")

    def __init__(
        self,
        owner: object,
        call: "Callable[[Job], None]",
        acall: Callable[[], Awaitable[None]] | None = None,
        *,
        budget: float | None,
    ) -> None:
        self.owner = owner
        self.call = call
        self.acall = acall
        self.budget = budget
        self.abandoned = False
        self.error: BaseException | None = None
        self.ended = threading.Event()


def fan_out(jobs: Sequence[Job]) -> None:
    """Run the jobs side by side; return when each has ended or been abandoned.

    Nothing that a job raises is raised here: see `Job.error`.
    """
    started = time.monotonic()
    try:
        for job in jobs:
            _start(job)
        for job in jobs:
            job.abandoned = not job.ended.wait(_left(job, time.monotonic() - started))
    except BaseException:
        _abandon(jobs)
        raise


async def afan_out(jobs: Sequence[Job]) -> None:
    """As `fan_out`, awaited. When it is cancelled, so are the coroutines, and the threads are abandoned."""
    import asyncio  # noqa: PLC0415  # not worth its time at import

    loop = asyncio.get_running_loop()
    started = loop.time()
    waits: list[asyncio.Future[None]] = []
    try:
        for job in jobs:
            if job.acall is not None:
                waits.append(loop.create_task(_run_awaited(job, job.acall)))
            else:
                waits.append(wait := loop.create_future())
                _start(job, partial(_settle, loop, wait))
        for job, wait in zip(jobs, waits, strict=True):
            await asyncio.wait((wait,), timeout=_left(job, loop.time() - started))
            if not wait.done():
                job.abandoned = True
                wait.cancel()
    except BaseException:
        _abandon(jobs)
        for wait in waits:
            wait.cancel()
        if tasks := [wait for wait in waits if isinstance(wait, asyncio.Task)]:
            await asyncio.wait(tasks, timeout=_CANCEL_GRACE)
        raise


def _start(job: Job, settle: Callable[[], None] | None = None) -> None:
    context = contextvars.copy_context()
    run: Callable[[], None] = lambda: context.run(_run, job, settle)  # noqa: E731
    if not _too_many(job):
        try:
            threading.Thread(target=run, name="agent-wait", daemon=True).start()
        except RuntimeError as error:
            if not threading.main_thread().is_alive():
                return run()  # the interpreter is shutting down and starts no threads any more
            job.error = AnnounceError("not sent: no thread could be started")
            job.error.__cause__ = error
        else:
            return None
    return _end(job, settle)


def _run(job: Job, settle: Callable[[], None] | None) -> None:
    _running.add(job)
    try:
        job.call(job)
    except BaseException as error:  # noqa: BLE001  # carried over to whoever waits
        job.error = error
    finally:
        _end(job, settle)


async def _run_awaited(job: Job, acall: Callable[[], Awaitable[None]]) -> None:
    from asyncio import CancelledError  # noqa: PLC0415  # not worth its time at import

    if _too_many(job):
        return
    _running.add(job)
    try:
        await acall()
    except CancelledError as error:
        if not job.abandoned:
            job.error = error
    except BaseException as error:  # noqa: BLE001  # carried over to whoever waits
        job.error = error
    finally:
        _end(job)


def _too_many(job: Job) -> bool:
    hanging = sum(other.abandoned and other.owner is job.owner for other in _running.copy())
    if hanging < MAX_ABANDONED:
        return False
    job.error = AnnounceError(f"not sent: {hanging} earlier calls have not come back")
    return True


def _end(job: Job, settle: Callable[[], None] | None = None) -> None:
    _running.discard(job)
    job.ended.set()
    if settle is not None:
        settle()


def _settle(loop: "asyncio.AbstractEventLoop", wait: "asyncio.Future[None]") -> None:
    def settled() -> None:
        if not wait.done():
            wait.set_result(None)

    with suppress(RuntimeError):  # the loop has been closed since
        loop.call_soon_threadsafe(settled)


def _abandon(jobs: Sequence[Job]) -> None:
    for job in jobs:
        job.abandoned = True


def _left(job: Job, elapsed: float) -> float | None:
    return None if job.budget is None else max(0.0, job.budget - elapsed)
