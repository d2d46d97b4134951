"""Annotations that are text until somebody looks them up."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, ForwardRef, Optional

import pytest
from strands import ToolContext, tool  # pyright: ignore[reportUnknownVariableType]  # unknown in one overload
from strands_support import APPROVE, START, Host
from strands_wait import StrandsFramework, wait


@dataclass
class Payee:
    name: str
    limit: Decimal


@tool
def undecorated(amount: Decimal, to: Payee) -> str:
    """Give money back.

    Args:
        amount: How much.
        to: Whom.
    """
    return ""


@pytest.mark.requirement("WRAPPER-HIDES-SIGNATURE")
@pytest.mark.parametrize("has_context", [False, True])
def test_postponed_annotations_make_the_schema_of_the_undecorated_tool(
    tmp_path: Path, has_context: bool
) -> None:
    ran: list[Any] = []

    def without(amount: Decimal, to: Payee, decision: Any = None) -> str:
        ran.append((amount, to))
        return "ok"

    def with_context(amount: Decimal, to: Payee, ctx: ToolContext[Any], decision: Any = None) -> str:
        ran.append((amount, to, ctx.tool_use["toolUseId"]))
        return "ok"

    function: Any = with_context if has_context else without
    function.__name__, function.__doc__ = "undecorated", undecorated.tool_spec["description"]
    waiting: Any = tool(context="ctx" if has_context else True)(wait(function))
    plain: Any = undecorated
    schemas = [one.tool_spec["inputSchema"]["json"] for one in (plain, waiting)]
    assert schemas[0]["properties"].keys() == schemas[1]["properties"].keys()
    assert schemas[0].get("$defs") == schemas[1].get("$defs")

    args = {"amount": "1.50", "to": {"name": "ann", "limit": "2"}}
    host = Host(tmp_path, [waiting], [("undecorated", "c0", args)], "done")
    host.handle(START)
    assert host.open_questions()[0].question["args"] == args
    host.handle(host.reply(APPROVE))
    # Strands hands a nested model over as a dict, to any tool.
    assert ran[0][:2] == (Decimal("1.50"), {"name": "ann", "limit": Decimal(2)})
    assert ran[0][2:] == (("c0",) if has_context else ())


@pytest.mark.parametrize(
    "annotation",
    [
        ToolContext,
        ToolContext[Any],
        Optional[ToolContext],  # noqa: UP045  # the older spelling is what is tried
        Annotated[ToolContext, "note"],
        "ToolContext",
        ForwardRef("strands.ToolContext"),
    ],
    ids=["bare", "generic", "optional", "annotated", "text", "forward"],
)
def test_a_tool_context_is_told_by_its_annotation_however_it_is_spelt(annotation: Any) -> None:
    parameter = inspect.Parameter("anything", inspect.Parameter.POSITIONAL_OR_KEYWORD)

    assert StrandsFramework().is_injected(parameter, annotation)
    assert not StrandsFramework().is_injected(parameter, "MyToolContextual")
    assert not StrandsFramework().is_injected(parameter, int)


def test_a_context_of_a_name_of_its_own_without_an_annotation_is_refused_where_it_is_written() -> None:
    def act(amount: int, ctx: Any) -> str:
        """Act."""
        return "ok"

    with pytest.raises(ValueError, match="ToolContext param must be named 'ctx'"):
        tool(context="ctx")(wait(act))
