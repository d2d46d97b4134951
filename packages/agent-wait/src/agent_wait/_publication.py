"""What one publish did."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, overload

from agent_wait._envelope import WaitEnvelope
from agent_wait._errors import AnnounceFailed


@dataclass(frozen=True, slots=True)
class Failure:
    """One announcer that did not take one envelope.

    Attributes:
        announcer: The announcer's `name`.
        envelope: What it did not take.
        error: Why. An `AnnounceError` says whether a repeat may help.
    """

    announcer: str
    envelope: WaitEnvelope
    error: Exception

    def __repr__(self) -> str:
        """Without the question, since this is what a host logs."""
        return f"Failure({self.announcer!r}, {self.envelope.dedupe_key!r}, {type(self.error).__name__})"


class Publication(Sequence[WaitEnvelope]):
    """The envelopes of one publish, in the order of their questions, and what went wrong.

    Empty when there was nothing to publish. A failure never hides an envelope: it stands in the
    sequence, and in `failures` once for each announcer that did not take it.
    """

    __slots__ = ("_envelopes", "failures")

    def __init__(self, envelopes: Iterable[WaitEnvelope] = (), failures: Iterable[Failure] = ()) -> None:
        self._envelopes = tuple(envelopes)
        self.failures: tuple[Failure, ...] = tuple(failures)

    @overload
    def __getitem__(self, index: int) -> WaitEnvelope: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[WaitEnvelope]: ...
    def __getitem__(self, index: int | slice) -> WaitEnvelope | Sequence[WaitEnvelope]:
        return self._envelopes[index]

    def __len__(self) -> int:
        return len(self._envelopes)

    def __add__(self, other: "Publication") -> "Publication":
        """Both, in order."""
        return Publication((*self._envelopes, *other._envelopes), (*self.failures, *other.failures))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Publication):
            return NotImplemented
        return (self._envelopes, self.failures) == (other._envelopes, other.failures)

    __hash__: ClassVar[None] = None  # pyright: ignore[reportIncompatibleMethodOverride]  # envelopes hold JSON objects

    def __repr__(self) -> str:
        return f"Publication({len(self)} envelopes, {len(self.failures)} failures)"

    def raise_for_failures(self) -> None:
        """Raise what went wrong, if anything did.

        Raises:
            AnnounceFailed: A group of every failure's error.
        """
        if self.failures:
            raise AnnounceFailed(
                f"{len(self.failures)} announcements of {len(self)} envelopes failed",
                [failure.error for failure in self.failures],
            )
