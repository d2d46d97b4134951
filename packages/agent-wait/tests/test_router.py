"""The decision table and the order of steps, without an agent: states are given, steps are seen."""

from collections.abc import Iterable
from typing import Any

import pytest
from agent_wait import Failure, Publication, Question, WaitPolicy
from agent_wait._adapter import Taken, ThreadState
from agent_wait._decision import Begin, Given, GoOn, Resume, Rules
from agent_wait._envelope import envelope_for
from agent_wait._errors import QuestionClosed
from agent_wait._identity import ask_id
from agent_wait._message import Answer, Malformed, Start, parse_message
from agent_wait._outcome import Outcome
from agent_wait._router import Announce, Read, Step, converge, republish
from agent_wait._types import JSON, Transition

T = "t-1"
NOW = 1_000_000.0
APPROVE: JSON = {"action": "approve"}
UNKNOWN = ThreadState(known=False)
FINISHED = ThreadState(known=True, starts=("s-1",))


def named(name: str) -> str:
    return f"sha256:{name.encode().hex():0>64}"


def question(name: str = "q-1", **fields: Any) -> Question:
    given: dict[str, Any] = {"fingerprint": named(name), **fields}
    return Question(name, {"function": "refund"}, **given)


Q1, Q2, Q3 = question("q-1"), question("q-2"), question("q-3")
BARE = Question("q-1", "continue?")
# What a redelivered answer still tells of the first of them.
CLOSED = Question("q-1", None, fingerprint=named("q-1"))


def parked(*pending: Question, **fields: Any) -> ThreadState:
    given: dict[str, Any] = {"starts": ("s-1",), **fields}
    return ThreadState(known=True, pending=pending, **given)


def start(start_id: str | None = None) -> Start:
    return Start(thread_id=T, input={"order": 1}, start_id=start_id)


def answer(to: Question, value: JSON = APPROVE, **over: Any) -> Answer:
    """As made by copying `reply_with`."""
    reply_with = envelope_for(to, T).reply_with
    parsed = parse_message({**reply_with, "answer": value, **over})
    assert isinstance(parsed, Answer)
    return parsed


def without(message: Answer, *names: str) -> Answer:
    parsed = parse_message({key: value for key, value in message.message.items() if key not in names})
    assert not isinstance(parsed, Start | Malformed)
    return parsed


def resume(message: Answer, to: Question, taken: Taken | None = None) -> Resume:
    return Resume(answer=message, question=to, taken=taken, starts=("s-1",))


def created(*questions: Question) -> Announce:
    return Announce({ask_id(T, q): q for q in questions}, "created")


def resumed(*questions: Question) -> Announce:
    return Announce({ask_id(T, q): q for q in questions}, "resumed")


GO_ON = GoOn(starts=("s-1",))


def route(
    message: Start | Answer | Given,
    *states: ThreadState,
    run: Iterable[Any] = (),
    now: float = NOW,
    refuse_late: bool = False,
    refusals: dict[str, str] | None = None,
    down: Iterable[Transition] = (),
) -> tuple[Outcome, list[Step]]:
    """Take every step: each read gives the next state, each run the next of `run`, or 1, 2, 3..."""
    rules = Rules(
        now=lambda: now,
        refuse_late=refuse_late,
        refusal=lambda question, answer: (refusals or {}).get(str(answer)),
    )
    replies = iter(states)
    results = iter([*run, *range(1, 9)])
    steps: list[Step] = []
    router = converge(message, rules)
    step = next(router)
    while True:
        steps.append(step)
        try:
            match step:
                case Read():
                    step = router.send(next(replies))
                case Announce():
                    envelopes = [envelope_for(q, T, transition=step.transition) for q in step.asks.values()]
                    fails = [Failure("x", e, OSError()) for e in envelopes if step.transition in down]
                    step = router.send(Publication(envelopes, fails))
                case _:
                    result = next(results)
                    step = router.throw(result) if isinstance(result, Exception) else router.send(result)
        except StopIteration as done:
            assert next(replies, None) is None, "a state was not read"
            return done.value, steps


def said(outcome: Outcome) -> tuple[str, bool]:
    return outcome.kind, outcome.acknowledge


# ---------------------------------------------------------------- starts


def test_a_start_of_a_new_thread_runs_and_announces_what_it_asks() -> None:
    outcome, steps = route(start("s-1"), UNKNOWN, parked(Q1), run=["result"])

    assert steps == [Read(), Begin(value={"order": 1}, starts=("s-1",)), Read(), created(Q1)]
    assert said(outcome) == ("started", True)
    assert (outcome.thread_id, outcome.question_id, outcome.result) == (T, None, "result")
    assert [envelope.question_id for envelope in outcome.publication] == ["q-1"]


def test_a_run_that_asks_nothing_announces_nothing() -> None:
    outcome, steps = route(start("s-1"), UNKNOWN, FINISHED)

    assert steps == [Read(), Begin(value={"order": 1}, starts=("s-1",)), Read()]
    assert said(outcome) == ("started", True)


def test_a_second_start_of_a_finished_thread_runs_beside_the_known_ids() -> None:
    _, steps = route(start("s-2"), FINISHED, FINISHED)

    assert steps[1] == Begin(value={"order": 1}, starts=("s-1", "s-2"))


@pytest.mark.requirement("PROMISE-2")
def test_the_last_sixteen_starts_are_known() -> None:
    known = tuple(f"s-{n}" for n in range(16))

    _, steps = route(start("new"), ThreadState(known=True, starts=known), FINISHED)

    assert steps[1] == Begin(value={"order": 1}, starts=(*known[1:], "new"))


def test_an_older_start_is_known_as_well() -> None:
    outcome, steps = route(start("s-1"), ThreadState(known=True, starts=("s-1", "s-2")))

    assert steps == [Read()]
    assert outcome.kind == "republished"


def test_a_start_without_an_id_keeps_the_known_ids() -> None:
    outcome, steps = route(start(), FINISHED, FINISHED)

    assert steps[1] == Begin(value={"order": 1}, starts=("s-1",))
    assert outcome.kind == "started"


@pytest.mark.requirement("REPUBLISH-BY-INVOKE-NONE")
@pytest.mark.requirement("PROMISE-1", "PROMISE-2")
def test_a_start_that_comes_again_while_parked_announces_everything_and_runs_nothing() -> None:
    outcome, steps = route(start("s-1"), parked(Q1, Q2))

    assert steps == [Read(), created(Q1, Q2)]
    assert said(outcome) == ("republished", True)


@pytest.mark.requirement("PROMISE-2", "PROMISE-4")
def test_a_start_that_comes_again_after_the_end_runs_nothing() -> None:
    outcome, steps = route(start("s-1"), FINISHED)

    assert steps == [Read()]
    assert said(outcome) == ("republished", True)


@pytest.mark.requirement("START-WHILE-PARKED")
def test_another_start_of_a_parked_thread_is_busy() -> None:
    outcome, steps = route(start("s-2"), parked(Q1))

    assert steps == [Read(), created(Q1)]
    assert said(outcome) == ("busy", True)


def test_another_start_is_busy_where_only_kept_answers_wait() -> None:
    outcome, steps = route(start("s-2"), parked(kept=(Q1,)))

    assert steps == [Read()]
    assert said(outcome) == ("busy", True)


def test_a_start_without_an_id_on_a_parked_thread_may_be_the_one_that_parked_it() -> None:
    outcome, steps = route(start(), parked(Q1))

    assert steps == [Read(), created(Q1)]
    assert said(outcome) == ("republished", True)


@pytest.mark.parametrize("start_id", ["s-2", None])
def test_a_thread_held_at_a_breakpoint_is_busy(start_id: str | None) -> None:
    outcome, steps = route(start(start_id), ThreadState(known=True, held=True, starts=("s-1",)))

    assert steps == [Read()]
    assert said(outcome) == ("busy", True)


def test_a_start_that_comes_again_while_held_has_done_its_work() -> None:
    outcome, steps = route(start("s-1"), ThreadState(known=True, held=True, unfinished=True, starts=("s-1",)))

    assert steps == [Read()]
    assert said(outcome) == ("republished", True)


# ---------------------------------------------------------------- unfinished work


@pytest.mark.parametrize("start_id", ["s-1", None])
@pytest.mark.requirement("PROMISE-1", "PROMISE-5")
def test_a_run_that_died_is_taken_up_by_its_start(start_id: str | None) -> None:
    outcome, steps = route(start(start_id), parked(unfinished=True), parked(Q1), run=["result"])

    assert steps == [Read(), GO_ON, Read(), created(Q1)]
    assert said(outcome) == ("continued", True)
    assert outcome.result == "result"


@pytest.mark.parametrize("start_id", ["s-1", None])
@pytest.mark.requirement("PROMISE-1")
def test_it_is_taken_up_also_beside_an_open_question(start_id: str | None) -> None:
    outcome, steps = route(start(start_id), parked(Q1, unfinished=True), parked(Q1, Q2))

    assert steps == [Read(), GO_ON, Read(), created(Q1, Q2)]
    assert said(outcome) == ("continued", True)


def test_a_start_without_an_id_that_was_continued_to_its_end_does_not_run_again() -> None:
    outcome, steps = route(start(), parked(unfinished=True), FINISHED)

    assert steps == [Read(), GO_ON, Read()]
    assert outcome.kind == "continued"


def test_a_new_start_replaces_work_that_was_given_up() -> None:
    outcome, steps = route(start("s-2"), parked(unfinished=True), parked(Q1))

    assert steps == [Read(), Begin(value={"order": 1}, starts=("s-1", "s-2")), Read(), created(Q1)]
    assert outcome.kind == "started"


def test_a_new_start_does_not_touch_dead_work_beside_an_open_question() -> None:
    outcome, steps = route(start("s-2"), parked(Q1, unfinished=True))

    assert steps == [Read(), created(Q1)]
    assert outcome.kind == "busy"


def test_it_is_continued_once() -> None:
    outcome, steps = route(start("s-1"), parked(unfinished=True), parked(unfinished=True))

    assert steps == [Read(), GO_ON, Read()]
    assert outcome.kind == "continued"


def test_an_answer_to_an_open_question_resumes_at_once_and_tells_all_that_the_dead_run_left() -> None:
    message = answer(Q1)

    outcome, steps = route(message, parked(Q1, Q2, unfinished=True), parked(Q2, Q3))

    assert steps == [Read(), resume(message, Q1), Read(), created(Q2, Q3), resumed(Q1)]
    assert outcome.kind == "resumed"


def test_an_answer_that_resumes_nothing_takes_the_dead_work_up_first() -> None:
    outcome, steps = route(answer(Q1), parked(Q2, unfinished=True), parked(Q2))

    assert steps == [Read(), GO_ON, Read(), created(Q2), resumed(CLOSED)]
    assert said(outcome) == ("continued", True)


def test_an_answer_may_be_applied_after_the_dead_work_was_taken_up() -> None:
    message = answer(Q1)

    outcome, steps = route(
        message, parked(unfinished=True), parked(Q1, Q2), parked(Q2), run=["first", "second"]
    )

    assert steps == [Read(), GO_ON, Read(), resume(message, Q1), Read(), created(Q2), resumed(Q1)]
    assert (outcome.kind, outcome.result) == ("resumed", "second")


def test_a_refused_answer_is_refused_after_the_dead_work_was_taken_up() -> None:
    outcome, steps = route(answer(Q1, fingerprint="sha256:x"), parked(Q1, unfinished=True), parked(Q1))

    assert steps == [Read(), GO_ON, Read(), created(Q1)]
    assert said(outcome) == ("refused", True)


def test_work_held_at_a_breakpoint_is_not_taken_up() -> None:
    outcome, steps = route(answer(Q1), parked(held=True, unfinished=True))

    assert steps == [Read(), resumed(CLOSED)]
    assert said(outcome) == ("already_answered", True)


def test_an_open_question_is_answered_also_where_other_work_seems_held() -> None:
    message = answer(Q1)

    outcome, steps = route(message, parked(Q1, held=True), FINISHED)

    assert steps == [Read(), resume(message, Q1), Read(), resumed(Q1)]
    assert outcome.kind == "resumed"


# ---------------------------------------------------------------- answers


@pytest.mark.requirement("UNKNOWN-THREAD-STARTS-A-RUN")
def test_an_answer_to_a_thread_that_never_ran_starts_nothing() -> None:
    outcome, steps = route(answer(Q1), UNKNOWN)

    assert steps == [Read()]
    assert said(outcome) == ("unknown_question", True)
    assert outcome.question_id == "q-1"


def test_an_answer_to_an_open_question_resumes_and_announces_the_difference() -> None:
    message = answer(Q1)

    outcome, steps = route(message, parked(Q1, Q2), parked(Q2, Q3), run=["result"])

    assert steps == [Read(), resume(message, Q1), Read(), created(Q3), resumed(Q1)]
    assert said(outcome) == ("resumed", True)
    assert outcome.result == "result"
    assert [(e.type, e.question_id) for e in outcome.publication] == [
        ("wait.created", "q-3"),
        ("wait.resumed", "q-1"),
    ]


def test_an_answer_needs_no_ask_id() -> None:
    message = without(answer(Q1), "ask_id")

    outcome, steps = route(message, parked(Q1), FINISHED)

    assert steps == [Read(), resume(message, Q1), Read(), resumed(Q1)]
    assert outcome.kind == "resumed"


def test_a_question_asked_again_under_its_id_is_another_ask() -> None:
    again = question(attempt=2, error="no number")
    message = answer(Q1)

    outcome, steps = route(message, parked(Q1), parked(again))

    assert steps == [Read(), resume(message, Q1), Read(), created(again), resumed(Q1)]
    assert outcome.kind == "resumed"


@pytest.mark.requirement("STALE-Q1-APPROVES-Q2")
@pytest.mark.requirement("SEQUENTIAL-DOUBLE-ANSWER")
@pytest.mark.requirement("PROMISE-1", "PROMISE-7")
def test_an_answer_that_comes_again_announces_all_and_what_it_closed() -> None:
    message = answer(Q1)

    outcome, steps = route(message, parked(Q2))

    assert steps == [Read(), created(Q2), resumed(CLOSED)]
    assert said(outcome) == ("already_answered", True)


@pytest.mark.requirement("PROMISE-7")
def test_a_bare_answer_that_comes_again_closes_the_ask_that_it_carries() -> None:
    message = answer(BARE)
    closed = Announce({ask_id(T, BARE): Question("q-1", None)}, "resumed")

    outcome, steps = route(message, FINISHED)

    assert steps == [Read(), closed]
    assert said(outcome) == ("already_answered", True)


def test_an_answer_that_does_not_name_its_ask_closes_nothing_when_it_comes_again() -> None:
    _, steps = route(without(answer(Q1), "ask_id"), parked(Q2))

    assert steps == [Read(), created(Q2)]


@pytest.mark.requirement("PROMISE-7")
def test_an_answer_to_an_earlier_attempt_closes_that_attempt() -> None:
    again = question(attempt=3)

    outcome, steps = route(answer(question(attempt=2)), parked(again))

    closed = Question("q-1", None, fingerprint=named("q-1"), attempt=2)
    assert steps == [Read(), created(again), resumed(closed)]
    assert outcome.kind == "already_answered"


@pytest.mark.parametrize(
    "other",
    [
        question(fingerprint=named("other")),
        question(fingerprint=named("other"), attempt=9),
        Question("q-1", "bare"),
    ],
)
def test_nothing_is_closed_while_its_id_is_open_under_another_question(other: Question) -> None:
    outcome, steps = route(answer(Q1), parked(other))

    assert steps == [Read(), created(other)]
    assert outcome.kind == "already_answered"


def test_nothing_is_closed_for_an_attempt_that_is_still_to_come() -> None:
    outcome, steps = route(answer(question(attempt=2)), parked(Q1))

    assert steps == [Read(), created(Q1)]
    assert outcome.kind == "already_answered"


def test_no_bare_ask_is_closed_while_its_id_is_open() -> None:
    message = answer(Question("q-1", "first?"))

    _, steps = route(message, parked(BARE))

    assert steps == [Read(), created(BARE)]


def test_an_answer_to_another_thread_closes_nothing_here() -> None:
    foreign = envelope_for(Q1, "t-2").reply_with

    outcome, steps = route(answer(Q1, ask_id=foreign["ask_id"]), FINISHED)

    assert steps == [Read()]
    assert said(outcome) == ("already_answered", True)


def test_the_name_of_a_late_attempt_is_still_known() -> None:
    closed = Question("q-1", None, fingerprint=named("q-1"), attempt=256)

    _, steps = route(answer(question(attempt=256)), FINISHED)

    assert steps == [Read(), resumed(closed)]


@pytest.mark.requirement("PROMISE-3")
def test_an_answer_to_another_ask_of_an_open_question_runs_nothing() -> None:
    outcome, _ = route(answer(Q1), parked(question(attempt=2)))

    assert said(outcome) == ("already_answered", True)


@pytest.mark.requirement("TOOL-CALL-ID-REPEATS")
@pytest.mark.parametrize("fingerprint", ["sha256:other", None])
@pytest.mark.requirement("PROMISE-3")
def test_an_id_alone_names_nothing(fingerprint: str | None) -> None:
    outcome, steps = route(answer(Q1, fingerprint=fingerprint), parked(Q1))

    assert steps == [Read(), created(Q1)]
    assert said(outcome) == ("refused", True)
    assert outcome.detail == "the fingerprint is not the open question's: copy reply_with"


def test_a_fingerprint_does_not_fit_a_bare_question() -> None:
    outcome, steps = route(answer(BARE, fingerprint=named("q-1")), parked(BARE))

    assert steps == [Read(), created(BARE)]
    assert said(outcome) == ("refused", True)


@pytest.mark.requirement("PROMISE-5")
def test_an_answer_that_would_wedge_the_framework_is_refused() -> None:
    outcome, steps = route(answer(Q1, "bad"), parked(Q1), refusals={"bad": "two decisions are needed"})

    assert steps == [Read(), created(Q1)]
    assert said(outcome) == ("refused", True)
    assert outcome.detail == "two decisions are needed"


@pytest.mark.requirement("CLAIM-THEN-CRASH")
def test_the_answer_that_a_failed_task_has_taken_continues_it() -> None:
    message = answer(Q1)
    before = parked(Q1, Q2, taken={"q-1": Taken(answer=APPROVE, resume_id="q-1+")})

    outcome, steps = route(message, before, parked(Q2))

    assert steps == [Read(), GO_ON, Read(), created(Q2), resumed(Q1)]
    assert said(outcome) == ("continued", True)


def test_it_is_continued_once_also_when_another_task_is_dead() -> None:
    before = parked(Q1, unfinished=True, taken={"q-1": Taken(answer=APPROVE, resume_id="q-1+")})

    outcome, steps = route(answer(Q1), before, FINISHED)

    assert steps == [Read(), GO_ON, Read(), resumed(Q1)]
    assert outcome.kind == "continued"


@pytest.mark.requirement("BAD-ANSWER-POISONS-THREAD")
@pytest.mark.parametrize(("one", "other"), [(APPROVE, {"action": "reject"}), (1, True), (0, False), ("1", 1)])
@pytest.mark.requirement("PROMISE-5")
def test_a_newer_answer_than_the_one_that_failed_counts(one: JSON, other: JSON) -> None:
    taken = Taken(answer=one, resume_id="q-1+")
    message = answer(Q1, other)

    outcome, steps = route(message, parked(Q1, taken={"q-1": taken}), FINISHED)

    assert steps == [Read(), resume(message, Q1, taken), Read(), resumed(Q1)]
    assert outcome.kind == "resumed"


def test_a_bare_interrupt_takes_one_answer_only() -> None:
    before = parked(BARE, taken={"q-1": Taken(answer="yes", resume_id="q-1")})

    same, same_steps = route(answer(BARE, "yes"), before, FINISHED)
    outcome, steps = route(answer(BARE, "no"), before)

    assert (same.kind, same_steps[1]) == ("continued", GO_ON)
    assert steps == [Read(), created(BARE)]
    assert said(outcome) == ("refused", True)


def test_an_answer_that_waits_for_others_is_kept() -> None:
    message = answer(Q1)

    outcome, steps = route(message, parked(Q1, Q2), parked(Q2, kept=(Q1,)))

    assert steps == [Read(), resume(message, Q1), Read()]
    assert said(outcome) == ("kept", True)
    assert outcome.detail == "the framework waits for 1 more"


@pytest.mark.requirement("PARTIAL-APPROVALS")
def test_the_last_answer_closes_what_was_kept_as_well() -> None:
    message = answer(Q2)

    outcome, steps = route(message, parked(Q2, kept=(Q1,)), FINISHED)

    assert steps == [Read(), resume(message, Q2), Read(), resumed(Q2, Q1)]
    assert outcome.kind == "resumed"


def test_the_answer_that_completed_the_kept_ones_closes_them_again_when_it_comes_again() -> None:
    outcome, steps = route(answer(Q2), parked(closed=(Q1, Q2)))

    assert steps == [Read(), resumed(Q1, Q2)]
    assert outcome.kind == "already_answered"


def test_an_older_answer_closes_nothing_of_what_the_last_run_closed() -> None:
    _, steps = route(answer(Q1), parked(closed=(Q2, Q3)))

    assert steps == [Read(), resumed(CLOSED)]


def test_what_was_asked_again_at_once_is_closed_as_it_was_and_open_as_it_is() -> None:
    again = question("q-2", attempt=2)

    _, steps = route(answer(Q2), parked(again, closed=(Q1, Q2)))

    assert steps == [Read(), created(again), resumed(Q1, Q2)]


def test_nothing_that_is_open_is_closed_by_what_the_last_run_closed() -> None:
    _, steps = route(answer(Q2), parked(Q1, closed=(Q1, Q2)))

    assert steps == [Read(), created(Q1), resumed(Q2)]


def test_a_second_answer_to_a_kept_question_changes_nothing_and_closes_nothing() -> None:
    outcome, steps = route(answer(Q1, {"action": "reject"}), parked(Q2, kept=(Q1,)))

    assert steps == [Read(), created(Q2)]
    assert said(outcome) == ("already_answered", True)


@pytest.mark.requirement("PROMISE-3")
def test_a_question_that_another_process_closed_is_already_answered() -> None:
    message = answer(Q1)

    outcome, steps = route(message, parked(Q1, Q2), parked(Q2), run=[QuestionClosed()])

    assert steps == [Read(), resume(message, Q1), Read(), created(Q2), resumed(Q1)]
    assert said(outcome) == ("already_answered", True)


def test_only_the_answers_own_question_is_closed_when_another_process_was_first() -> None:
    _, steps = route(answer(Q1), parked(Q1, Q2), parked(), run=[QuestionClosed()])

    assert steps[-1] == resumed(Q1)


# ---------------------------------------------------------------- deadlines

HOUR = WaitPolicy(timeout="PT1H", default={"action": "reject"})


def due(**fields: Any) -> Question:
    given: dict[str, Any] = {"policy": HOUR, "asked_at": NOW - 3600, **fields}
    return question(**given)


@pytest.mark.requirement("LATE-ANSWER-STILL-WORKS")
def test_an_answer_at_the_deadline_is_late() -> None:
    outcome, steps = route(answer(due()), parked(due()), refuse_late=True)

    assert steps == [Read(), created(due())]
    assert said(outcome) == ("expired", True)


def test_an_answer_just_before_the_deadline_is_in_time() -> None:
    outcome, _ = route(answer(due()), parked(due()), FINISHED, refuse_late=True, now=NOW - 0.001)

    assert outcome.kind == "resumed"


def test_late_answers_are_taken_unless_they_are_to_be_refused() -> None:
    outcome, _ = route(answer(due()), parked(due()), FINISHED)

    assert outcome.kind == "resumed"


def test_the_declared_default_is_always_taken() -> None:
    outcome, _ = route(answer(due(), {"action": "reject"}), parked(due()), FINISHED, refuse_late=True)

    assert outcome.kind == "resumed"


def test_what_only_looks_like_the_default_is_late() -> None:
    number = due(policy=WaitPolicy(timeout="PT1H", default=1))

    outcome, _ = route(answer(number, True), parked(number), refuse_late=True)

    assert outcome.kind == "expired"


def test_without_a_default_a_null_is_late_like_any_answer() -> None:
    undeclared = due(policy=WaitPolicy(timeout="PT1H"))

    outcome, _ = route(answer(undeclared, None), parked(undeclared), refuse_late=True)

    assert outcome.kind == "expired"


def test_without_a_timeout_nothing_is_late() -> None:
    outcome, _ = route(answer(Q1), parked(Q1), FINISHED, refuse_late=True, now=1e12)

    assert outcome.kind == "resumed"


@pytest.mark.requirement("MALFORMED-EXPIRY-FAILS-OPEN")
def test_a_deadline_that_cannot_be_told_does_not_fail_open() -> None:
    undated = due(asked_at=None)

    outcome, _ = route(answer(undated), parked(undated), refuse_late=True)
    by_default, _ = route(answer(undated, {"action": "reject"}), parked(undated), FINISHED, refuse_late=True)

    assert said(outcome) == ("refused", True)
    assert by_default.kind == "resumed"


def test_an_answer_taken_in_time_is_carried_out_late() -> None:
    before = parked(due(), taken={"q-1": Taken(answer=APPROVE, resume_id="q-1+")})

    outcome, steps = route(answer(due()), before, FINISHED, refuse_late=True)

    assert steps == [Read(), GO_ON, Read(), resumed(due())]
    assert outcome.kind == "continued"


# ---------------------------------------------------------------- announcing and acknowledging


@pytest.mark.parametrize("down", ["created", "resumed"])
@pytest.mark.requirement("PROMISE-5", "PROMISE-6")
def test_nothing_is_acknowledged_while_something_could_not_be_announced(down: Transition) -> None:
    outcome, steps = route(answer(Q1), parked(Q1), parked(Q2), down=[down])

    assert steps[-2:] == [created(Q2), resumed(Q1)]
    assert said(outcome) == ("resumed", False)
    assert [failure.envelope.type for failure in outcome.publication.failures] == [f"wait.{down}"]


@pytest.mark.parametrize(
    "message", [start("s-1"), start("s-2"), start(), answer(Q2), answer(Q1, fingerprint="sha256:x")]
)
@pytest.mark.requirement("PROMISE-1", "PROMISE-5")
def test_no_kind_of_message_is_acknowledged_past_an_unannounced_question(message: Start | Answer) -> None:
    outcome, _ = route(message, parked(Q1), down=["created"])

    assert not outcome.acknowledge


@pytest.mark.requirement("PROMISE-1")
def test_what_the_run_raises_comes_out_after_what_is_open_was_announced() -> None:
    steps: list[Step] = []
    router = converge(start("s-1"), Rules(now=lambda: NOW, refuse_late=False, refusal=lambda q, a: None))
    steps.append(next(router))
    steps.append(router.send(UNKNOWN))
    steps.append(router.throw(ZeroDivisionError()))
    steps.append(router.send(parked(Q1, unfinished=True)))
    with pytest.raises(ZeroDivisionError):
        router.send(Publication())

    assert steps == [Read(), Begin(value={"order": 1}, starts=("s-1",)), Read(), created(Q1)]


def test_a_thread_that_cannot_be_read_after_a_failed_run_does_not_hide_the_failure() -> None:
    router = converge(start("s-1"), Rules(now=lambda: NOW, refuse_late=False, refusal=lambda q, a: None))
    next(router)
    router.send(UNKNOWN)
    router.throw(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        router.throw(OSError())


def test_what_is_given_to_run_runs_whatever_the_thread_is() -> None:
    given = Given(thread_id=T, value="anything")

    outcome, steps = route(given, parked(Q1, unfinished=True), parked(Q2))

    assert steps == [Read(), Begin(value="anything", starts=("s-1",)), Read(), created(Q2), resumed(Q1)]
    assert said(outcome) == ("started", True)


def test_what_is_given_on_a_sound_thread_announces_the_difference() -> None:
    _, steps = route(Given(thread_id=T, value=1), parked(Q1), parked(Q1, Q2))

    assert steps[-1] == created(Q2)


def test_republishing_reads_and_announces() -> None:
    router = republish(T)

    assert next(router) == Read()
    assert router.send(parked(Q1, Q2, kept=(Q3,))) == created(Q1, Q2)
    with pytest.raises(StopIteration):
        router.send(Publication())


def test_republishing_where_nothing_is_open_announces_nothing() -> None:
    router = republish(T)
    next(router)
    with pytest.raises(StopIteration) as done:
        router.send(FINISHED)

    assert list(done.value.value) == []
