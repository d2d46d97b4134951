"""How many entries go into one call."""

from collections.abc import Iterable, Iterator
from typing import Protocol, TypeVar


class _Sized(Protocol):
    @property
    def size(self) -> int: ...


T = TypeVar("T", bound=_Sized)


def batches(entries: Iterable[T], *, most: int, limit: int) -> Iterator[list[T]]:
    """The entries in order, in as few runs as hold at most `most` of them and `limit` bytes.

    An entry above `limit` bytes gets a run of its own.
    """
    batch: list[T] = []
    size = 0
    for entry in entries:
        if batch and (len(batch) == most or size + entry.size > limit):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.size
    if batch:
        yield batch
