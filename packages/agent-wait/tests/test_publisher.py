"""`WaitPublisher` on an agent that has no framework, by its sync and its async methods alike."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

import pytest
from agent_wait import (
    BaseAnnounce,
    EntryPoint,
    FailingAnnounce,
    FakeClock,
    InMemoryAnnounce,
    Outcome,
    Publication,
    Question,
    WaitEnvelope,
    WaitPolicy,
    WaitPublisher,
    _locks,
)
from agent_wait._types import JSON, Transition
from stub_adapter import UNUSABLE, Ask, Do, Program, StubAdapter, TogetherAdapter, World

T = "t-1"
ONE: Program = [[Ask("refund"), Do("notify")]]
TWO_IN_A_ROW: Program = [[Ask("quote"), Ask("refund")]]
FAN: Program = [[Ask("a")], [Ask("b")]]


class Host:
    """One way to call a publisher, and what the world saw."""

    def __init__(self, program: Program, *, is_async: bool, together: bool = False, **options: Any) -> None:
        self.is_async = is_async
        self.world = World()
        self.announced = InMemoryAnnounce()
        self.clock = FakeClock()
        self.adapter = (TogetherAdapter if together else StubAdapter)(self.world, program)
        self.options: dict[str, Any] = {"announce": self.announced, "clock": self.clock, **options}
        self.publisher = WaitPublisher(self.adapter, **self.options)

    async def handle(self, message: object, **options: Any) -> Outcome:
        if self.is_async:
            return await self.publisher.ahandle(message, **options)
        return self.publisher.handle(message, **options)

    async def invoke(self, value: Any, thread_id: str = T, **options: Any) -> Outcome:
        if self.is_async:
            return await self.publisher.ainvoke(value, thread_id, **options)
        return self.publisher.invoke(value, thread_id, **options)

    async def pending(self, thread_id: str = T) -> list[Question]:
        if self.is_async:
            return await self.publisher.apending(thread_id)
        return self.publisher.pending(thread_id)

    async def republish(self, thread_id: str = T) -> Publication:
        if self.is_async:
            return await self.publisher.arepublish(thread_id)
        return self.publisher.republish(thread_id)

    async def start(self, start_id: str | None = "s-1") -> Outcome:
        return await self.handle({"thread_id": T, "input": {"order": 1}, "start_id": start_id})

    def reply(self, nth: int, value: JSON, **over: JSON) -> dict[str, JSON]:
        """An answer to the nth question that was announced."""
        return {**self.announced.of("created")[nth].reply_with, "answer": value, **over}

    def ran(self) -> list[str]:
        return [call for call in self.adapter.calls if call != "state"]

    def story(self) -> list[str]:
        """What was announced: `created refund`."""
        events = self.announced.events
        names = {e.ask_id: e.question["function"] for e in events if isinstance(e.question, dict)}
        return [f"{e.type.removeprefix('wait.')} {names[e.ask_id]}" for e in events]


MakeHost: TypeAlias = Callable[..., Host]


@pytest.fixture(params=["sync", "async"])
def make_host(request: pytest.FixtureRequest) -> MakeHost:
    def make(program: Program = ONE, **options: Any) -> Host:
        return Host(program, is_async=request.param == "async", **options)

    return make


# ---------------------------------------------------------------- what becomes of a message


@pytest.mark.requirement("PROMISE-7")
async def test_a_question_is_asked_answered_and_closed(make_host: MakeHost) -> None:
    host = make_host()

    started = await host.start()
    resumed = await host.handle(host.reply(0, "approve"))

    assert (started.kind, started.result, started.acknowledge) == ("started", "parked", True)
    assert (resumed.kind, resumed.result, resumed.acknowledge) == ("resumed", "finished", True)
    assert host.story() == ["created refund", "resumed refund"]
    assert host.world.paid == {"t-1/r1.0/refund": 1, "t-1/r1.0/notify": 1}


@pytest.mark.requirement("REPUBLISH-BY-INVOKE-NONE")
@pytest.mark.requirement("PROMISE-2")
async def test_a_start_that_comes_again_announces_the_same_question(make_host: MakeHost) -> None:
    host = make_host()
    await host.start()

    outcome = await host.start()

    assert (outcome.kind, outcome.acknowledge) == ("republished", True)
    first, again = host.announced.of("created")
    assert first.dedupe_key == again.dedupe_key
    assert host.ran() == ["start"]


async def test_a_start_that_comes_again_after_the_end_runs_nothing(make_host: MakeHost) -> None:
    host = make_host()
    await host.start()
    await host.handle(host.reply(0, "approve"))

    outcome = await host.start()

    assert outcome.kind == "republished"
    assert host.ran() == ["start", "resume"]


@pytest.mark.requirement("STALE-Q1-APPROVES-Q2")
@pytest.mark.requirement("PROMISE-3")
async def test_the_answer_to_one_question_is_not_taken_for_the_next(make_host: MakeHost) -> None:
    host = make_host(TWO_IN_A_ROW)
    await host.start()
    await host.handle(host.reply(0, "approve"))
    (before,) = await host.pending()

    outcome = await host.handle(host.reply(0, "approve"))

    assert (outcome.kind, outcome.acknowledge) == ("already_answered", True)
    assert await host.pending() == [before]
    assert "t-1/r1.0/refund" not in host.world.paid


@pytest.mark.requirement("SEQUENTIAL-DOUBLE-ANSWER")
async def test_a_finished_thread_takes_no_answer_again(make_host: MakeHost) -> None:
    host = make_host()
    await host.start()
    await host.handle(host.reply(0, "approve"))

    outcomes = [await host.handle(host.reply(0, value)) for value in ("approve", "reject")]

    assert [(o.kind, o.acknowledge) for o in outcomes] == [("already_answered", True)] * 2
    assert host.world.paid["t-1/r1.0/refund"] == 1
    assert host.story() == ["created refund", *["resumed refund"] * 3]


@pytest.mark.requirement("START-WHILE-PARKED")
async def test_another_start_of_a_parked_thread_leaves_its_question_answerable(make_host: MakeHost) -> None:
    host = make_host()
    await host.start()

    busy = await host.start("s-2")
    resumed = await host.handle(host.reply(0, "approve"))

    assert (busy.kind, busy.acknowledge) == ("busy", True)
    assert resumed.kind == "resumed"
    assert host.ran() == ["start", "resume"]


@pytest.mark.requirement("UNKNOWN-THREAD-STARTS-A-RUN")
async def test_an_answer_to_a_thread_that_never_ran_runs_nothing(make_host: MakeHost) -> None:
    host = make_host()

    outcome = await host.handle({"thread_id": "nope", "question_id": "q", "answer": "approve"})

    assert (outcome.kind, outcome.acknowledge) == ("unknown_question", True)
    assert (host.ran(), host.announced.events) == ([], [])


async def test_nothing_is_read_for_a_message_that_cannot_be_meant(make_host: MakeHost) -> None:
    host = make_host()

    outcome = await host.handle({"thread_id": T, "question_id": "q", "input": 1})

    assert (outcome.kind, outcome.thread_id, outcome.question_id) == ("refused", T, "q")
    assert outcome.acknowledge
    assert host.adapter.calls == []


async def test_a_decision_is_the_hosts_to_act_on(make_host: MakeHost) -> None:
    host = make_host()

    outcome = await host.handle({"thread_id": T, "question_id": "q", "answer": None, "mode": "async"})

    assert (outcome.kind, outcome.thread_id, outcome.question_id) == ("decision", T, "q")
    assert outcome.acknowledge
    assert host.adapter.calls == []


@pytest.mark.requirement("BAD-ANSWER-POISONS-THREAD")
@pytest.mark.parametrize("together", [False, True])
async def test_a_question_that_is_asked_again_is_another_ask(make_host: MakeHost, together: bool) -> None:
    host = make_host(together=together)
    await host.start()

    await host.handle(host.reply(0, UNUSABLE))
    stale = await host.handle(host.reply(0, "approve"))
    resumed = await host.handle(host.reply(1, "approve"))

    assert stale.kind == "already_answered"
    assert resumed.kind == "resumed"
    assert [e.attempt for e in host.announced.of("created")] == [1, 2, 2]
    assert host.world.paid["t-1/r1.0/refund"] == 1


@pytest.mark.requirement("PARTIAL-APPROVALS")
async def test_answers_are_kept_until_all_are_in(make_host: MakeHost) -> None:
    host = make_host(FAN, together=True)
    await host.start()

    kept = await host.handle(host.reply(0, "approve"))
    again = await host.handle(host.reply(0, "reject"))
    parked = await host.start()
    resumed = await host.handle(host.reply(1, "reject"))

    assert [o.kind for o in (kept, again, parked, resumed)] == [
        "kept",
        "already_answered",
        "republished",
        "resumed",
    ]
    assert all(o.acknowledge for o in (kept, again, parked, resumed))
    assert host.story() == ["created a", "created b", "created b", "created b", "resumed b", "resumed a"]
    assert host.world.paid == {"t-1/r1.0/a": 1}


async def test_what_was_kept_is_closed_as_soon_as_the_announcer_is_back(make_host: MakeHost) -> None:
    host = make_host(FAN, together=True)
    await host.start()
    await host.handle(host.reply(0, "approve"))
    down = WaitPublisher(host.adapter, announce=FailingAnnounce())

    lost = down.handle(host.reply(1, "approve"))
    outcome = await host.handle(host.reply(1, "approve"))

    assert (lost.kind, lost.acknowledge) == ("resumed", False)
    assert (outcome.kind, outcome.acknowledge) == ("already_answered", True)
    assert host.story() == ["created a", "created b", "resumed a", "resumed b"]


@pytest.mark.requirement("ANSWERS-IN-DISPLAY-ORDER")
async def test_each_answer_reaches_its_own_question_in_any_order(make_host: MakeHost) -> None:
    host = make_host(FAN)
    await host.start()

    await host.handle(host.reply(1, "reject"))
    await host.handle(host.reply(0, "approve"))

    assert host.world.bodies == [("t-1/r1.1/b", "reject"), ("t-1/r1.0/a", "approve")]


@pytest.mark.requirement("LATE-ANSWER-STILL-WORKS")
async def test_an_answer_after_the_deadline_runs_nothing_and_the_default_runs_once(
    make_host: MakeHost,
) -> None:
    host = make_host([[Ask("refund", WaitPolicy(timeout="PT1H", default="reject"))]], late_answers="refuse")
    host.world.asked_at = host.clock.now()
    await host.start()
    host.clock.advance(3600)

    late = await host.handle(host.reply(0, "approve"))
    default = await host.handle(host.reply(0, "reject"))
    later = await host.handle(host.reply(0, "reject"))

    assert [o.kind for o in (late, default, later)] == ["expired", "resumed", "already_answered"]
    assert host.world.bodies == [("t-1/r1.0/refund", "reject")]


@pytest.mark.requirement("PROMISE-3", "PROMISE-4")
async def test_an_answer_is_late_by_when_it_was_sent_however_late_it_comes(make_host: MakeHost) -> None:
    """A process that dies of an answer may be too late the second time, with the money moved."""
    host = make_host([[Ask("refund", WaitPolicy(timeout="PT1H", default="reject"))]], late_answers="refuse")
    host.world.asked_at = in_time = host.clock.now()
    await host.start()
    host.clock.advance(3600)

    late = await host.handle(host.reply(0, "approve"), sent_at=in_time + 3600)
    resumed = await host.handle(host.reply(0, "approve"), sent_at=in_time + 3599)

    assert [o.kind for o in (late, resumed)] == ["expired", "resumed"]
    assert host.world.bodies == [("t-1/r1.0/refund", "approve")]


@pytest.mark.parametrize("sent_at", [float("nan"), float("inf")])
async def test_a_moment_that_is_none_makes_nothing_be_in_time(make_host: MakeHost, sent_at: float) -> None:
    host = make_host(late_answers="refuse")
    with pytest.raises(ValueError, match="sent_at is seconds since the epoch"):
        await host.handle({"thread_id": T, "input": {}}, sent_at=sent_at)
    assert host.ran() == []


async def test_an_answer_that_would_wedge_the_agent_is_refused_with_the_adapters_reason(
    make_host: MakeHost,
) -> None:
    host = make_host()
    host.adapter.refusals["bad"] = "two decisions are needed"
    await host.start()

    refused = await host.handle(host.reply(0, "bad"))
    resumed = await host.handle(host.reply(0, "approve"))

    assert (refused.kind, refused.detail, refused.acknowledge) == (
        "refused",
        "two decisions are needed",
        True,
    )
    assert resumed.kind == "resumed"


# ---------------------------------------------------------------- what breaks on the way


async def test_what_the_agent_raises_comes_out_and_the_next_delivery_goes_on(make_host: MakeHost) -> None:
    host = make_host()
    await host.start()
    host.world.failing.add("notify")

    with pytest.raises(RuntimeError, match="notify"):
        await host.handle(host.reply(0, "approve"))
    host.world.failing.clear()
    outcome = await host.handle(host.reply(0, "approve"))

    assert (outcome.kind, outcome.acknowledge) == ("continued", True)
    assert host.ran() == ["start", "resume", "continue"]
    assert host.story()[-1] == "resumed refund"


@pytest.mark.requirement("PROMISE-5")
async def test_an_approval_whose_body_raised_can_be_answered_anew(make_host: MakeHost) -> None:
    host = make_host()
    await host.start()
    host.world.failing.add("refund")

    with pytest.raises(RuntimeError, match="refund"):
        await host.handle(host.reply(0, "approve"))
    outcome = await host.handle(host.reply(0, "reject"))

    assert outcome.kind == "resumed"
    assert host.world.paid == {"t-1/r1.0/notify": 1}


@pytest.mark.requirement("PROMISE-1", "PROMISE-5")
async def test_a_branch_that_always_fails_hides_no_question_and_blocks_no_answer(make_host: MakeHost) -> None:
    host = make_host([[Ask("a")], [Do("b")]])
    host.world.failing.add("b")

    with pytest.raises(RuntimeError, match="b"):
        await host.start()
    assert host.story() == ["created a"]
    with pytest.raises(RuntimeError, match="b"):
        await host.handle(host.reply(0, "approve"))

    assert host.world.paid == {"t-1/r1.0/a": 1}


@pytest.mark.requirement("PROMISE-1", "PROMISE-6")
async def test_nothing_is_acknowledged_until_an_announcer_that_was_down_has_the_question(
    make_host: MakeHost,
) -> None:
    down = FailingAnnounce()
    host = make_host(announce=[down])

    lost = await host.start()
    host.publisher = WaitPublisher(host.adapter, announce=host.announced)
    outcome = await host.start()

    assert (lost.kind, lost.acknowledge, len(lost.publication.failures)) == ("started", False, 1)
    assert (outcome.kind, outcome.acknowledge) == ("republished", True)
    assert host.story() == ["created refund"]


async def test_a_bare_question_is_closed_under_its_own_name_when_its_answer_comes_again(
    make_host: MakeHost,
) -> None:
    host = make_host([[Ask("continue", bare=True)]])
    await host.start()
    await host.handle(host.reply(0, "yes"))

    await host.handle(host.reply(0, "yes"))

    first, again = host.announced.of("resumed")
    assert first.question is not None
    assert again.question is None
    assert first.dedupe_key == again.dedupe_key


async def test_an_announcer_that_hangs_costs_the_budget_and_no_more(make_host: MakeHost) -> None:
    release = threading.Event()

    class Hanging(BaseAnnounce):
        def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
            release.wait()

    host = make_host(announce=Hanging(), budget=0.05)

    outcome = await host.start()
    release.set()

    assert (outcome.kind, outcome.acknowledge) == ("started", False)
    assert "within 0.05 s" in str(outcome.publication.failures[0].error)


async def test_the_news_of_both_transitions_are_added_up(make_host: MakeHost) -> None:
    host = make_host(TWO_IN_A_ROW)
    await host.start()
    down = FailingAnnounce()
    host.publisher = WaitPublisher(host.adapter, announce=[host.announced, down])

    outcome = await host.handle(host.reply(0, "approve"))

    assert [e.type for e in outcome.publication] == ["wait.created", "wait.resumed"]
    assert [f.envelope.type for f in outcome.publication.failures] == ["wait.created", "wait.resumed"]
    assert not outcome.acknowledge


# ---------------------------------------------------------------- the config of a run


@pytest.mark.requirement("PROMISE-2", "PROMISE-4")
async def test_every_run_carries_the_ids_of_the_starts(make_host: MakeHost) -> None:
    host = make_host([[Ask("refund"), Do("notify")]])
    await host.start()
    host.world.failing.add("notify")
    with pytest.raises(RuntimeError, match="notify"):
        await host.handle(host.reply(0, "approve"))
    host.world.failing.clear()
    await host.handle(host.reply(0, "approve"))
    await host.start("s-2")
    await host.invoke({"order": 2})

    assert host.ran() == ["start", "resume", "continue", "start", "start"]
    assert [config["agent_wait_starts"] for config in host.adapter.configs] == [
        ["s-1"],
        ["s-1"],
        ["s-1"],
        ["s-1", "s-2"],
        ["s-1", "s-2"],
    ]


async def test_a_hosts_config_is_merged_mapping_by_mapping_and_wins(make_host: MakeHost) -> None:
    host = make_host()
    config = {
        "thread_id": T,
        "agent_wait_starts": ["mine"],
        "tags": {"agent": "other", "user": "ann"},
        "limit": 5,
    }

    await host.handle({"thread_id": T, "input": 1, "start_id": "s-1"}, config=config)
    await host.invoke(1, config={"limit": 6})

    assert host.adapter.configs == [
        {"thread_id": T, "agent_wait_starts": ["s-1"], "tags": {"agent": "other", "user": "ann"}, "limit": 5},
        {"thread_id": T, "agent_wait_starts": ["s-1"], "tags": {"agent": "stub"}, "limit": 6},
    ]
    assert config["tags"] == {"agent": "other", "user": "ann"}


async def test_a_config_cannot_move_a_run_to_another_thread(make_host: MakeHost) -> None:
    host = make_host()

    with pytest.raises(ValueError, match="another thread"):
        await host.invoke(1, config={"thread_id": "t-2"})

    assert host.world.threads == {}


async def test_a_config_that_is_no_mapping_is_refused_and_not_dropped(make_host: MakeHost) -> None:
    host = make_host()

    with pytest.raises(TypeError, match="a list cannot be merged into stub's dict"):
        await host.invoke(1, config=["x"])


async def test_an_adapter_whose_config_is_no_mapping_takes_none_of_the_hosts(
    make_host: MakeHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = make_host()
    monkeypatch.setattr(host.adapter, "config_for", lambda thread_id, starts: thread_id)

    with pytest.raises(TypeError, match="a dict cannot be merged into stub's str"):
        await host.invoke(1, config={"limit": 5})


# ---------------------------------------------------------------- invoke, pending, republish


async def test_invoke_runs_what_it_is_given_and_announces_the_difference(make_host: MakeHost) -> None:
    host = make_host()

    first = await host.invoke({"order": 1})
    second = await host.invoke({"order": 2})

    assert [(o.kind, o.thread_id, o.acknowledge) for o in (first, second)] == [("started", T, True)] * 2
    assert host.story() == ["created refund", "created refund", "resumed refund"]
    assert len({e.dedupe_key for e in host.announced.of("created")}) == 2


@pytest.mark.parametrize(
    "look",
    [lambda host, name: host.invoke(1, name), Host.pending, Host.republish],
    ids=["invoke", "pending", "republish"],
)
async def test_a_thread_has_a_name(make_host: MakeHost, look: Callable[[Host, Any], Awaitable[Any]]) -> None:
    host = make_host()

    with pytest.raises(ValueError, match="thread_id is empty"):
        await look(host, "")
    with pytest.raises(TypeError, match="thread_id is text, not int"):
        await look(host, 7)
    assert host.adapter.calls == []


async def test_pending_and_republish_only_look(make_host: MakeHost) -> None:
    host = make_host(FAN)
    await host.start()
    await host.handle(host.reply(0, "approve"))
    host.announced.clear()

    pending = await host.pending()
    publication = await host.republish()

    assert [q.question["function"] for q in pending if isinstance(q.question, dict)] == ["b"]
    assert [e.question_id for e in publication] == [q.id for q in pending]
    assert host.story() == ["created b"]
    assert host.ran() == ["start", "resume"]


async def test_looking_at_an_unknown_thread_finds_nothing(make_host: MakeHost) -> None:
    host = make_host()

    assert await host.pending() == []
    assert list(await host.republish()) == []
    assert host.world.threads == {}


async def test_envelopes_say_where_answers_go_and_when_they_were_made(make_host: MakeHost) -> None:
    host = make_host(reply_to=EntryPoint("sqs", "https://queue"))

    await host.start()

    assert host.announced.last.reply_to == {"kind": "sqs", "url": "https://queue"}
    assert host.announced.last.asked_at == "2025-10-09T08:53:20Z"


@pytest.mark.parametrize(
    ("options", "error"),
    [({"late_answers": "sometimes"}, ValueError), ({"budget": 0}, ValueError), ({"announce": 7}, TypeError)],
)
def test_a_publisher_checks_how_it_is_built(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        Host(ONE, is_async=False, **options)


# ---------------------------------------------------------------- the log


@pytest.mark.requirement("PROMISE-6")
async def test_one_line_for_each_message_that_ran_nothing_with_ids_alone(
    make_host: MakeHost, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "agent_wait")
    policy = WaitPolicy(timeout="PT1H")
    host = make_host([[Ask("refund", policy)]], late_answers="refuse")
    host.world.asked_at = host.clock.now()
    secret = "4111-1111"

    await host.start()
    await host.start()
    await host.start("s-2")
    await host.handle({**host.reply(0, secret), "fingerprint": "sha256:x"})
    await host.handle({"thread_id": "t-9", "question_id": "q\n9", "answer": secret})
    await host.handle({"thread_id": T, "question_id": 7, "answer": secret})
    host.clock.advance(3600)
    await host.handle(host.reply(0, secret))
    host.clock.advance(-1)
    await host.handle(host.reply(0, "approve"))
    await host.handle(host.reply(0, secret))

    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("INFO", "republished: thread 't-1', question None"),
        ("WARNING", "busy: thread 't-1', question None"),
        ("WARNING", "refused: thread 't-1', question 'r1.0#0'"),
        ("WARNING", "unknown_question: thread 't-9', question 'q\\n9'"),
        ("WARNING", "refused: thread 't-1', question None"),
        ("WARNING", "expired: thread 't-1', question 'r1.0#0'"),
        ("INFO", "already_answered: thread 't-1', question 'r1.0#0'"),
    ]
    assert secret not in caplog.text


# ---------------------------------------------------------------- several at once


def held_up(host: Host) -> tuple[threading.Event, threading.Event]:
    """The next run says that it is going on, and waits for leave to end."""
    running, go_on = threading.Event(), threading.Event()

    def during() -> None:
        if not running.is_set():
            running.set()
            go_on.wait()

    host.adapter.during = during
    return running, go_on


async def until_it_waits(other: "asyncio.Task[Any]") -> None:
    """Until the other call waits for the thread, or is through because it does not."""
    while len(_locks._queues.get(T, ())) < 2 and not other.done():  # noqa: ASYNC110  # a lock has no event
        await asyncio.sleep(0)


@pytest.mark.requirement("CONCURRENT-DOUBLE-APPROVE")
@pytest.mark.parametrize("first", ["sync", "async"])
@pytest.mark.parametrize("second", ["sync", "async"])
@pytest.mark.requirement("PROMISE-3")
async def test_of_two_answers_at_once_one_is_taken_whatever_publisher_they_come_through(
    first: str, second: str
) -> None:
    host = Host(ONE, is_async=False)
    await host.start()
    running, go_on = held_up(host)

    def deliver(way: str, value: str) -> Outcome:
        publisher = WaitPublisher(host.adapter, announce=host.announced)
        message = host.reply(0, value)
        return publisher.handle(message) if way == "sync" else asyncio.run(publisher.ahandle(message))

    approve = asyncio.create_task(asyncio.to_thread(deliver, first, "approve"))
    await asyncio.to_thread(running.wait)
    reject = asyncio.create_task(asyncio.to_thread(deliver, second, "reject"))
    await until_it_waits(reject)
    go_on.set()

    assert [(await approve).kind, (await reject).kind] == ["resumed", "already_answered"]
    assert host.world.bodies == [("t-1/r1.0/refund", "approve")]


@pytest.mark.requirement("VISIBILITY-DOUBLE-RUN")
async def test_a_start_that_comes_while_the_same_start_runs_waits_for_it() -> None:
    host = Host(ONE, is_async=True)
    running, go_on = held_up(host)

    first = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(host.start())))
    await asyncio.to_thread(running.wait)
    second = asyncio.create_task(host.start())
    await until_it_waits(second)
    go_on.set()

    assert [(await first).kind, (await second).kind] == ["started", "republished"]


async def test_what_a_thread_waits_on_can_be_seen_while_it_runs() -> None:
    host = Host(TWO_IN_A_ROW, is_async=False)
    await host.start()
    seen: list[list[Question]] = []
    host.adapter.during = lambda: seen.append(host.publisher.pending(T))

    await host.handle(host.reply(0, "approve"))

    assert seen == [[]]


async def test_a_run_that_is_cancelled_gives_the_thread_up() -> None:
    host = Host(ONE, is_async=True)
    entered = asyncio.Event()

    async def for_ever(value: Any, config: Mapping[str, Any]) -> None:
        entered.set()
        await asyncio.Event().wait()

    ainvoke, host.adapter.ainvoke = host.adapter.ainvoke, for_ever
    task = asyncio.create_task(host.start())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    host.adapter.ainvoke = ainvoke

    assert (await host.start()).kind == "started"
