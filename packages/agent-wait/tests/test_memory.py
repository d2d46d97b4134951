"""The announcers for tests."""

import pytest
from agent_wait._envelope import envelope_for
from agent_wait._errors import AnnounceError
from agent_wait._memory import FailingAnnounce, InMemoryAnnounce
from agent_wait._publish import publish
from agent_wait._question import Question


def test_it_tells_what_arrived_in_order_and_by_transition() -> None:
    memory = InMemoryAnnounce()
    first, second = Question("q-1", "?"), Question("q-2", "?")

    created = publish([first, second], "t", memory)
    resumed = publish([first], "t", memory, transition="resumed")

    assert memory.events == [*created, *resumed]
    assert memory.transitions == ["created", "created", "resumed"]
    assert memory.of("created") == list(created)
    assert memory.of("resumed") == list(resumed)
    assert memory.last is resumed[0]


def test_what_it_hands_out_is_a_copy() -> None:
    memory = InMemoryAnnounce()
    publish([Question("q-1", "?")], "t", memory)

    memory.events.clear()
    memory.transitions.clear()

    assert len(memory.events) == len(memory.transitions) == 1


def test_cleared_it_has_nothing_and_says_so() -> None:
    memory = InMemoryAnnounce()
    publish([Question("q-1", "?")], "t", memory)

    memory.clear()

    assert (memory.events, memory.transitions, memory.of("created")) == ([], [], [])
    with pytest.raises(LookupError, match="nothing has been announced"):
        _ = memory.last


def test_the_failing_one_fails_until_it_is_told_not_to() -> None:
    failing, question = FailingAnnounce(), Question("q-1", "?")

    broken = publish([question], "t", failing)
    failing.error = None
    mended = publish([question], "t", failing)

    (failure,) = broken.failures
    assert isinstance(failure.error, AnnounceError)
    assert (str(failure.error), failure.error.announcer) == ("fails on demand", "FailingAnnounce")
    assert mended.failures == ()
    assert failing.calls == [*broken, *mended]


def test_the_failing_one_wants_what_it_is_told_to() -> None:
    failing = FailingAnnounce(only=("created",))

    assert failing.announce(envelope_for(Question("q", "?"), "t", transition="resumed"), "resumed") is None
    assert failing.calls == []
