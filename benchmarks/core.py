"""What the core costs: each figure beside a plain call that was measured in the same run.

`make bench` prints the table. The budgets are for a machine on which a plain call takes 0.05 microseconds, so
what counts is the ratio; a figure over its budget is marked and fails nothing.
"""

import os
import subprocess
import sys
import timeit
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from agent_wait import JSON, Framework, Question, SystemClock, WaitPolicy, make_wait
from agent_wait._answer import WrappedAnswer
from agent_wait._canonical import encode, to_plain
from agent_wait._convert import schema_for
from agent_wait._envelope import envelope_for
from agent_wait._signature import WaitSignature

PLAIN_CALL = 0.05
HEAVY = ("asyncio", "boto3", "email", "http", "pydantic", "ssl", "urllib.request")


class Row(NamedTuple):
    """One line of the table.

    Attributes:
        what: What was measured.
        microseconds: The best of several runs.
        budget: Microseconds on the machine of the budgets; None for a part of another figure.
    """

    what: str
    microseconds: float
    budget: float | None = None


class Stub(Framework):
    """Has the answer at hand, as a framework on the run that resumes."""

    name = "stub"

    def __init__(self) -> None:
        self.answer: Any = None
        self.parked: dict[str, JSON] = {}

    def interrupt(self, value: dict[str, JSON], call_args: Mapping[str, Any]) -> Any:
        self.parked = value
        return self.answer

    def interrupts_in(self, result: Any) -> list[tuple[str, Any]]:
        return []

    def current_thread_id(self, call_args: Mapping[str, Any]) -> str:
        return "thread-1"

    def schema_for(self, function: Callable[..., Any]) -> JSON | None:
        return schema_for(function)


def refund(amount: float, to: str, note: str = "x") -> float:
    return amount


def microseconds(call: Callable[[], object]) -> float:
    """The best of many runs of about a millisecond, so that what else the machine does falls out."""
    timer = timeit.Timer(call)
    number = 1
    while timer.timeit(number) < 0.001:
        number *= 2
    return min(timer.repeat(300, number)) / number * 1e6


def rows() -> list[Row]:
    stub = Stub()
    wait = make_wait(stub, clock=SystemClock())
    unasked = wait(when=lambda amount: amount > 500)(refund)
    asked = wait(WaitPolicy(timeout="P3D", tags={"team": "finance"}))(refund)
    stub.answer = {"action": "approve"}
    raw = microseconds(lambda: asked(10.0, "bob"))
    question = Question.unpack("q-1", stub.parked)
    assert question.fingerprint is not None
    assert question.answer_schema is not None
    stub.answer = WrappedAnswer(
        answer={"action": "approve"}, fingerprint=question.fingerprint, at=1.0, question_id="q-1"
    ).to_value()
    signature = WaitSignature(refund, stub, "decision")
    shown: JSON = {"function": "refund", "args": {"amount": 10.0, "to": "bob", "note": "x"}}
    return [
        Row("a plain call", microseconds(lambda: refund(10.0, "bob")), PLAIN_CALL),
        Row("when is false, on a stub", microseconds(lambda: unasked(10.0, "bob")), 1.2 + PLAIN_CALL),
        Row("approved, on a stub", microseconds(lambda: asked(10.0, "bob")), 7.0),
        Row("approved by a raw answer", raw, 7.0),
        Row("  binding the call", microseconds(lambda: signature.bind((10.0, "bob"), {}))),
        Row("  to_plain", microseconds(lambda: to_plain(shown))),
        Row("  encode", microseconds(lambda: encode(shown))),
        Row(
            "an envelope, built and encoded, with fingerprint and schema",
            microseconds(lambda: envelope_for(question, "thread-1").to_json()),
            23.0,
        ),
        Row("  built", microseconds(lambda: envelope_for(question, "thread-1"))),
    ]


def fresh(code: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment
    ).stdout


def import_seconds(*modules: str) -> float:
    """The best of fifteen fresh processes."""
    code = f"from time import perf_counter as t; a = t(); import {', '.join(modules)}; print(t() - a)"
    return min(float(fresh(code)) for _ in range(15))


def main() -> None:
    table = rows()
    plain = table[0].microseconds
    scale = plain / PLAIN_CALL
    print(f"{'':60} {'µs':>8} {'x plain':>8} {'budget x plain':>15}")
    for row in table:
        budget = "" if row.budget is None else f"{row.budget / PLAIN_CALL:.0f}"
        over = "  over" if row.budget is not None and row.microseconds > row.budget * scale else ""
        print(f"{row.what:60} {row.microseconds:8.2f} {row.microseconds / plain:8.0f} {budget:>15}{over}")

    base = import_seconds("dataclasses", "json", "logging")
    core = import_seconds("agent_wait")
    print(f"\n{'':60} {'ms':>8} {'x base':>8} {'budget x base':>15}")
    print(f"{'import dataclasses, json, logging':60} {base * 1e3:8.2f} {1:8.2f}")
    over = "  over" if core > 2 * base else ""
    print(f"{'import agent_wait':60} {core * 1e3:8.2f} {core / base:8.2f} {2:15.0f}{over}")
    loaded = fresh(f"import sys, agent_wait; print(*sorted(set(sys.modules) & set({HEAVY!r})))").strip()
    print(f"of {', '.join(HEAVY)} it loads: {loaded or 'none'}")


if __name__ == "__main__":
    main()
