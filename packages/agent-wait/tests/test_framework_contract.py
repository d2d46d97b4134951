"""The framework contract on the smallest framework that passes it, and on three methods and a name."""

import itertools
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import pytest
from agent_wait import Framework
from agent_wait.testing import AnnouncerContract, FrameworkContract, Handle, Script
from toy import Thread, ThreeMethods, Toy, ToyHandle

_numbers = itertools.count(1)


class OnToys(FrameworkContract):
    framework: Framework = Toy()

    def new_store(self) -> dict[str, Thread]:
        return {}

    def build(self, functions: Sequence[Callable[..., Any]], script: Script, store: Any) -> Handle:
        return ToyHandle(functions, script, store, f"thread-{next(_numbers)}")


class TestToy(OnToys):
    """All of it."""


class TestThreeMethodsAndAName(OnToys):
    """What the defaults of the other methods leave out, and nothing else."""

    framework: Framework = ThreeMethods()
    cannot: ClassVar[Mapping[str, str]] = {
        "test_equal_calls_in_one_turn_are_questions_of_their_own": "no call_identity: they have one key",
        "test_an_answer_to_an_earlier_turn_serves_no_equal_call_of_a_later_one": (
            "no call_identity: an equal call of a later turn has the key of the first"
        ),
        "test_an_answer_is_honoured_whatever_the_predicate_says_by_then": "no answered: nobody looks ahead",
    }


def passing(self: Any) -> None:
    """A test that says nothing."""


def copy_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """A mark is written onto the function."""
    return types.FunctionType(function.__code__, function.__globals__)


def overriding(**tests: Any) -> type:
    return type("Overriding", (OnToys,), tests)


def test_a_test_of_a_contract_is_not_overridden() -> None:
    name = "test_each_approved_body_runs_once"
    for other in (passing, None, pytest.mark.skip(copy_of(passing))):
        with pytest.raises(TypeError, match=f"overrides {name}: declare it in `cannot`"):
            overriding(**{name: other})
    with pytest.raises(TypeError, match="overrides test_it_has_a_name"):
        type("Overriding", (AnnouncerContract,), {"test_it_has_a_name": passing})


def test_but_by_one_that_is_expected_to_fail_and_says_why() -> None:
    halves: list[Any] = [{"strict": True}, {"reason": "why"}, {"strict": False, "reason": "why"}]
    for half in halves:
        with pytest.raises(TypeError, match="overrides"):
            overriding(test_each_approved_body_runs_once=pytest.mark.xfail(**half)(copy_of(passing)))
    expected = pytest.mark.xfail(strict=True, reason="why")(copy_of(passing))
    assert overriding(test_each_approved_body_runs_once=expected)


@pytest.mark.parametrize("cannot", [{"test_nothing": "why"}, {"test_each_approved_body_runs_once": ""}])
def test_a_limit_names_a_test_and_a_reason(cannot: dict[str, str]) -> None:
    with pytest.raises(TypeError, match="it is no test, or has no reason"):
        overriding(cannot=cannot)


def test_a_limit_that_is_none_any_more_fails() -> None:
    suite: Any = overriding(cannot={"test_each_approved_body_runs_once": "why"})
    with pytest.raises(
        AssertionError, match=r"it can: take test_each_approved_body_runs_once out .* \(why\)"
    ):
        suite().test_each_approved_body_runs_once()
    with pytest.raises(AssertionError, match="it can: take test_each_approved_body_runs_once_when_awaited"):
        suite().test_each_approved_body_runs_once_when_awaited()


def test_a_limit_of_one_way_leaves_the_other() -> None:
    suite: Any = overriding(cannot={"test_each_approved_body_runs_once_when_awaited": "why"})
    suite().test_each_approved_body_runs_once()
    with pytest.raises(AssertionError, match="it can"):
        suite().test_each_approved_body_runs_once_when_awaited()
