"""Announcers for tests: one that remembers, one that fails."""

import threading
from collections.abc import Iterable

from agent_wait._announcer import BaseAnnounce
from agent_wait._envelope import WaitEnvelope
from agent_wait._errors import AnnounceError
from agent_wait._types import Transition


class InMemoryAnnounce(BaseAnnounce):
    """Keeps every envelope it is given, in order of arrival. Safe from several threads.

    Args:
        only: The transitions it wants; None for all.
    """

    def __init__(self, *, only: Iterable[Transition] | None = None) -> None:
        super().__init__(only=only)
        self._arrived: list[tuple[Transition, WaitEnvelope]] = []
        self._lock = threading.Lock()

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        """Keep the envelope."""
        with self._lock:
            self._arrived.append((transition, envelope))

    @property
    def events(self) -> list[WaitEnvelope]:
        """All that arrived so far; a copy."""
        return [envelope for _, envelope in self._copy()]

    @property
    def transitions(self) -> list[Transition]:
        """The transition of each of `events`."""
        return [transition for transition, _ in self._copy()]

    def of(self, transition: Transition) -> list[WaitEnvelope]:
        """What arrived of one transition."""
        return [envelope for one, envelope in self._copy() if one == transition]

    @property
    def last(self) -> WaitEnvelope:
        """What arrived last.

        Raises:
            LookupError: Nothing has.
        """
        arrived = self._copy()
        if not arrived:
            raise LookupError("nothing has been announced")
        return arrived[-1][1]

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._arrived.clear()

    def _copy(self) -> list[tuple[Transition, WaitEnvelope]]:
        with self._lock:
            return self._arrived.copy()


class FailingAnnounce(BaseAnnounce):
    """Fails on demand, to see what a host makes of it.

    Attributes:
        error: What every delivery raises. Set it to None, and deliveries succeed from then on.
        calls: Every envelope it was given, delivered or not.

    Args:
        error: What to raise; None for an `AnnounceError`.
        only: The transitions it wants; None for all.
    """

    def __init__(
        self, error: BaseException | None = None, *, only: Iterable[Transition] | None = None
    ) -> None:
        super().__init__(only=only)
        failure = AnnounceError("fails on demand", announcer=self.name)
        self.error: BaseException | None = failure if error is None else error
        self.calls: list[WaitEnvelope] = []

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        """Raise `error`, if there is one."""
        del transition
        self.calls.append(envelope)
        if self.error is not None:
            raise self.error
