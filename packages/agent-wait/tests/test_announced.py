"""`mode="async"`: the question goes out, the agent goes on."""

import asyncio
from typing import Any

import pytest
from agent_wait import (
    AnnounceError,
    BaseAnnounce,
    CompositeAnnounce,
    FailingAnnounce,
    FakeClock,
    InMemoryAnnounce,
    QuestionTooLarge,
    Transition,
    WaitEnvelope,
    WaitPolicy,
    current_wait,
    make_wait,
)
from agent_wait import _identity as identity
from agent_wait._types import JSON
from agent_wait.testing import StubFramework


@pytest.fixture
def stub() -> StubFramework:
    return StubFramework("t-1")


def never(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("the body ran")


async def test_the_call_announces_and_returns_without_running_or_parking(stub: StubFramework) -> None:
    def pay(order: str, amount: int = 5) -> Any:
        never()

    async def apay(order: str, amount: int = 5) -> Any:
        never()

    for function in (pay, apay):
        memory = InMemoryAnnounce()
        policy = WaitPolicy(timeout="P1D", tags={"team": "finance"})
        waiting: Any = make_wait(stub, clock=FakeClock(10))(policy, mode="async", announce=memory)(function)
        said = waiting("o-1")
        said = await said if asyncio.iscoroutine(said) else said
        args: dict[str, JSON] = {"order": "o-1", "amount": 5}
        named = identity.async_question_id("t-1", function.__name__, args)
        assert said == {"status": "pending_approval", "question_id": named, "function": function.__name__}
        envelope = memory.last
        assert (envelope.type, envelope.question_id, envelope.thread_id) == ("wait.created", named, "t-1")
        assert envelope.question == {"function": function.__name__, "args": args}
        assert envelope.source == {"function": function.__name__, "framework": "stub", "mode": "async"}
        assert (envelope.asked_at, envelope.expires_at) == ("1970-01-01T00:00:10Z", "1970-01-02T00:00:10Z")
        assert envelope.reply_with["mode"] == "async"
        assert envelope.fingerprint is not None
        assert envelope.allowed_actions == ("approve", "reject")
        assert envelope.tags == {"team": "finance"}
    assert stub.asked == []


def test_the_same_call_in_the_same_thread_is_the_same_question(stub: StubFramework) -> None:
    def pay_two(a: int, b: int = 2) -> Any:
        never()

    memory = InMemoryAnnounce()
    pay = make_wait(stub)(mode="async", announce=memory)(pay_two)
    for args in ((1,), (1, 2), (2,)):
        pay(*args)
    stub.thread_id = "t-2"
    pay(1)
    first, same, other, elsewhere = memory.events
    assert first.dedupe_key == same.dedupe_key
    assert len({first.question_id, other.question_id, elsewhere.question_id}) == 3


def test_a_question_of_its_own_is_named_by_all_of_it(stub: StubFramework) -> None:
    def ask_of(kind: str) -> Any:
        never()

    memory = InMemoryAnnounce()
    wait = make_wait(stub)
    for kind in ("a", "b"):
        wait(mode="async", announce=memory, question=lambda kind: {"kind": kind, "args": 1})(ask_of)(kind)
    first, second = memory.events
    assert first.question == {"kind": "a", "args": 1}
    assert first.question_id != second.question_id


class Raising(BaseAnnounce):
    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        raise AnnounceError("no route")


class Silent(BaseAnnounce):
    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        raise OSError("https://hooks.example/s3cret")


def closing() -> BaseAnnounce:
    return InMemoryAnnounce(only=("resumed",))


@pytest.mark.parametrize(
    ("announce", "status", "error"),
    [
        ([InMemoryAnnounce(), Raising()], "pending_approval", None),
        ([Raising()], "not_announced", "Raising: no route"),
        ([Raising(), Silent()], "not_announced", "Raising: no route; Silent: OSError"),
        ([Raising(), closing()], "not_announced", "Raising: no route"),
        (closing(), "not_announced", "no announcer takes created questions"),
        ([], "not_announced", "no announcer takes created questions"),
        (CompositeAnnounce([Raising(), Silent()]), "not_announced", "Raising: no route; Silent: OSError"),
        (CompositeAnnounce([Raising(), InMemoryAnnounce()]), "pending_approval", None),
        (
            CompositeAnnounce([InMemoryAnnounce()], only=("resumed",)),
            "not_announced",
            "no announcer takes created questions",
        ),
    ],
    ids=range(9),
)
async def test_a_question_that_no_announcer_took_says_so_with_the_error(
    stub: StubFramework, announce: Any, status: str, error: str | None
) -> None:
    async def apay(a: int) -> Any:
        never()

    def pay(a: int) -> Any:
        never()

    wait = make_wait(stub)
    for said in (
        wait(mode="async", announce=announce)(pay)(1),
        await wait(mode="async", announce=announce)(apay)(1),
    ):
        assert (said["status"], said.get("error")) == (status, error)


def test_a_failing_announcer_is_called_once(stub: StubFramework) -> None:
    failing = FailingAnnounce()
    said: Any = make_wait(stub)(mode="async", announce=failing)(lambda a: never())(1)
    assert said["status"] == "not_announced"
    assert len(failing.calls) == 1


async def test_what_when_lets_through_runs(stub: StubFramework) -> None:
    def key() -> Any:
        wait = current_wait()
        assert wait is not None
        return wait.asked, len(wait.idempotency_key)

    async def apay(a: int) -> Any:
        return key()

    memory = InMemoryAnnounce()
    wait = make_wait(stub)
    assert wait(mode="async", announce=memory, when=lambda a: False)(lambda a: key())(1) == (False, 64)
    assert await wait(mode="async", announce=memory, when=lambda a: False)(apay)(1) == (False, 64)
    assert memory.events == []


def test_redacted_arguments_and_sizes_are_as_in_a_question_that_parks(stub: StubFramework) -> None:
    memory = InMemoryAnnounce()
    policy = WaitPolicy(redact=("token",))

    def send(token: str, a: Any) -> Any:
        never()

    pay = make_wait(stub)(policy, mode="async", announce=memory)(send)
    pay("s3cret", 1)
    assert "s3cret" not in memory.last.to_json()
    with pytest.raises(QuestionTooLarge) as refused:
        pay("s3cret", "x" * 300_000)
    assert refused.value.path == "args.a"
    assert len(memory.events) == 1


def test_what_announces_nothing_is_refused_where_it_is_written(stub: StubFramework) -> None:
    wait: Any = make_wait(stub)
    with pytest.raises(TypeError, match="announce"):
        wait(mode="async", announce=["queue"])(lambda a: a)


def test_a_call_that_is_let_through_has_one_key_however_often_it_is_read() -> None:
    class Counting(StubFramework):
        calls = 0

        def call_identity(self, question: Any, call_args: Any) -> Any:
            self.calls += 1
            return self.calls

    @make_wait(Counting())(mode="async", announce=InMemoryAnnounce(), when=lambda: False)
    def refund(amount: int) -> list[str]:
        waits = [current_wait(), current_wait()]
        return [wait.idempotency_key for wait in waits if wait is not None]

    first, second = refund(5), refund(5)
    assert first == [first[0]] * 2
    assert second == [second[0]] * 2
    assert first != second
