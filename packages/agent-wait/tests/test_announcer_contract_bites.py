"""The contract suite finds announcers that break it: each of these breaks one rule and fails its test."""

import asyncio
import json
import logging
import threading
from dataclasses import replace
from typing import Any

import pytest
from agent_wait import BaseAnnounce, InMemoryAnnounce, Transition, WaitEnvelope
from agent_wait.testing import AnnouncerContract


class Good(InMemoryAnnounce):
    """Backed by something that breaks and hangs."""

    def __init__(self) -> None:
        super().__init__()
        self.broken = False
        self.release: threading.Event | None = None

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        if self.broken:
            raise OSError("refused")
        if self.release is not None:
            self.release.wait()
        super().deliver(envelope, transition)


def tried(announcer: Any, test: str) -> None:
    """Run one test of the suite on an announcer."""

    class Trial(AnnouncerContract):
        def make(self) -> Any:
            return announcer

        def received(self) -> list[dict[str, Any]]:
            return [json.loads(envelope.to_json()) for envelope in announcer.events]

        def break_backend(self) -> None:
            announcer.broken = True

        def hang_backend(self) -> None:
            announcer.release = threading.Event()

    try:
        getattr(Trial(), test)()
    finally:
        if announcer.release is not None:
            announcer.release.set()


class Nameless(Good):
    name = ""


class Truncating(Good):
    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        super().deliver(replace(envelope, tags={}), transition)


class Unfiltered(Good):
    """Delivers, when it is asked directly, what it does not want."""

    def announce(self, envelope: WaitEnvelope, transition: Transition) -> Exception | None:
        self.deliver(envelope, transition)
        return None


class Greedy(Good):
    """Wants everything, whatever it was told."""

    def supports(self, transition: Transition) -> bool:
        return True


class CreatedOnly(Good):
    """Fails at what it says that it wants."""

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        if transition == "resumed":
            raise LookupError(transition)


class Swallowing(Good):
    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        if not self.broken:
            super().deliver(envelope, transition)


class OneByOne(Good):
    """Takes the first of a batch and forgets the rest."""

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        super().deliver(envelope, transition)

    def deliver_many(self, envelopes: Any, transition: Transition) -> list[None]:
        super().deliver(envelopes[0], transition)
        return [None] * len(envelopes)


class FreshKeys(Good):
    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        super().deliver(replace(envelope, dedupe_key=envelope.event_id), transition)


class Racy(Good):
    """Loses what comes from two threads at once."""

    pause = threading.Event()

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        before = self._arrived.copy()
        self.pause.wait(0.01)
        self._arrived = [*before, (transition, envelope)]


class Garbling(Good):
    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        plain = json.loads(envelope.to_json().encode("ascii", "replace"))
        super().deliver(
            replace(envelope, question=plain["question"], thread_id=plain["thread_id"]), transition
        )


class Deaf(Good):
    """Is lost when it is awaited."""

    async def adeliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        await asyncio.sleep(0)


class Raising(Good):
    def announce(self, envelope: WaitEnvelope, transition: Transition) -> Exception | None:
        self.deliver(envelope, transition)
        return None


class Chatty(Good):
    """Returns something where nothing went wrong."""

    def announce(self, envelope: WaitEnvelope, transition: Transition) -> Any:
        super().announce(envelope, transition)
        return envelope.event_id


class Blocking(Good):
    """Hangs on the event loop."""

    async def adeliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        if self.release is not None:
            self.release.wait(0.5)


class Impatient(Good):
    """Says that it was not sent, when nobody knows."""

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        if self.release is not None:
            raise TimeoutError("not sent")


class Talkative(Good):
    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        logging.getLogger("talkative").info("sending %s", envelope.question)
        super().deliver(envelope, transition)


BREAKS: list[tuple[type[BaseAnnounce], str]] = [
    (Nameless, "test_it_has_a_name"),
    (Truncating, "test_one_envelope_arrives_whole"),
    (Swallowing, "test_announcing_to_a_broken_backend_returns_the_error_and_does_not_raise_it"),
    (Swallowing, "test_a_broken_backend_is_reported_for_every_envelope_and_stops_no_other_announcer"),
    (Swallowing, "test_a_broken_backend_is_reported_when_awaited"),
    (FreshKeys, "test_the_same_published_twice_is_one_question"),
    (OneByOne, "test_many_at_once_all_arrive"),
    (Racy, "test_what_many_threads_publish_at_once_all_arrives"),
    (Garbling, "test_odd_questions_arrive_whole_or_are_reported"),
    (Garbling, "test_odd_ids_arrive_whole_or_are_reported"),
    (Deaf, "test_awaited_it_delivers_the_same"),
    (Raising, "test_announcing_to_a_broken_backend_returns_the_error_and_does_not_raise_it"),
    (Blocking, "test_a_hanging_backend_does_not_block_the_event_loop"),
    (Impatient, "test_a_hanging_backend_costs_its_budget_and_stops_no_other_announcer"),
    (Talkative, "test_no_log_line_at_info_or_above_has_the_question"),
    (Chatty, "test_announcing_without_a_publish_around_it_delivers_and_returns_none"),
    (Chatty, "test_a_publish_that_is_not_awaited_works_inside_a_running_loop"),
    (CreatedOnly, "test_every_transition_that_it_wants_is_taken"),
    (Unfiltered, "test_a_transition_that_it_does_not_want_never_reaches_the_backend"),
    (Greedy, "test_a_transition_that_it_does_not_want_never_reaches_the_backend"),
]


@pytest.mark.parametrize(("announcer", "test"), BREAKS)
def test_an_announcer_that_breaks_a_rule_fails_the_rule_s_test(
    announcer: type[BaseAnnounce], test: str
) -> None:
    tried(Good(), test)

    with pytest.raises((AssertionError, OSError)):
        tried(announcer(), test)


def test_every_rule_of_the_suite_is_broken_by_one_of_them() -> None:
    rules = {name for name in dir(AnnouncerContract) if name.startswith("test_")}

    assert {test for _, test in BREAKS} == rules
