"""Annotations that are text until somebody looks them up, and calls with less around them than a run has."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, ForwardRef, Optional

import pytest
from agent_wait import WaitError, current_wait
from pai_support import APPROVE, make_agent, questions_in
from pydantic_ai import ApprovalRequired, RunContext
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RunUsage
from pydantic_ai_wait import PydanticAIFramework, deferred_results, wait


@dataclass
class Payee:
    name: str
    limit: Decimal


def undecorated(amount: Decimal, to: Payee) -> str:
    """Give money back."""
    return ""


@pytest.mark.requirement("WRAPPER-HIDES-SIGNATURE")
@pytest.mark.parametrize("has_context", [False, True])
def test_postponed_annotations_make_the_schema_of_the_undecorated_tool(has_context: bool) -> None:
    ran: list[Any] = []

    def without(amount: Decimal, to: Payee, decision: Any = None) -> str:
        """Give money back."""
        ran.append((amount, to))
        return "ok"

    def with_context(whatever: RunContext[int], amount: Decimal, to: Payee, decision: Any = None) -> str:
        """Give money back."""
        ran.append((amount, to, whatever.deps))
        return "ok"

    function: Any = with_context if has_context else without
    function.__name__ = undecorated.__name__
    args = {"amount": "1.50", "to": {"name": "ann", "limit": "2"}}
    call = [("undecorated", "c0", args)]
    plain, waiting = make_agent([undecorated], "done"), make_agent([wait(function)], call, "done")
    plain.run_sync("hi")
    parked = waiting.run_sync("hi", deps=7)

    specs: list[Any] = [agent.model for agent in (plain, waiting)]
    assert specs[0].function.specs == specs[1].function.specs
    [question] = questions_in(parked)
    assert question.question["args"] == args

    reply: Any = {"question_id": "c0", "fingerprint": question.fingerprint, "answer": APPROVE}
    results = deferred_results(reply, parked).results
    waiting.run_sync(message_history=parked.all_messages(), deferred_tool_results=results, deps=7)
    assert ran[0][:2] == (Decimal("1.50"), Payee("ann", Decimal(2)))
    assert ran[0][2:] == ((7,) if has_context else ())


@pytest.mark.parametrize(
    "annotation",
    [
        RunContext,
        RunContext[Any],
        Optional[RunContext[Any]],  # noqa: UP045  # the older spelling is what is tried
        Annotated[RunContext[Any], "note"],
        "RunContext[Deps]",
        ForwardRef("pydantic_ai.RunContext"),
    ],
    ids=["bare", "generic", "optional", "annotated", "text", "forward"],
)
def test_a_run_context_is_told_by_its_annotation_however_it_is_spelt(annotation: Any) -> None:
    parameter = inspect.Parameter("anything", inspect.Parameter.POSITIONAL_OR_KEYWORD)

    assert PydanticAIFramework().is_injected(parameter, annotation)
    assert not PydanticAIFramework().is_injected(parameter, "MyRunContextual")
    assert not PydanticAIFramework().is_injected(parameter, int)


def bare_context(**fields: Any) -> RunContext[Any]:
    return RunContext(deps=None, model=TestModel(), usage=RunUsage(), **fields)


def test_positional_only_parameters_wait_too() -> None:
    @wait
    def act(amount: int, /, note: str = "") -> str:
        return f"{amount}"

    act_with_context: Any = act
    with pytest.raises(ApprovalRequired) as parked:
        act_with_context(bare_context(tool_call_id="c0"), 3)
    assert parked.value.metadata
    assert parked.value.metadata["agent_wait"]["open"]["question"]["args"] == {"amount": 3, "note": ""}


def test_a_call_without_a_history_parks_with_the_requests_alone() -> None:
    @wait
    def act(amount: int) -> str:
        return f"{amount}"

    act_with_context: Any = act
    with pytest.raises(ApprovalRequired) as parked:
        act_with_context(bare_context(tool_call_id="c0"), 3)
    assert parked.value.metadata
    record = {**parked.value.metadata["agent_wait"]}
    record["reply"] = {
        "__answer__": {"answer": APPROVE, "fingerprint": record["open"]["__ask__"]["fingerprint"]}
    }

    metadata = {"agent_wait": record}
    again = bare_context(tool_call_id="c0", tool_call_approved=True, tool_call_metadata=metadata)
    assert act_with_context(again, 3) == "3"


def test_a_run_without_a_conversation_has_no_thread() -> None:
    @wait(when=lambda: False)
    def act(context: RunContext[Any]) -> str:
        current = current_wait()
        assert current is not None
        return current.thread_id

    with pytest.raises(WaitError, match="conversation_id="):
        act(bare_context(tool_call_id="c0"))
    assert act(bare_context(tool_call_id="c0", conversation_id="t-1")) == "t-1"
