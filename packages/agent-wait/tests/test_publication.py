"""What one publish did."""

import pytest
from agent_wait import (
    AnnounceError,
    AnnounceFailed,
    FailingAnnounce,
    InMemoryAnnounce,
    Publication,
    Question,
    publish,
)

QUESTIONS = [Question("q-1", {"iban": "DE02"}), Question("q-2", "?")]


def test_it_is_the_sequence_of_its_envelopes() -> None:
    memory = InMemoryAnnounce()
    publication = publish(QUESTIONS, "t-1", memory)

    assert list(publication) == memory.events
    assert len(publication) == 2
    assert publication[-1] is memory.last
    assert list(publication[:1]) == memory.events[:1]
    assert memory.last in publication


def test_it_is_empty_where_nothing_was_published() -> None:
    empty = Publication()

    assert (list(empty), empty.failures, bool(empty)) == ([], (), False)
    empty.raise_for_failures()


def test_two_make_one_in_order() -> None:
    first = publish(QUESTIONS, "t-1", FailingAnnounce())
    second = publish(QUESTIONS, "t-2", FailingAnnounce())

    both = first + second

    assert list(both) == [*first, *second]
    assert both.failures == first.failures + second.failures


def test_a_failure_never_hides_an_envelope_and_can_be_raised() -> None:
    first, second = FailingAnnounce(AnnounceError("one")), FailingAnnounce(OSError("two"))
    publication = publish(QUESTIONS, "t-1", [first, InMemoryAnnounce(), second])

    assert [envelope.question_id for envelope in publication] == ["q-1", "q-2"]
    assert [(failure.envelope.question_id, failure.error) for failure in publication.failures] == [
        ("q-1", first.error),
        ("q-2", first.error),
        ("q-1", second.error),
        ("q-2", second.error),
    ]
    with pytest.raises(AnnounceFailed, match=r"4 announcements of 2 envelopes failed") as raised:
        publication.raise_for_failures()
    assert raised.value.subgroup(OSError) is not None


def test_what_a_host_logs_of_it_has_ids_and_no_content() -> None:
    publication = publish(QUESTIONS[:1], "t-1", FailingAnnounce(OSError("DE02")))
    (failure,) = publication.failures

    assert repr(publication) == "Publication(1 envelopes, 1 failures)"
    assert repr(failure) == f"Failure('FailingAnnounce', {publication[0].dedupe_key!r}, OSError)"
