import threading
from collections.abc import Mapping, Sequence

import pytest
from agent_wait import AnnounceError
from agent_wait_aws._send import Entry, Wire, send_all
from hypothesis import given
from hypothesis import strategies as st


class Service:
    """Takes batches; fails what it is told to, for now or for ever, by entry or the whole call."""

    def __init__(
        self, *, fails: Sequence[int] = (), refuses: Sequence[int] = (), poisons: Sequence[int] = ()
    ) -> None:
        self.fails, self.refuses, self.poisons = set(fails), set(refuses), set(poisons)
        self.calls: list[list[int]] = []
        self.taken: list[int] = []
        self._lock = threading.Lock()

    def send(self, entries: Sequence[Entry]) -> Mapping[int, Exception]:
        indices = [entry.index for entry in entries]
        with self._lock:
            self.calls.append(indices)
            if self.poisons & set(indices):
                raise AnnounceError("ValidationException", retryable=False)
            failed = {
                place: AnnounceError("", retryable=index in self.fails)
                for place, index in enumerate(indices)
                if index in self.fails | self.refuses
            }
            self.taken += [index for place, index in enumerate(indices) if place not in failed]
            return failed


def entries_of(groups: Sequence[str | None], size: int = 1) -> list[Entry]:
    return [Entry(index=index, size=size, request={}, group=group) for index, group in enumerate(groups)]


def wire(send: Service, **limits: int) -> Wire:
    return Wire(announcer="it", send=send.send, **{"most": 10, "limit": 1000, **limits})


def test_nothing_to_send_makes_no_call() -> None:
    service = Service()

    assert send_all([], wire(service)) == {}
    assert service.calls == []


def test_eleven_go_in_two_calls() -> None:
    service = Service()

    assert send_all(entries_of([None] * 11), wire(service)) == {}
    assert sorted(service.calls) == [list(range(10)), [10]]


def test_a_call_keeps_within_its_bytes() -> None:
    service = Service()

    send_all(entries_of([None] * 3, size=400), wire(service))

    assert sorted(service.calls) == [[0, 1], [2]]


def test_a_failed_entry_is_the_right_ones_and_nobody_elses() -> None:
    service = Service(fails=[3, 12])

    failures = send_all(entries_of([None] * 15), wire(service))

    assert failures.keys() == {3, 12}
    assert sorted(service.taken) == [index for index in range(15) if index not in (3, 12)]


def test_batches_without_an_order_go_side_by_side() -> None:
    barrier = threading.Barrier(4, timeout=10)

    def send(entries: Sequence[Entry]) -> Mapping[int, Exception]:
        barrier.wait()
        return {}

    assert send_all(entries_of([None] * 40), Wire(announcer="it", send=send, most=10, limit=1000)) == {}


def test_groups_go_side_by_side() -> None:
    barrier = threading.Barrier(3, timeout=10)

    def send(entries: Sequence[Entry]) -> Mapping[int, Exception]:
        barrier.wait()
        return {}

    groups = ["a", "b", "c"] * 5
    assert send_all(entries_of(groups), Wire(announcer="it", send=send, most=10, limit=1000)) == {}


def test_a_call_that_fails_fails_its_own_entries_once() -> None:
    def send(entries: Sequence[Entry]) -> Mapping[int, Exception]:
        if entries[0].index == 0:
            raise OSError("unreachable")
        return {}

    def count(entries: Sequence[Entry]) -> Mapping[int, Exception]:
        calls.append(len(entries))
        return send(entries)

    calls: list[int] = []
    failures = send_all(entries_of([None] * 12), Wire(announcer="it", send=count, most=10, limit=1000))

    # An error that is not the service's is not worth a repeat: halves find whose it is.
    assert failures.keys() == {0}


def test_a_call_that_may_work_later_is_not_taken_apart() -> None:
    def send(entries: Sequence[Entry]) -> Mapping[int, Exception]:
        calls.append(len(entries))
        raise AnnounceError("ThrottlingException")

    calls: list[int] = []
    failures = send_all(entries_of([None] * 10), Wire(announcer="it", send=send, most=10, limit=1000))

    assert calls == [10]
    assert failures.keys() == set(range(10))


@given(st.sets(st.integers(min_value=0, max_value=24)), st.booleans())
def test_what_makes_a_service_refuse_a_whole_call_is_found_and_the_rest_is_sent(
    poisons: set[int], fifo: bool
) -> None:
    service = Service(poisons=sorted(poisons))

    failures = send_all(entries_of(["one" if fifo else None] * 25), wire(service))

    assert failures.keys() == poisons
    assert sorted(service.taken) == sorted(set(range(25)) - poisons)


def test_after_a_failure_the_rest_of_its_group_is_not_sent_and_reported() -> None:
    service = Service(fails=[4])

    failures = send_all(entries_of(["one"] * 25), wire(service))

    # What went out in the same call cannot be called back.
    assert service.calls == [list(range(10))]
    assert failures.keys() == {4, *range(10, 25)}
    assert "not sent" in str(failures[10])


def test_what_is_refused_for_ever_stops_nobody_of_its_group() -> None:
    service = Service(refuses=[4])

    failures = send_all(entries_of(["one"] * 25), wire(service))

    assert failures.keys() == {4}
    assert service.taken == [index for index in range(25) if index != 4]


def test_a_failed_group_does_not_stop_another() -> None:
    service = Service(fails=[0])

    failures = send_all(entries_of(["one", "two"] * 12), wire(service, workers=1))

    assert all(index % 2 == 0 for index in failures)
    assert set(service.taken) >= {index for index in range(24) if index % 2 == 1}


@given(
    st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=60),
    st.sets(st.integers(min_value=0, max_value=59)),
    st.integers(min_value=1, max_value=4),
)
def test_a_group_arrives_in_order_and_everything_else_is_reported(
    groups: list[str], fails: set[int], workers: int
) -> None:
    service = Service(fails=sorted(fails))

    failures = send_all(entries_of(groups), wire(service, workers=workers))

    for name in set(groups):
        arrived = [index for index in service.taken if groups[index] == name]
        assert arrived == sorted(arrived)
    assert sorted([*service.taken, *failures]) == list(range(len(groups)))


@pytest.mark.parametrize("error", [ValueError("x"), AnnounceError("x", retryable=False)])
def test_a_single_entry_that_is_refused_is_tried_once(error: Exception) -> None:
    def send(entries: Sequence[Entry]) -> Mapping[int, Exception]:
        calls.append(len(entries))
        raise error

    calls: list[int] = []

    failures = send_all(entries_of([None]), Wire(announcer="it", send=send, most=10, limit=1000))

    assert (calls, list(failures)) == ([1], [0])
