"""Where the time comes from. Nothing in this package reads the clock any other way."""

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """A source of the current time."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        ...


class SystemClock:
    """The clock of the machine."""

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        return time.time()


class FakeClock:
    """A clock that a test moves by hand. Safe from several threads.

    Args:
        start: Seconds since the epoch, UTC.
    """

    def __init__(self, start: float = 1_760_000_000.0) -> None:
        self._now = start
        self._lock = threading.Lock()

    def now(self) -> float:
        """Seconds since the epoch, UTC."""
        with self._lock:
            return self._now

    def advance(self, seconds: float) -> float:
        """Move the clock on by `seconds` (negative moves it back) and return the new time."""
        with self._lock:
            self._now += seconds
            return self._now


SYSTEM_CLOCK: Clock = SystemClock()
