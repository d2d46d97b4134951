"""What every framework adapter owes, as tests."""

# ruff: noqa: S101  # these are assertions, rewritten by pytest: see `__init__.py`

import itertools
import json
from collections.abc import Callable
from typing import Any

from agent_wait import InMemoryAnnounce, WaitEnvelope
from agent_wait.testing._framework_suite import FrameworkSuite, both_ways
from agent_wait.testing._handle import Script, ToolCall
from agent_wait.testing._rehearsal import APPROVE, REJECT, Bodies, Died, reply_to

_ODD_ANSWERS: tuple[Any, ...] = (
    None,
    False,
    0,
    "",
    {},
    [],
    "approve",
    True,
    {"action": "APPROVE"},
    {"action": ["approve"]},
    {"answer": {"action": "approve"}},
    ["approve"],
    "é😊\u2028",
)
_UNUSABLE: tuple[tuple[Any, str], ...] = (
    ({"action": "approve", "args": {"amount": "much"}}, "amount"),
    ({"action": "approve", "args": {"amount": True}}, "amount"),
    ({"action": "approve", "args": {"price": 1}}, "price"),
    ({"action": "approve", "args": [1]}, "args"),
    ('{"action": "approve"}', "JSON"),
)
_NO_FINGERPRINT = f"sha256:{0:064x}"
_PRIVATE = "do-not-publish-me"


@both_ways
class FrameworkContract(FrameworkSuite):
    """The rules of `Framework`, on a real agent with a scripted model; for pytest or any runner alike.

    Subclass it in a test module, name the framework and write `build`. Each rule is two tests, `test_...` for
    plain functions and `test_..._when_awaited` for `async` ones. What the framework cannot do is declared,
    never skipped or rewritten:

        class TestMine(FrameworkContract):
            framework = MyFramework()

            def build(self, functions, script, store):
                return MyHandle(functions, script, store)

            cannot = {"test_equal_calls_in_one_turn_are_questions_of_their_own": "calls have no ids"}
    """

    def test_a_call_parks_with_what_it_was_called_with_and_runs_nothing(self) -> None:
        bodies, thread = self._agent([[_call(0)], "done"])
        [asked] = thread.start()
        assert asked.question == {
            "function": "refund",
            "args": {"order_id": "o-0", "amount": 0, "note": "none"},
        }
        assert asked.source == {"function": "refund", "framework": self.framework.name}
        assert asked.allowed_actions == ("approve", "reject")
        assert (asked.attempt, asked.error) == (1, None)
        assert asked.fingerprint is not None
        assert bodies.ran == []

    def test_an_approval_runs_the_body_once_with_what_was_shown(self) -> None:
        bodies, thread = self._agent([[_call(0)], "done"])
        [asked] = thread.start()
        assert thread.answer(asked, APPROVE, answered_by="mia") == []
        [body] = bodies.ran
        assert body.args == {"order_id": "o-0", "amount": 0, "note": "none"}
        assert (body.asked, body.answer, body.answered_by) == (True, APPROVE, "mia")
        assert (body.question_id, body.thread_id) == (asked.question_id, thread.handle.thread_id)
        assert thread.told("call_0") == "refunded 0 of o-0"

    def test_an_edit_replaces_what_it_names_and_leaves_the_rest(self) -> None:
        bodies, thread = self._agent([[_call(0)], "done"])
        [asked] = thread.start()
        assert thread.answer(asked, {**APPROVE, "args": {"amount": 7}}) == []
        assert [body.args for body in bodies.ran] == [{"order_id": "o-0", "amount": 7, "note": "none"}]

    def test_a_rejection_runs_nothing_and_is_told_to_the_model(self) -> None:
        bodies, thread = self._agent([[_call(0)], "done"])
        [asked] = thread.start()
        assert thread.answer(asked, REJECT) == []
        assert bodies.ran == []
        assert thread.told("call_0") == REJECT

    def test_whatever_is_no_approval_runs_nothing_and_is_told_as_it_was_sent(self) -> None:
        for odd in _ODD_ANSWERS:
            bodies, thread = self._agent([[_call(0)], "done"])
            [asked] = thread.start()
            assert thread.answer(asked, odd) == [], f"{odd!r} leaves the question open"
            assert bodies.ran == [], f"{odd!r} runs the body"
            assert json.dumps(thread.told("call_0")) == json.dumps(odd)

    def test_an_approval_that_cannot_be_applied_is_asked_again_until_one_can(self) -> None:
        bodies, thread = self._agent([[_call(0)], "done"])
        [asked] = thread.start()
        first = asked
        for attempt, (unusable, why) in enumerate(_UNUSABLE, start=2):
            [asked] = thread.answer(asked, unusable) or []
            assert (asked.attempt, asked.fingerprint) == (attempt, first.fingerprint)
            assert why in (asked.error or "")
            assert asked.question == first.question
            thread.reopen()
        assert bodies.ran == []
        assert len(thread.asks) == len(_UNUSABLE) + 1
        assert thread.answer(asked, {**APPROVE, "args": {"amount": 3}}) == []
        assert bodies.args("amount") == [3]

    def test_an_answer_to_the_ask_before_is_none_to_the_one_that_is_open(self) -> None:
        bodies, thread = self._agent([[_call(0)], "done"])
        [first] = thread.start()
        [second] = thread.answer(first, _UNUSABLE[0][0]) or []
        assert not thread.answer(first, APPROVE), "it went on"
        assert bodies.ran == []
        assert thread.answer(second, REJECT) == []
        assert bodies.ran == []

    def test_parallel_questions_each_get_their_own_answer_whatever_order_they_come_in(self) -> None:
        bodies, thread = self._agent([[_call(0), _call(1), _call(2)], "done"])
        edits: dict[str, Any] = {"o-1": {"amount": 10}, "o-2": {"amount": 20}}
        answers = {order: {**APPROVE, "args": args} for order, args in edits.items()} | {"o-0": REJECT}
        thread.settle(thread.start(), lambda asked: answers[_order(asked)])
        assert bodies.effects("order_id", "amount") == [("o-1", 10), ("o-2", 20)]
        assert thread.told("call_0") == REJECT
        assert thread.told("call_1") == "refunded 10 of o-1"
        assert thread.told("call_2") == "refunded 20 of o-2"

    def test_parallel_questions_are_all_asked_at_once(self) -> None:
        _, thread = self._agent([[_call(0), _call(1), _call(2)], "done"])
        assert sorted(map(_order, thread.start())) == ["o-0", "o-1", "o-2"]

    def test_each_approved_body_runs_once(self) -> None:
        bodies, thread = self._agent([[_call(0), _call(1), _call(2)], "done"])
        thread.settle(thread.start(), lambda _: APPROVE)
        assert bodies.args("order_id") == ["o-0", "o-1", "o-2"]

    def test_parallel_questions_can_be_answered_all_at_once(self) -> None:
        bodies, thread = self._agent([[_call(0), _call(1), _call(2)], "done"])
        notes = [
            reply_to(asked, {**APPROVE, "args": {"note": f"for {_order(asked)}"}}) for asked in thread.start()
        ]
        assert thread.send(*reversed(notes)) == []
        assert bodies.effects("order_id", "note") == [(f"o-{n}", f"for o-{n}") for n in range(3)]

    def test_equal_calls_in_one_turn_are_questions_of_their_own(self) -> None:
        bodies, thread = self._agent([[_call(0), _call(0, id="call_1"), _call(0, id="call_2")], "done"])
        amounts = itertools.count()
        thread.settle(thread.start(), lambda _: {**APPROVE, "args": {"amount": next(amounts)}})
        assert len(thread.asks) == 3
        assert bodies.effects("amount") == [(0,), (1,), (2,)]
        assert len({thread.told(f"call_{number}") for number in range(3)}) == 3

    def test_a_part_of_the_answers_is_kept_over_restarts_and_asks_nobody_twice(self) -> None:
        bodies, thread = self._agent([[_call(0), _call(1)], "done"])
        answers = {"o-0": REJECT, "o-1": APPROVE}
        thread.settle(thread.start(), lambda asked: answers[_order(asked)], reopening=True)
        assert len(thread.asks) == 2
        assert bodies.effects("order_id") == [("o-1",)]
        assert (thread.told("call_0"), thread.told("call_1")) == (REJECT, "refunded 1 of o-1")

    def test_an_answer_that_comes_again_or_is_contradicted_changes_nothing(self) -> None:
        bodies, thread = self._agent([[_call(0), _call(1)], "done"])
        others = (APPROVE, REJECT, {**APPROVE, "args": {"amount": 9}})
        first, *others_asked = thread.start()
        still_open = thread.answer(first, APPROVE)
        for again in others:
            assert thread.answer(first, again) is None
        thread.settle(others_asked if still_open is None else still_open, lambda _: REJECT)
        assert bodies.effects("order_id") == [(_order(first),)]
        ran = len(bodies.ran)
        for again, asked in itertools.product(others, thread.published):
            assert thread.answer(asked, again) is None
        assert len(bodies.ran) == ran

    def test_an_answer_to_an_earlier_turn_serves_no_equal_call_of_a_later_one(self) -> None:
        bodies, thread = self._agent([[_call(0)], [_call(0)], "done"])
        [first] = thread.start()
        [second] = thread.answer(first, APPROVE) or []
        assert len(thread.asks) == 2
        thread.reopen()
        assert thread.answer(first, APPROVE) is None
        assert thread.answer(second, APPROVE, ask_id=first.ask_id) is None
        assert thread.answer(second, APPROVE, fingerprint=_NO_FINGERPRINT) is None
        assert len(bodies.ran) == 1
        assert thread.answer(second, APPROVE) == []
        assert len({body.key for body in bodies.ran}) == len(bodies.ran) == 2

    def test_an_answer_to_another_threads_equal_question_runs_nothing(self) -> None:
        bodies, store = Bodies(), self.new_store()
        threads = [self._thread([self._refund_of(bodies)], [[_call(0)], "done"], store) for _ in range(2)]
        [mine], [foreign] = (thread.start() for thread in threads)
        assert mine.dedupe_key != foreign.dedupe_key
        here = threads[0].handle.thread_id
        assert threads[0].answer(foreign, APPROVE, thread_id=here) is None
        assert threads[0].answer(mine, APPROVE, ask_id=foreign.ask_id) is None
        assert threads[0].answer(mine, APPROVE, fingerprint=_NO_FINGERPRINT) is None
        assert threads[0].answer(mine, APPROVE, question_id="no-such-question", ask_id=None) is None
        assert bodies.ran == []
        assert threads[0].answer(mine, APPROVE) == []
        assert threads[1].answer(foreign, APPROVE) == []
        assert len({body.key for body in bodies.ran}) == len(bodies.ran) == 2

    def test_a_question_is_answered_in_another_process_than_it_was_asked_in(self) -> None:
        bodies, thread = self._agent([[_call(0)], [_call(1)], "done"])
        [first] = thread.start()
        thread.reopen()
        [second] = thread.answer(first, APPROVE) or []
        thread.reopen()
        assert thread.answer(second, {**APPROVE, "args": {"amount": 9}}) == []
        thread.reopen()
        assert bodies.args("amount") == [0, 9]
        assert thread.told("call_1") == "refunded 9 of o-1"

    def test_a_predicate_that_says_exactly_false_asks_nobody(self) -> None:
        bodies, thread = self._agent(
            [[_call(0), _call(7, id="call_1")], "done"], when=lambda amount: amount > 5
        )
        [asked] = thread.start()
        assert asked.question == {
            "function": "refund",
            "args": {"order_id": "o-7", "amount": 7, "note": "none"},
        }
        assert thread.answer(asked, APPROVE) == []
        assert sorted((body.args["amount"], body.asked) for body in bodies.ran) == [(0, False), (7, True)]
        assert len({body.key for body in bodies.ran}) == 2

    def test_a_predicate_that_says_anything_else_or_raises_asks(self) -> None:
        def fails() -> bool:
            raise ConnectionError

        for unclear in (lambda: None, lambda: 0, fails):
            bodies, thread = self._agent([[_call(0)], "done"], when=unclear)
            [asked] = thread.start()
            assert thread.answer(asked, REJECT) == []
            assert bodies.ran == []

    def test_an_answer_is_honoured_whatever_the_predicate_says_by_then(self) -> None:
        for answer, runs in ((REJECT, 0), ({**APPROVE, "args": {"amount": 3}}, 1)):
            bodies, thread = self._agent([[_call(0)], "done"], when=_only_once())
            [asked] = thread.start()
            thread.reopen()
            assert thread.answer(asked, answer) == []
            assert bodies.args("amount") == [3] * runs

    def test_a_decision_parameter_gets_the_answer_as_it_was_sent(self) -> None:
        for answer in (*_ODD_ANSWERS, APPROVE, REJECT, _UNUSABLE[0][0]):
            decisions, function = self._deciding()
            thread = self._thread([function], [[("decide", "call_0", {"amount": 1})], "done"])
            [asked] = thread.start()
            assert asked.question == {"function": "decide", "args": {"amount": 1}}
            assert thread.answer(asked, answer) == []
            assert [json.dumps(one) for one in decisions] == [json.dumps(answer)]

    def test_a_model_can_neither_see_nor_fill_the_decision_parameter(self) -> None:
        decisions, function = self._deciding()
        forged = {"amount": 1, "decision": {"action": "approve", "forged": True}}
        script: Script = [[("decide", "call_0", forged)], [("decide", "call_1", {"amount": 1})], "done"]
        thread = self._thread([function], script)
        asked = thread.start()
        while asked:
            assert asked[0].question == {"function": "decide", "args": {"amount": 1}}
            asked = thread.answer(asked[0], REJECT)
        assert decisions
        assert all(one == REJECT for one in decisions)
        assert thread.handle.offered().get("decide", {"amount"}) == {"amount"}

    def test_what_the_framework_injects_arrives_and_is_neither_published_nor_edited(self) -> None:
        arrived: list[Any] = []

        def inform(context: Any, amount: int) -> str:
            """Inform somebody."""
            arrived.append((context, amount))
            return "informed"

        inform.__annotations__["context"] = Any if self.context is None else self.context
        thread = self._thread([self._waiting(inform)], [[("inform", "call_0", {"amount": 1})], "done"])
        [asked] = thread.start(_PRIVATE)
        assert asked.question == {"function": "inform", "args": {"amount": 1}}
        assert _PRIVATE not in asked.to_json()
        assert thread.handle.offered().get("inform", {"amount"}) == {"amount"}
        [asked] = thread.answer(asked, {**APPROVE, "args": {"context": "forged"}}) or []
        assert "context" in (asked.error or "")
        assert thread.answer(asked, {**APPROVE, "args": {"amount": 2}}) == []
        [(context, amount)] = arrived
        assert amount == 2
        assert context not in (None, "forged")

    def test_an_effect_has_one_key_however_often_its_call_is_run_and_asked(self) -> None:
        bodies = Bodies()
        for _ in range(2):
            thread = self._thread([self._refund_of(bodies)], [[_call(0), _call(1)], "done"])
            thread.settle(
                thread.start(),
                lambda asked: _UNUSABLE[0][0] if (_order(asked), asked.attempt) == ("o-0", 1) else APPROVE,
            )
        keys = {(body.thread_id, body.args["order_id"]): body.key for body in bodies.ran}
        assert all(body.key == keys[body.thread_id, body.args["order_id"]] for body in bodies.ran)
        assert all(len(key) == 64 and int(key, 16) >= 0 for key in keys.values())
        assert len(set(keys.values())) == 4

    def test_an_effect_has_the_same_key_when_its_process_dies_and_the_answer_comes_again(self) -> None:
        bodies, thread = self._agent([[_call(0)], "done"])
        [asked] = thread.start()
        bodies.dies = 1
        died = False
        try:
            thread.answer(asked, APPROVE)
        except Died:
            died = True
        assert died, "the death was not heard of"
        thread.reopen()
        assert thread.answer(asked, APPROVE) == []
        assert len(bodies.ran) == 2
        assert len({body.key for body in bodies.ran}) == 1

    def test_a_run_that_ends_stops_on_nothing_and_can_be_followed_by_another(self) -> None:
        bodies, thread = self._agent(["hello", [_call(0)], "done"])
        assert thread.start() == []
        [asked] = thread.start("and now?")
        assert thread.answer(asked, APPROVE) == []
        assert len(bodies.ran) == 1

    def test_asking_past_the_run_announces_at_once_and_the_run_goes_on(self) -> None:
        announced = InMemoryAnnounce()
        bodies, thread = self._agent([[_call(0)], "done"], mode="async", announce=announced)
        assert thread.start() == []
        [envelope] = announced.events
        assert envelope.thread_id == thread.handle.thread_id
        assert envelope.source == {"function": "refund", "framework": self.framework.name, "mode": "async"}
        told = thread.told("call_0")
        assert (told["status"], told["question_id"]) == ("pending_approval", envelope.question_id)
        assert bodies.ran == []

    def test_plain_functions_and_async_ones_wait_side_by_side(self) -> None:
        bodies = Bodies()
        both = [self._refund_of(bodies), self._refund_of(bodies, name="repay", is_async=False)]
        thread = self._thread(both, [[_call(0), ("repay", "call_1", _call(1)[2])], "done"])
        thread.settle(thread.start(), lambda _: APPROVE)
        assert bodies.effects("order_id") == [("o-0",), ("o-1",)]


def _call(number: int, *, id: str | None = None) -> ToolCall:
    """A refund of `o-<number>`. Its id starts afresh in every turn, as those of many model servers do."""
    return "refund", id or f"call_{number}", {"order_id": f"o-{number}", "amount": number}


def _order(envelope: WaitEnvelope) -> str:
    question: Any = envelope.question
    return question["args"]["order_id"]


def _only_once() -> Callable[[], bool]:
    """A predicate that asks, and on every later run of the call would not."""
    said: list[bool] = []

    def asks() -> bool:
        said.append(not said)
        return said[-1]

    return asks
