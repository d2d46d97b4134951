"""The identity table, row by row: what stays the same, and what must differ."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from agent_wait import (
    JSON,
    FakeClock,
    InMemoryAnnounce,
    Question,
    WaitPolicy,
    current_wait,
    make_ask,
    make_wait,
    publish,
)
from agent_wait import _identity as identity
from agent_wait._answer import WrappedAnswer
from agent_wait._canonical import encode
from agent_wait._envelope import envelope_for
from agent_wait.testing import Parked, StubFramework
from hypothesis import given
from hypothesis import strategies as st

QUESTION: dict[str, Any] = {"function": "refund", "args": {"amount": "5.00"}}
NAMED = identity.fingerprint(encode(QUESTION), ["call_0", 0])


def sha256(data: Any) -> str:
    """Written here as the contract has it, not as the library does."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def test_a_fingerprint_is_the_digest_of_the_question_as_published_and_the_call() -> None:
    assert f"sha256:{sha256([QUESTION, ['call_0', 0]])}" == NAMED
    assert identity.fingerprint(encode("é"), None) == f"sha256:{sha256(['é', None])}"


def test_an_ask_is_named_by_its_id_thread_call_and_attempt() -> None:
    asked = Question("q-1", QUESTION, fingerprint=NAMED)
    assert identity.ask_id("t-1", asked) == f"q-1:{sha256(['t-1', NAMED, 1])[:16]}"
    bare = Question("q-1", {"b": 1, "a": 2})
    assert identity.ask_id("t-1", bare) == f"q-1:{sha256(['t-1', {'a': 2, 'b': 1}, 1])[:16]}"


def test_a_dedupe_key_is_the_type_and_the_ask() -> None:
    assert identity.dedupe_key("created", "q-1:0123") == "wait.created:q-1:0123"
    assert identity.dedupe_key("resumed", "q-1:0123") == "wait.resumed:q-1:0123"


def test_an_idempotency_key_is_the_digest_of_thread_scope_and_call() -> None:
    assert identity.idempotency_key("t-1", "ns", NAMED) == sha256(["t-1", "ns", NAMED])
    assert identity.idempotency_key("t-1", None, NAMED) == sha256(["t-1", None, NAMED])
    assert identity.idempotency_key("t-1", ["a", 1], NAMED) == sha256(["t-1", ["a", 1], NAMED])


def test_a_question_that_does_not_park_is_named_by_thread_function_and_arguments() -> None:
    assert identity.async_question_id("t-1", "refund", {"b": 1, "a": 2}) == sha256(
        ["t-1", "refund", {"a": 2, "b": 1}]
    )


def test_half_a_surrogate_pair_in_an_id_names_what_the_envelope_says() -> None:
    odd = Question("q\ud800", 1)
    # A publish refuses such a thread, whose answers no store would keep.
    with pytest.raises(ValueError, match="surrogate"):
        publish([odd], "t\ud800", InMemoryAnnounce())
    envelope = envelope_for(odd, "t\ud800")
    digits = sha256(["t\\ud800", 1, 1])[:16]
    assert envelope.ask_id == identity.ask_id("t\ud800", odd) == f"q\\ud800:{digits}"
    assert identity.idempotency_key("t\ud800", None, NAMED) == sha256(["t\\ud800", None, NAMED])
    assert identity.async_question_id("t\ud800", "f", None) == sha256(["t\\ud800", "f", None])
    assert envelope.to_json().encode()


@pytest.mark.requirement("TOOL-CALL-ID-REPEATS", "DEDUPE-TOO-WIDE", "SAME-ID-FOR-NEXT-QUESTION")
@pytest.mark.parametrize(
    "other",
    [
        ("t-2", Question("q-1", QUESTION, fingerprint=NAMED)),
        ("t-1", Question("q-2", QUESTION, fingerprint=NAMED)),
        ("t-1", Question("q-1", QUESTION, fingerprint=NAMED, attempt=2)),
        ("t-1", Question("q-1", QUESTION, fingerprint=identity.fingerprint(encode(QUESTION), ["call_0", 1]))),
        ("t-1", Question("q-1", QUESTION, fingerprint=identity.fingerprint(encode({}), ["call_0", 0]))),
        ("t-1", Question("q-1", QUESTION)),
        ("t-1", Question("q-1", {"function": "other"})),
    ],
    ids=["thread", "id", "attempt", "call", "question", "bare", "another bare"],
)
def test_whatever_differs_of_two_asks_their_keys_differ(other: tuple[str, Question]) -> None:
    thread, question = other
    (first,) = publish([Question("q-1", QUESTION, fingerprint=NAMED)], "t-1", InMemoryAnnounce())
    (second,) = publish([question], thread, InMemoryAnnounce())
    assert first.dedupe_key != second.dedupe_key
    assert first.ask_id != second.ask_id


ids = st.text(min_size=1)


@given(
    st.lists(
        st.tuples(ids, ids, st.none() | st.integers(), st.integers(1, 3)), min_size=2, max_size=2, unique=True
    )
)
def test_two_asks_never_share_a_key_and_one_always_has_the_same(
    asks: list[tuple[str, str, Any, int]],
) -> None:
    def keys(thread: str, name: str, call: JSON, attempt: int) -> str:
        named = identity.fingerprint(encode(QUESTION), call)
        return identity.ask_id(thread, Question(name, QUESTION, fingerprint=named, attempt=attempt))

    first, second = (keys(*ask) for ask in asks)
    assert first != second
    assert first == keys(*asks[0])


def test_only_the_event_id_differs_from_one_publish_to_the_next_whoever_publishes_and_when() -> None:
    clock = FakeClock()
    question = Question("q-1", QUESTION, WaitPolicy(timeout="P1D"), fingerprint=NAMED, asked_at=clock.now())
    (first,) = publish([question], "t-1", InMemoryAnnounce(), clock=clock)
    clock.advance(3_600)
    stored = json.loads(json.dumps(question.pack()))
    (second,) = publish([Question.unpack("q-1", stored)], "t-1", InMemoryAnnounce(), clock=clock)
    assert first.event_id != second.event_id
    assert replace(first, event_id=second.event_id) == second
    (third,) = publish([question], "t-1", InMemoryAnnounce(), clock=clock)
    assert third.event_id not in (first.event_id, second.event_id)
    assert third.to_json().replace(third.event_id, "") == first.to_json().replace(first.event_id, "")


ELSEWHERE = """
import sys
from agent_wait import InMemoryAnnounce, Question, make_wait, publish
from agent_wait.testing import Parked, StubFramework

@make_wait(StubFramework("t-1"))
def refund(orders, when): ...

try:
    refund({f"o-{n}" for n in range(50)}, {"b": 1, "a": {2, 1}})
except Parked as stop:
    question = Question.unpack("q-1", stop.value)
(envelope,) = publish([question], "t-1", InMemoryAnnounce())
sys.stdout.write(" ".join([envelope.fingerprint, envelope.dedupe_key]))
"""


def test_every_process_under_every_hash_seed_gives_one_name() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", ELSEWHERE],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "99")
    }
    assert len(said) == 1


class Counting(StubFramework):
    """Tells equal calls of one run apart by their number."""

    def __init__(self, thread_id: str = "t-1") -> None:
        super().__init__(thread_id)
        self.calls: dict[str, int] = {}

    def rerun(self) -> None:
        super().rerun()
        self.calls.clear()

    def call_identity(self, question: JSON, call_args: Mapping[str, Any]) -> JSON:
        key = encode(question)
        self.calls[key] = self.calls.get(key, 0) + 1
        return ["call_0", self.calls[key]]

    def call_scope(self, call_args: Mapping[str, Any]) -> JSON:
        return "ns"


def parked(call: Any, *args: Any) -> Question:
    with pytest.raises(Parked) as stop:
        call(*args)
    return Question.unpack("q-1", stop.value.value)


@pytest.mark.requirement("APPROVAL-BOUND-TO-NAME")
def test_equal_calls_of_one_run_have_names_of_their_own_and_keep_them_on_every_run() -> None:
    stub = Counting()
    ask = make_ask(stub)
    first, second = parked(ask, "ok?"), parked(ask, "ok?")
    assert first.fingerprint != second.fingerprint
    stub.rerun()
    assert [parked(ask, "ok?").fingerprint, parked(ask, "ok?").fingerprint] == [
        first.fingerprint,
        second.fingerprint,
    ]
    assert (first.call, second.call) == (["call_0", 1], ["call_0", 2])


def test_a_re_ask_keeps_the_call_and_its_effect_and_is_an_ask_of_its_own() -> None:
    keys: list[str] = []
    stub = Counting()

    @make_wait(stub)
    def refund(amount: int) -> None:
        wait = current_wait()
        assert wait is not None
        keys.append(wait.idempotency_key)

    first = parked(refund, 5)
    assert first.fingerprint is not None
    for answer in ('{"action": "approve"}', {"action": "approve"}):
        stub.answers.append(WrappedAnswer(answer=answer, fingerprint=first.fingerprint).to_value())
        stub.rerun()
        if isinstance(answer, str):
            second = parked(refund, 5)
            assert (second.fingerprint, second.attempt) == (first.fingerprint, 2)
            assert identity.ask_id("t-1", first) != identity.ask_id("t-1", second)
        else:
            refund(5)
    stub.rerun()
    refund(5)
    assert keys == [identity.idempotency_key("t-1", "ns", first.fingerprint)] * 2


def test_a_call_that_nobody_was_asked_about_has_a_key_as_well() -> None:
    stub, keys = Counting(), list[str]()

    @make_wait(stub)(when=lambda amount: False)
    def refund(amount: int) -> None:
        wait = current_wait()
        assert wait is not None
        keys.append(wait.idempotency_key)

    refund(5)
    refund(5)
    stub.rerun()
    refund(5)
    refund(6)
    assert keys[2] == keys[0]
    assert len(set(keys)) == 3
