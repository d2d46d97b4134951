"""Many entries through a batch call, and whose entry it was that failed."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_wait import AnnounceError

from agent_wait_aws._batches import batches
from agent_wait_aws._faults import as_announce_error
from agent_wait_aws._lanes import side_by_side


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One envelope as a request entry.

    Attributes:
        index: Which envelope of the publish.
        size: Bytes, as the service counts them.
        request: What goes into the call.
        group: The FIFO group whose order counts; None where none does.
    """

    index: int
    size: int
    request: dict[str, Any]
    group: str | None = None


Send = Callable[[Sequence[Entry]], Mapping[int, Exception]]
"""One call: gives the errors of single entries by their place in it, raises when the call itself failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wire:
    """How a service wants its entries.

    Attributes:
        announcer: Its `name`.
        send: The call.
        most: Entries a call.
        limit: Bytes a call.
        workers: Calls side by side.
    """

    announcer: str
    send: Send
    most: int
    limit: int
    workers: int = 8


def send_all(entries: Sequence[Entry], wire: Wire) -> dict[int, Exception]:
    """Send all of them in few calls; the errors by the envelope's index.

    Entries of one group are sent in order, and after one of them failed that a repeat may deliver, the rest
    of the group is not sent: it would overtake. One that is refused for ever stops nobody.
    """
    failures: dict[int, Exception] = {}
    lanes = [_Lane(entries=lane, wire=wire) for lane in _lanes(entries, wire)]
    side_by_side([lane.run for lane in lanes], wire.workers)
    for lane in lanes:
        failures.update(lane.failures)
    return failures


def _lanes(entries: Sequence[Entry], wire: Wire) -> Iterable[Sequence[Entry]]:
    """Runs of entries that may be sent side by side: single batches, or whole groups packed evenly."""
    if not entries or entries[0].group is None:
        return list(batches(entries, most=wire.most, limit=wire.limit))
    groups: dict[str | None, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.group, []).append(entry)
    lanes: list[list[Entry]] = [[] for _ in range(min(wire.workers, len(groups)))]
    for group in sorted(groups.values(), key=len, reverse=True):
        min(lanes, key=len).extend(group)
    return lanes


@dataclass(slots=True, kw_only=True)
class _Lane:
    """Entries sent one batch after another."""

    entries: Sequence[Entry]
    wire: Wire
    failures: dict[int, Exception] = field(default_factory=dict[int, Exception])
    _stopped: set[str] = field(default_factory=set[str])

    def run(self) -> None:
        for batch in batches(self.entries, most=self.wire.most, limit=self.wire.limit):
            self._attempt(batch)

    def _attempt(self, batch: Sequence[Entry]) -> None:
        batch = [entry for entry in batch if not self._is_stopped(entry)]
        if not batch:
            return
        try:
            failed = self.wire.send(batch)
        except Exception as raised:  # noqa: BLE001  # whatever it is, it is reported
            error = as_announce_error(raised, self.wire.announcer)
            if not error.retryable and len(batch) > 1:
                # Refused as a whole for what may be one entry's fault: halves find it.
                middle = len(batch) // 2
                self._attempt(batch[:middle])
                self._attempt(batch[middle:])
                return
            failed = dict.fromkeys(range(len(batch)), error)
        for place, error in failed.items():
            self._fail(batch[place], error)

    def _fail(self, entry: Entry, error: Exception) -> None:
        self.failures[entry.index] = error
        if entry.group is not None and not (isinstance(error, AnnounceError) and not error.retryable):
            self._stopped.add(entry.group)

    def _is_stopped(self, entry: Entry) -> bool:
        if entry.group is None or entry.group not in self._stopped:
            return False
        self.failures[entry.index] = AnnounceError(
            "not sent: an earlier question of its group failed", announcer=self.wire.announcer
        )
        return True
