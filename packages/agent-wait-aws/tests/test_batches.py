from dataclasses import dataclass
from itertools import pairwise

from agent_wait_aws._batches import batches
from hypothesis import given
from hypothesis import strategies as st


@dataclass
class Sized:
    size: int


sizes = st.lists(st.integers(min_value=0, max_value=150))
counts = st.integers(min_value=1, max_value=12)


@given(sizes, counts)
def test_every_entry_is_in_one_batch_and_in_order(sizes: list[int], most: int) -> None:
    entries = [Sized(size) for size in sizes]

    split = list(batches(entries, most=most, limit=100))

    assert [entry for batch in split for entry in batch] == entries
    assert all(split)


@given(sizes, counts)
def test_no_batch_is_above_a_limit_unless_it_is_one_entry(sizes: list[int], most: int) -> None:
    for batch in batches([Sized(size) for size in sizes], most=most, limit=100):
        assert len(batch) <= most
        assert len(batch) == 1 or sum(entry.size for entry in batch) <= 100


@given(sizes, counts)
def test_no_batch_could_have_taken_the_first_of_the_next(sizes: list[int], most: int) -> None:
    split = list(batches([Sized(size) for size in sizes], most=most, limit=100))

    for batch, following in pairwise(split):
        assert len(batch) == most or sum(entry.size for entry in batch) + following[0].size > 100
