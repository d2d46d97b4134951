"""Calls side by side that nothing ever has to wait for."""

import asyncio
import contextvars
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress

import pytest
from agent_wait import _fan_out
from agent_wait._errors import AnnounceError
from agent_wait._fan_out import MAX_ABANDONED, Job, afan_out, fan_out

SHORT = 0.25  # seconds that a hang is waited for
LONG = 50.0  # less than a test may take, more than one ever needs


def run_sync(jobs: Sequence[Job]) -> None:
    fan_out(jobs)


def run_async(jobs: Sequence[Job]) -> None:
    asyncio.run(afan_out(jobs))


either = pytest.mark.parametrize("run", [run_sync, run_async])
Run = Callable[[Sequence[Job]], None]


class Hang:
    """A call that does not come back before the test is over."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.jobs: list[Job] = []

    def __call__(self, job: Job) -> None:
        self.jobs.append(job)
        self.release.wait()

    def end(self) -> None:
        self.release.set()
        for job in self.jobs:
            assert job.ended.wait(LONG)


@pytest.fixture
def hang() -> Generator[Hang]:
    hang = Hang()
    yield hang
    hang.end()


@either
def test_all_jobs_run_at_the_same_time(run: Run) -> None:
    barrier = threading.Barrier(6, timeout=LONG)

    def call(_: Job) -> None:
        barrier.wait()

    jobs = [Job(None, call, budget=LONG) for _ in range(6)]
    run(jobs)

    assert [(job.error, job.abandoned) for job in jobs] == [(None, False)] * 6


@either
def test_a_hang_costs_its_budget_and_the_others_are_done(run: Run, hang: Hang) -> None:
    done: list[str] = []

    stuck = Job(object(), hang, budget=SHORT)
    run([stuck, Job(None, lambda _: done.append("other"), budget=LONG)])

    assert done == ["other"]
    assert stuck.abandoned
    assert stuck.error is None
    assert not stuck.ended.is_set()


@either
def test_without_a_budget_it_waits_for_as_long_as_it_takes(run: Run) -> None:
    done: list[int] = []

    run([Job(None, lambda _: done.append(1), budget=None)])

    assert done == [1]


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), SystemExit(3), StopIteration(1)])
@either
def test_what_a_job_raises_stays_with_it(run: Run, error: BaseException) -> None:
    def fail(_: Job) -> None:
        raise error

    job = Job(None, fail, budget=LONG)
    run([job])

    assert job.error is error


@either
def test_each_job_sees_the_callers_context_and_changes_only_its_own(run: Run) -> None:
    tenant = contextvars.ContextVar("tenant", default="none")
    tenant.set("acme")
    seen: list[str] = []

    def call(_: Job) -> None:
        seen.append(tenant.get())
        tenant.set("changed")

    run([Job(None, call, budget=LONG) for _ in range(3)])

    assert seen == ["acme"] * 3
    assert tenant.get() == "acme"


@either
def test_an_owner_with_too_many_hanging_calls_fails_at_once_until_they_are_back(run: Run, hang: Hang) -> None:
    owner, other, done = object(), object(), list[str]()
    run([Job(owner, hang, budget=SHORT) for _ in range(MAX_ABANDONED)])

    refused = Job(owner, lambda _: done.append("owner"), budget=LONG)
    run([refused, Job(other, lambda _: done.append("other"), budget=LONG)])
    assert isinstance(refused.error, AnnounceError)
    assert str(refused.error) == "not sent: 8 earlier calls have not come back"
    assert refused.error.retryable
    assert done == ["other"]

    hang.end()
    run([Job(owner, lambda _: done.append("owner again"), budget=LONG)])
    assert done == ["other", "owner again"]


@either
def test_many_calls_at_once_are_not_too_many_hanging_ones(run: Run) -> None:
    owner, done = object(), list[int]()

    run([Job(owner, lambda _: done.append(1), budget=LONG) for _ in range(3 * MAX_ABANDONED)])

    assert len(done) == 3 * MAX_ABANDONED


@either
def test_where_no_thread_can_be_started_the_job_fails(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    job = Job(None, lambda _: None, budget=LONG)
    run([job])

    assert str(job.error) == "not sent: no thread could be started"
    assert isinstance(job.error, AnnounceError)
    assert job.error.retryable


@either
def test_where_no_thread_can_be_started_any_more_the_job_runs_in_line(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    here, ran_on = threading.current_thread(), list[threading.Thread]()
    monkeypatch.setattr(threading.Thread, "start", start)
    monkeypatch.setattr(threading, "main_thread", lambda: threading.Thread(name="ended"))
    job = Job(None, lambda _: ran_on.append(threading.current_thread()), budget=LONG)
    run([job])

    assert ran_on == [here]
    assert job.error is None


def test_an_interrupt_while_waiting_abandons_the_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            raise KeyboardInterrupt

    first, second = (Job(None, lambda _: None, budget=LONG) for _ in range(2))
    first.ended = Interrupted()

    with pytest.raises(KeyboardInterrupt):
        fan_out([first, second])
    assert (first.abandoned, second.abandoned) == (True, True)


def exits(program: str) -> str:
    """What a program prints that has a hanging call; it has to be gone long before the call comes back."""
    prelude = """
import asyncio, atexit, threading
from agent_wait._fan_out import Job, afan_out, fan_out
forever = threading.Event()
hanging = lambda budget: Job(None, lambda _: forever.wait(), budget=budget)
"""
    command = [sys.executable, "-W", "error", "-c", prelude + program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_a_hang_does_not_block_the_exit_of_the_interpreter() -> None:
    assert exits("fan_out([hanging(0.01)]); print('left')") == "left\n"


def test_a_hang_does_not_block_the_exit_of_an_event_loop_and_its_interpreter() -> None:
    assert exits("asyncio.run(afan_out([hanging(0.01)])); print('left')") == "left\n"


def test_what_hangs_in_a_process_does_not_count_in_the_one_it_forks() -> None:
    program = """
import os, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads, which is what this is about
fan_out([hanging(0.01) for _ in range(8)])
one_more = Job(None, lambda _: print("sent", flush=True), budget=5)
if os.fork() == 0:
    fan_out([one_more])
    os._exit(0)
os.wait()
fan_out([one_more])
print(one_more.error)
"""
    assert exits(program) == "sent\nnot sent: 8 earlier calls have not come back\n"


def test_at_interpreter_shutdown_jobs_run_in_line() -> None:
    program = """
def last():
    done = []
    jobs = [Job(None, lambda _: done.append(n), budget=5) for n in range(2)]
    fan_out([Job(None, lambda _: done.append("sync"), budget=5)])
    asyncio.run(afan_out([Job(None, lambda _: done.append("async"), budget=5)]))
    print(done)
atexit.register(last)
"""
    assert exits(program) == "['sync', 'async']\n"


def test_a_thread_that_outlives_the_main_thread_can_still_fan_out() -> None:
    program = """
import time
def late():
    threading.main_thread().join()
    done = []
    fan_out([Job(None, lambda _: done.append("late"), budget=5)])
    print(done)
threading.Thread(target=late).start()
"""
    assert exits(program) == "['late']\n"


def test_a_coroutine_runs_on_the_loop_of_its_caller() -> None:
    ran_on: list[object] = []

    async def acall() -> None:
        ran_on.append(asyncio.get_running_loop())

    async def run() -> object:
        await afan_out([Job(None, lambda _: pytest.fail("not on a thread"), acall, budget=LONG)])
        return asyncio.get_running_loop()

    assert asyncio.run(run()) is ran_on[0]


def test_a_coroutine_that_hangs_is_cancelled_at_its_budget() -> None:
    ended: list[str] = []

    async def acall() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cleaned up")

    job = Job(None, lambda _: None, acall, budget=SHORT)
    run_async([job])

    assert job.abandoned
    assert job.error is None
    assert ended == ["cleaned up"]


@pytest.mark.parametrize("error", [ValueError("x"), SystemExit(3), asyncio.CancelledError()])
def test_what_a_coroutine_raises_stays_with_its_job(error: BaseException) -> None:
    async def acall() -> None:
        raise error

    job = Job(None, lambda _: None, acall, budget=LONG)
    run_async([job])

    assert job.error is error


def test_coroutines_that_will_not_be_cancelled_count_as_hanging() -> None:
    owner, calls = object(), list[int]()

    async def run() -> Job:
        release = asyncio.Event()

        async def stubborn() -> None:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    calls.append(1)

        await afan_out([Job(owner, lambda _: None, stubborn, budget=SHORT) for _ in range(MAX_ABANDONED)])
        refused = Job(owner, lambda _: None, stubborn, budget=LONG)
        await afan_out([refused])
        release.set()
        return refused

    assert str(asyncio.run(run()).error) == "not sent: 8 earlier calls have not come back"
    assert len(calls) == MAX_ABANDONED


def test_cancelling_waits_for_coroutines_to_clean_up_and_leaves_threads_to_themselves(hang: Hang) -> None:
    ended: list[str] = []
    stuck = Job(object(), hang, budget=LONG)

    async def run() -> None:
        started = asyncio.Event()

        async def acall() -> None:
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0)
                ended.append("cleaned up")

        fanning = asyncio.create_task(afan_out([stuck, Job(None, lambda _: None, acall, budget=LONG)]))
        await started.wait()
        fanning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fanning
        assert ended == ["cleaned up"]

    asyncio.run(run())
    assert stuck.abandoned
    assert not stuck.ended.is_set()


def test_cancelling_leaves_threads_to_themselves(hang: Hang) -> None:
    stuck = Job(object(), hang, budget=LONG)

    async def run() -> None:
        fanning = asyncio.create_task(afan_out([stuck]))
        await asyncio.sleep(0)
        fanning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fanning

    asyncio.run(run())
    assert stuck.abandoned
    assert not stuck.ended.is_set()


def test_a_cancellation_does_not_wait_for_a_coroutine_that_ignores_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_fan_out, "_CANCEL_GRACE", SHORT)

    async def run() -> None:
        started, release = asyncio.Event(), asyncio.Event()

        async def stubborn() -> None:
            started.set()
            while not release.is_set():
                with suppress(asyncio.CancelledError):
                    await release.wait()

        fanning = asyncio.create_task(afan_out([Job(None, lambda _: None, stubborn, budget=LONG)]))
        await started.wait()
        fanning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fanning
        release.set()

    asyncio.run(run())


def test_a_thread_that_comes_back_when_nobody_waits_any_more_disturbs_nobody(hang: Hang) -> None:
    problems: list[object] = []

    async def run() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, problem: problems.append(problem))
        before = set(threading.enumerate())
        await afan_out([Job(object(), hang, budget=SHORT)])
        (thread,) = set(threading.enumerate()) - before
        hang.end()
        thread.join(LONG)
        await asyncio.sleep(0)  # what the thread has left to the loop is done here

    asyncio.run(run())
    assert problems == []


def test_a_thread_that_comes_back_after_its_loop_was_closed_makes_no_noise(
    hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise: list[object] = []
    monkeypatch.setattr(threading, "excepthook", noise.append)
    before = set(threading.enumerate())

    run_async([Job(object(), hang, budget=SHORT)])
    (thread,) = set(threading.enumerate()) - before
    hang.end()
    thread.join(LONG)

    assert not thread.is_alive()
    assert noise == []
