"""The interface between an envelope and the place it is put."""

from collections.abc import Iterable, Sequence
from typing import Protocol, runtime_checkable

from agent_wait._envelope import WaitEnvelope
from agent_wait._types import Transition


@runtime_checkable
class AnnounceAdapter(Protocol):
    """Anything that can announce; it need not subclass `BaseAnnounce`."""

    @property
    def name(self) -> str:
        """Who it is, in failures and logs."""
        ...

    def supports(self, transition: Transition) -> bool:
        """Whether it wants envelopes of this transition."""
        ...

    def announce(self, envelope: WaitEnvelope, transition: Transition) -> Exception | None:
        """Put the envelope where it belongs; returns what went wrong, and never raises."""
        ...


class BaseAnnounce:
    """Write `deliver` and you have a conforming announcer.

    An announcer may be called from several threads at once, and twice with the same envelope; the
    envelope's `dedupe_key` is then the same. Override `deliver_many` for a backend with a batch call and
    `adeliver` for one with an async client: they make it faster, never different.

    Args:
        only: The transitions it wants, such as `("created",)`; None for all.

    Raises:
        ValueError: `only` is empty or names an unknown transition.
    """

    name: str = ""

    def __init__(self, *, only: Iterable[Transition] | None = None) -> None: ...

    def supports(self, transition: Transition) -> bool:
        """Whether this announcer wants envelopes of `transition`."""
        ...

    def announce(self, envelope: WaitEnvelope, transition: Transition) -> Exception | None:
        """Deliver one envelope; log and return what went wrong instead of raising it."""
        ...

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        """Put one envelope where it belongs. The one method to write; raise freely."""
        raise NotImplementedError

    def deliver_many(
        self, envelopes: Sequence[WaitEnvelope], transition: Transition
    ) -> Sequence[Exception | None]:
        """Deliver several in order; one entry an envelope, None for delivered."""
        ...

    async def adeliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        """As `deliver`, awaited. Only announcers that override it are awaited on the event loop."""
        ...
