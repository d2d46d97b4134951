"""One life of a host's process."""

import threading
from collections.abc import Generator
from contextlib import contextmanager

POINTS = (
    "before put",
    "after put",
    "before writes",
    "after writes",
    "before effect",
    "after effect",
    "before announce",
    "after announce",
    "before acknowledge",
    "after acknowledge",
)
"""Where a process may die: around every write of the saver, effect, announcement and acknowledgement."""


class Crash(BaseException):
    """The process has died."""


class Life:
    """One life: after its end nothing that it does reaches the outside, on whatever thread.

    Args:
        crash: The point at which it ends, and how many times it gets past that; None: it lives on.
    """

    def __init__(self, crash: tuple[str, int] | None = None) -> None:
        self.died_at: str | None = None
        self._point, self._left = crash or (None, 0)
        self._lock = threading.RLock()

    def at(self, point: str) -> None:
        """Raises `Crash` when this is the end, or behind it."""
        with self._lock:
            if self.died_at is not None:
                raise Crash(self.died_at)
            if point != self._point:
                return
            if self._left == 0:
                self.died_at = point
                raise Crash(point)
            self._left -= 1

    @contextmanager
    def around(self, what: str) -> Generator[None]:
        """Something that the outside sees: all of it, or nothing."""
        with self._lock:
            self.at(f"before {what}")
            yield
            self.at(f"after {what}")
