"""What a person sees: a timeline for each scenario, and a closing table of checks."""

import json
import os
import sys
from dataclasses import dataclass, field
from typing import TextIO

from agent_wait import JSON, WaitEnvelope

COLOURS = {
    "shop": "36",
    "agent": "35",
    "finance": "33",
    "sweep": "33",
    "queue": "34",
    "clock": "34",
    "customer": "36",
    "ledger": "32",
    "ok": "32",
    "FAILED": "1;31",
    "title": "1",
}


@dataclass(slots=True)
class Check:
    """One thing that had to be so, and whether it was."""

    scenario: str
    what: str
    expected: object
    seen: object

    @property
    def ok(self) -> bool:
        return self.expected == self.seen


@dataclass(slots=True)
class Report:
    """Prints as it goes; in colour on a terminal, unless NO_COLOR is set."""

    out: TextIO = field(default_factory=lambda: sys.stdout)
    checks: list[Check] = field(default_factory=list[Check])
    scenario: str = ""

    def begin(self, letter: str, title: str) -> None:
        self.scenario = letter
        self._print(f"\n{self._colour('title', f'{letter}  {title}')}")

    def say(self, who: str, what: str) -> None:
        """One line of the timeline."""
        self._print(f"   {self._colour(who, f'{who:<9}')} {visible(what)}")

    def check(self, what: str, *, expected: object, seen: object) -> None:
        """Note whether what was seen is what was expected."""
        self.checks.append(Check(self.scenario, what, expected, seen))

    def close(self) -> int:
        """Print the table of checks.

        Returns:
            The exit status: 0 when there were checks and every one of them holds, else 1.
        """
        failed = [check for check in self.checks if not check.ok]
        self._print(f"\n{self._colour('title', 'What was checked')}")
        for check in self.checks:
            verdict = "ok" if check.ok else "FAILED"
            self._print(f"   {check.scenario}  {self._colour(verdict, f'{verdict:<6}')} {check.what}")
            if not check.ok:
                self._print(f"             expected  {visible(check.expected)}")
                self._print(f"             seen      {visible(check.seen)}")
        self._print(f"\n   {len(self.checks) - len(failed)} of {len(self.checks)} checks hold")
        return 0 if self.checks and not failed else 1

    def _colour(self, name: str, text: str) -> str:
        if not self.out.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
            return text
        return f"\033[{COLOURS.get(name, '0')}m{text}\033[0m"

    def _print(self, line: str) -> None:
        print(line, file=self.out, flush=True)


def question_text(question: WaitEnvelope) -> str:
    match question.question:
        case {"function": str(function), "args": dict(args)}:
            what = f"{function}: " + ", ".join(f"{name} {value}" for name, value in args.items())
        case other:
            what = json.dumps(other)
    return f"{what}; to be answered by {question.expires_at}"


def answer_text(answer: JSON) -> str:
    match answer:
        case {"action": str(action), "args": dict(args)}:
            return f"{action}, with " + ", ".join(f"{name} {value}" for name, value in args.items())
        case {"action": str(action), "reason": str(reason)}:
            return f"{action}, since {reason}"
        case {"action": str(action)}:
            return action
        case other:
            return json.dumps(other)


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def visible(what: object) -> str:
    """Text that can do nothing to a terminal and is at home in every encoding."""
    return str(what).encode("ascii", "backslashreplace").decode().translate(_CONTROLS)


_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), 127)}
