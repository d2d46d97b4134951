import contextvars
import threading

import pytest
from agent_wait_aws._lanes import side_by_side


def test_jobs_run_side_by_side() -> None:
    barrier = threading.Barrier(4, timeout=10)

    def job() -> None:
        barrier.wait()

    side_by_side([job] * 4, workers=4)

    assert not barrier.broken


def test_no_more_threads_than_workers() -> None:
    seen: set[int] = set()
    lock = threading.Lock()

    def job() -> None:
        with lock:
            seen.add(threading.get_ident())

    side_by_side([job] * 50, workers=3)

    assert len(seen) <= 3


def test_one_job_runs_where_it_is_called() -> None:
    seen: list[threading.Thread] = []

    side_by_side([lambda: seen.append(threading.current_thread())], workers=8)

    assert seen == [threading.current_thread()]


def test_nothing_to_do_is_done() -> None:
    side_by_side([], workers=8)


def test_threads_are_daemons_and_see_the_callers_context() -> None:
    variable = contextvars.ContextVar("variable", default="")
    variable.set("mine")
    barrier = threading.Barrier(2, timeout=10)
    seen: list[tuple[bool, str]] = []

    def job() -> None:
        barrier.wait()
        if threading.current_thread() is not caller:
            seen.append((threading.current_thread().daemon, variable.get()))

    caller = threading.current_thread()
    side_by_side([job, job], workers=2)

    assert seen == [(True, "mine")]


def test_where_no_thread_can_start_the_caller_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    done: list[int] = []

    side_by_side([lambda number=number: done.append(number) for number in range(5)], workers=4)

    assert done == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
def test_what_a_job_does_not_contain_is_raised_where_it_was_waited_for(error: BaseException) -> None:
    barrier = threading.Barrier(2, timeout=10)
    done: list[str] = []

    def fail() -> None:
        barrier.wait()
        raise error

    def work() -> None:
        barrier.wait()
        done.append("the other")

    with pytest.raises(type(error)) as caught:
        side_by_side([fail, work], workers=2)
    assert caught.value is error
    assert done == ["the other"]
