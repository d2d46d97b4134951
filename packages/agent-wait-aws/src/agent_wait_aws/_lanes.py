"""Calls side by side, on threads that never keep the interpreter from exiting."""

import contextvars
import threading
from collections.abc import Callable, Sequence


def side_by_side(jobs: Sequence[Callable[[], None]], workers: int) -> None:
    """Run the jobs on at most `workers` threads, the calling one included, and return when all are done.

    Args:
        jobs: Called once each, started in order, with the caller's context variables. They contain their own
            errors.
        workers: At least 1.

    Raises:
        BaseException: What one of them did not contain: a `KeyboardInterrupt`, a `SystemExit`.
    """
    waiting = iter(jobs)
    lock = threading.Lock()
    raised: list[BaseException] = []

    def work() -> None:
        try:
            while not raised:
                with lock:
                    job = next(waiting, None)
                if job is None:
                    return
                job()
        except BaseException as error:  # noqa: BLE001  # raised where it was waited for
            raised.append(error)

    threads: list[threading.Thread] = []
    for _ in range(min(workers, len(jobs)) - 1):
        thread = threading.Thread(target=contextvars.copy_context().run, args=(work,), daemon=True)
        try:
            thread.start()
        except RuntimeError:
            break  # The interpreter is going down, or has no threads left: the caller does it all.
        threads.append(thread)
    work()
    for thread in threads:
        thread.join()
    if raised:
        raise raised[0]
