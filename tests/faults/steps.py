"""What may happen. A schedule is a sequence of these; one that does not apply changes nothing."""

from dataclasses import dataclass
from typing import Literal

THREADS = ("t-1", "t-2")
CONSUMERS = ("topic", "table")
PEOPLE = ("approve", "edit", "reject", "unusable edit", "text", "shouted", "forged", "failing")
"""Answers as people give them: each names its question, as it was shown."""
WRONG = ("other fingerprint", "no fingerprint", "unknown question", "other thread", "other ask", "malformed")
"""Answers that name no question, or the wrong one."""
MALFORMED = 8
"""How many kinds of malformed messages there are."""


@dataclass(frozen=True)
class Start:
    """A request is sent, under an id of its own."""

    thread: str


@dataclass(frozen=True)
class Answer:
    """Somebody answers a question of the thread: one of the inbox, or one that was ever shown."""

    thread: str
    nth: int
    how: str
    among: Literal["inbox", "shown"] = "inbox"


@dataclass(frozen=True)
class Again:
    """A message that was sent before is sent once more."""

    nth: int


@dataclass(frozen=True)
class Deliver:
    """The transport delivers the thread's next message, and the process may die on the way."""

    thread: str
    crash: tuple[str, int] | None = None


@dataclass(frozen=True)
class AtOnce:
    """An approval and a rejection of one question reach the same process at the same moment."""

    thread: str
    nth: int


@dataclass(frozen=True)
class Backend:
    """An announcer's backend breaks, hangs, or works again."""

    consumer: str
    state: Literal["works", "fails", "hangs"]


@dataclass(frozen=True)
class Failing:
    """The work on an item raises so many times, before or after its effect."""

    item: str
    when: Literal["before", "after"]
    times: int


@dataclass(frozen=True)
class DeadlinesPass:
    """The clock moves past every deadline."""


@dataclass(frozen=True)
class Sweep:
    """What a clock does: the default is sent for each question whose deadline has passed."""


@dataclass(frozen=True)
class Upgrade:
    """Another version of the library is installed: what is parked from now on has its form."""

    older: bool


Step = Start | Answer | Again | Deliver | AtOnce | Backend | Failing | DeadlinesPass | Sweep | Upgrade
