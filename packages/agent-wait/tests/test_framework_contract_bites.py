"""The framework contract finds frameworks that break it: each of these breaks one rule and fails its test."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from agent_wait import JSON, Framework, Question, WaitError
from agent_wait.testing import FrameworkContract, Handle, Script, ToolCall
from toy import Stopped, Thread, Toy, ToyHandle


class Forgetful(Toy):
    """Does not see an answer ahead."""

    def answered(self, value: dict[str, JSON], call_args: Mapping[str, Any]) -> bool:
        return False


class Merging(Toy):
    """Gives equal calls one name."""

    def call_identity(self, question: JSON, call_args: Mapping[str, Any]) -> JSON:
        return None


class Wavering(Toy):
    """Gives an effect another key on each run."""

    def __init__(self) -> None:
        self.scopes = 0

    def call_scope(self, call_args: Mapping[str, Any]) -> JSON:
        self.scopes += 1
        return self.scopes


class Leaky(Toy):
    """Publishes what it injects."""

    hidden_params = ()


class Replaying(Toy):
    """Goes by the first answer that a call was ever given."""

    def interrupt(self, value: dict[str, JSON], call_args: Mapping[str, Any]) -> Any:
        ask: Any = value["__ask__"]
        return super().interrupt({**value, "__ask__": {**ask, "attempt": 1}}, call_args)


class Blind(Toy):
    """Does not read what a run stopped on."""

    def interrupts_in(self, result: Any) -> list[tuple[str, Any]]:
        return []


class Elsewhere(Toy):
    """Does not know its thread."""

    def current_thread_id(self, call_args: Mapping[str, Any]) -> str:
        return "another"


class Restless(Toy):
    """Is dated anew whenever it is read."""

    def __init__(self) -> None:
        self.reads = 0

    def interrupts_in(self, result: Any) -> list[tuple[str, Any]]:
        self.reads += 1
        found = [Question.unpack(*one) for one in super().interrupts_in(result)]
        return [(one.id, replace(one, asked_at=1.8e9 + self.reads).pack()) for one in found]


class Credulous(ToyHandle):
    """Takes whatever names a question for an answer to what is open."""

    def fits(self, message: Mapping[str, Any], question: Question) -> bool:
        return True


class Careless(ToyHandle):
    """Loses an answer that is false."""

    def take(self, message: Mapping[str, Any]) -> bool:
        return bool(message["answer"]) and super().take(message)


class Amnesiac(ToyHandle):
    """Keeps nothing over a restart."""

    def reopen(self) -> Handle:
        return type(self)(
            self.functions, self.script, {self.thread_id: Thread(self.thread_id)}, self.thread_id
        )


class Repeating(ToyHandle):
    """Makes all calls of a turn again for each answer."""

    async def go_on(self, turn: Sequence[ToolCall]) -> Stopped:
        self.store[self.thread_id].returned.clear()
        return await super().go_on(turn)


class Serial(ToyHandle):
    """Makes one call at a time."""

    async def go_on(self, turn: Sequence[ToolCall]) -> Stopped:
        for end in range(1, len(turn) + 1):
            stopped = await super().go_on(turn[:end])
            if stopped.parked:
                return stopped
        return Stopped([])


class Garbling(ToyHandle):
    """Tells the model something else."""

    def results(self) -> Mapping[str, Any]:
        return {call: json.dumps([result]) for call, result in super().results().items()}


class Telling(ToyHandle):
    """Offers the model what is not its own."""

    def offered(self) -> Mapping[str, Any]:
        return {name: {*names, "decision", "context"} for name, names in super().offered().items()}


@pytest.mark.parametrize(
    ("broken", "rule"),
    [
        (Forgetful, "an_answer_is_honoured_whatever_the_predicate_says_by_then"),
        (Merging, "equal_calls_in_one_turn_are_questions_of_their_own"),
        (Wavering, "an_effect_has_the_same_key_when_its_process_dies_and_the_answer_comes_again"),
        (Leaky, "what_the_framework_injects_arrives_and_is_neither_published_nor_edited"),
        (Replaying, "an_approval_that_cannot_be_applied_is_asked_again_until_one_can"),
        (Blind, "a_call_parks_with_what_it_was_called_with_and_runs_nothing"),
        (Elsewhere, "an_approval_runs_the_body_once_with_what_was_shown"),
        (Elsewhere, "asking_past_the_run_announces_at_once_and_the_run_goes_on"),
        (Restless, "a_part_of_the_answers_is_kept_over_restarts_and_asks_nobody_twice"),
        (Credulous, "an_answer_to_another_threads_equal_question_runs_nothing"),
        (Credulous, "an_answer_to_an_earlier_turn_serves_no_equal_call_of_a_later_one"),
        (Careless, "whatever_is_no_approval_runs_nothing_and_is_told_as_it_was_sent"),
        (Careless, "a_decision_parameter_gets_the_answer_as_it_was_sent"),
        (Amnesiac, "a_question_is_answered_in_another_process_than_it_was_asked_in"),
        (Repeating, "each_approved_body_runs_once"),
        (Serial, "parallel_questions_are_all_asked_at_once"),
        (Serial, "parallel_questions_can_be_answered_all_at_once"),
        (Garbling, "a_rejection_runs_nothing_and_is_told_to_the_model"),
        (Telling, "a_model_can_neither_see_nor_fill_the_decision_parameter"),
        (Telling, "what_the_framework_injects_arrives_and_is_neither_published_nor_edited"),
    ],
)
@pytest.mark.parametrize("way", ["", "_when_awaited"])
def test_what_breaks_a_rule_fails_its_test(broken: type, rule: str, way: str) -> None:
    with pytest.raises((AssertionError, KeyError, ValueError, WaitError)):
        getattr(suite_on(broken)(), f"test_{rule}{way}")()
    getattr(suite_on(Toy)(), f"test_{rule}{way}")()


def suite_on(kind: type) -> type[FrameworkContract]:
    made_of: type[ToyHandle] = kind if issubclass(kind, ToyHandle) else ToyHandle

    class Suite(FrameworkContract):
        framework: Framework = kind() if issubclass(kind, Framework) else Toy()
        threads = 0

        def new_store(self) -> dict[str, Thread]:
            return {}

        def build(self, functions: Sequence[Callable[..., Any]], script: Script, store: Any) -> Handle:
            self.threads += 1
            return made_of(functions, script, store, f"thread-{self.threads}")

    return Suite
