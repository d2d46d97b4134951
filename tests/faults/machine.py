"""Random schedules, which hypothesis makes and shrinks."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from faults import steps
from faults.hosts import Host
from faults.life import POINTS
from faults.saver import Saver
from faults.world import Violation, World

STEPS = 15
"""How many things happen in a schedule, before its end."""

threads = st.sampled_from((*steps.THREADS, steps.THREADS[0]))
numbers = st.integers(0, 5)
crashes = st.tuples(st.sampled_from(POINTS), st.integers(0, 3))
approvals = st.sampled_from(("approve", "approve", "approve", "edit", "reject"))
Happening = tuple[steps.Step, ...]


def _flat(*happenings: st.SearchStrategy[Any]) -> st.SearchStrategy[Happening]:
    return st.tuples(*happenings)


_exchange = threads.flatmap(
    lambda thread: st.builds(
        lambda nth, how, crash: (
            steps.Deliver(thread),
            steps.Answer(thread, nth, how),
            steps.Deliver(thread, crash),
        ),
        numbers,
        approvals,
        st.none() | crashes,
    )
)
_hang = st.builds(
    lambda consumer, thread: (
        steps.Backend(consumer, "hangs"),
        steps.Deliver(thread),
        steps.Backend(consumer, "works"),
    ),
    st.sampled_from(steps.CONSUMERS),
    threads,
)
WEIGHTS: tuple[tuple[int, st.SearchStrategy[Happening]], ...] = (
    (4, _flat(st.builds(steps.Deliver, threads))),
    (4, _flat(st.builds(steps.Deliver, threads, crashes))),
    (8, _exchange),
    (3, _flat(st.builds(steps.Answer, threads, numbers, st.sampled_from(steps.PEOPLE)))),
    (2, _flat(st.builds(steps.Answer, threads, numbers, approvals, st.just("shown")))),
    (3, _flat(st.builds(steps.Answer, threads, numbers, st.sampled_from(steps.WRONG), st.just("shown")))),
    (3, _flat(st.builds(steps.Again, st.integers(0, 9)))),
    (2, _flat(st.builds(steps.Start, threads))),
    (2, _flat(st.builds(steps.Backend, st.sampled_from(steps.CONSUMERS), st.just("fails")))),
    (2, _flat(st.builds(steps.Backend, st.sampled_from(steps.CONSUMERS), st.just("works")))),
    (1, _hang),
    (
        3,
        _flat(
            st.builds(
                steps.Failing,
                st.sampled_from(("A", "B", "work", "S")),
                st.sampled_from(("before", "after")),
                st.sampled_from((1, 1, 1, 2, 5)),
            )
        ),
    ),
    (1, _flat(st.builds(steps.AtOnce, threads, numbers))),
    (1, _flat(st.builds(steps.DeadlinesPass))),
    (1, _flat(st.builds(steps.Sweep))),
    (1, _flat(st.builds(steps.Upgrade, st.booleans()))),
)
"""What may happen next, and how often it does. (`one_of` would take each once.)"""

happenings = st.sampled_from([each for weight, each in WEIGHTS for _ in range(weight)]).flatmap(
    lambda strategy: strategy
)


@dataclass
class Tally:
    """What was tried.

    Attributes:
        schedules: How many schedules were played to their end.
        faults: How often which fault was injected.
        checked: How often which promise was checked.
    """

    schedules: int = 0
    faults: Counter[str] = field(default_factory=Counter[str])
    checked: Counter[int] = field(default_factory=Counter[int])

    def add(self, world: World) -> None:
        """Count what a world has seen."""
        self.schedules += 1
        self.faults += world.faults
        self.checked += world.checked


@dataclass(frozen=True)
class Found:
    """A violation, by the shortest schedule that hypothesis has found for it."""

    violation: Violation
    schedule: tuple[steps.Step, ...]
    trace: tuple[str, ...]


class Schedules(RuleBasedStateMachine):
    """One schedule. What does not apply does nothing: nothing drawn depends on what the world has seen."""

    options: dict[str, Any]
    tally: Tally
    last: "Schedules | None" = None

    def __init__(self) -> None:
        super().__init__()
        self.world = World(**type(self).options)
        self.played: list[steps.Step] = []
        self.broken = False
        type(self).last = self

    def play(self, step: steps.Step) -> None:
        """Let it happen, and note it."""
        self.played.append(step)
        try:
            self.world.play(step)
        except BaseException:
            self.broken = True
            raise

    @initialize(others=st.lists(st.builds(steps.Start, threads), max_size=1))
    def begin(self, others: list[steps.Step]) -> None:
        """Something is asked for."""
        for step in (steps.Start(steps.THREADS[0]), *others):
            self.play(step)

    # One rule for all: of several, hypothesis leaves some out of each schedule.
    @rule(happening=happenings)
    def happen(self, happening: Happening) -> None:
        """One thing, or a few that belong together."""
        for step in happening:
            self.play(step)

    def teardown(self) -> None:
        """The end: nothing may be missing."""
        try:
            if not self.broken:
                self.world.finish()
                type(self).tally.add(self.world)
        finally:
            self.world.close()


def search(
    kind: str,
    *,
    schedules: int,
    seed_of: int,
    saver: str | Callable[[], Saver] = "memory",
    is_async: bool = False,
    host: type[Host] = Host,
    shrink: bool = True,
    tally: Tally | None = None,
) -> Found | None:
    """Look for a schedule that breaks a promise.

    Args:
        kind: Which of the graphs.
        schedules: How many at most.
        seed_of: The same seed, the same schedules.
        saver: As for `World`, as the next two.
        is_async: See there.
        host: See there.
        shrink: Whether to shrink what is found.
        tally: Where to count.
    """
    machine: Any = type(
        "Schedules",
        (Schedules,),
        {
            "options": {"kind": kind, "saver": saver, "is_async": is_async, "host": host},
            "tally": tally or Tally(),
        },
    )
    phases = [Phase.generate, Phase.shrink] if shrink else [Phase.generate]
    options = settings(
        max_examples=schedules,
        stateful_step_count=STEPS,
        phases=phases,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.large_base_example,
        ],
    )
    try:
        run_state_machine_as_test(seed(seed_of)(machine), settings=options)
    except BaseException as raised:
        violation = _violation_in(raised)
        if violation is None:
            raise
        return Found(violation, tuple(machine.last.played), tuple(machine.last.world.trace))
    return None


def _violation_in(raised: BaseException) -> Violation | None:
    """The violation; threads make some schedules end otherwise the second time, which hypothesis wraps."""
    if isinstance(raised, Violation):
        return raised
    nested: tuple[BaseException, ...] = getattr(raised, "exceptions", ())
    return next(filter(None, map(_violation_in, nested)), None)
