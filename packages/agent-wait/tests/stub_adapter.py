"""An agent without a framework, for tests of what drives one: threads of several branches that ask and act.

It has the habits that cost hosts their questions. `StubAdapter` behaves as LangGraph does: a step is written
piece by piece, a branch that fails still lists the last question it asked, a question asked again has a new
id, a task runs again from its start. `TogetherAdapter` behaves as Pydantic AI does: answers are
kept until all are in, a question asked again keeps its id, and one atomic write follows a whole run.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_wait import Question, WaitPolicy
from agent_wait._adapter import Taken, ThreadState
from agent_wait._errors import QuestionClosed
from agent_wait._identity import digest
from agent_wait._types import JSON

UNUSABLE = "unusable"


@dataclass(frozen=True)
class Ask:
    """Ask, and pay when the answer is an approval; `UNUSABLE` asks again. A bare one takes what comes."""

    name: str
    policy: WaitPolicy = field(default_factory=WaitPolicy)
    bare: bool = False


@dataclass(frozen=True)
class Do:
    """Pay without asking."""

    name: str


Step = Ask | Do
Program = Sequence[Sequence[Step]]
"""Branches, each a sequence of steps; one run of a thread goes through all of them side by side."""


@dataclass(frozen=True)
class Given:
    """An answer as a task keeps it: what it was given for, and under which attempt."""

    fingerprint: str | None
    attempt: int
    answer: JSON


@dataclass
class Task:
    name: str
    steps: Sequence[Step]
    answers: list[Given] = field(default_factory=list[Given])
    open: Question | None = None
    asked: Question | None = None
    answered: bool = False
    failed: bool = False
    done: bool = False


@dataclass
class Thread:
    runs: int = 0
    starts: tuple[str, ...] = ()
    tasks: list[Task] = field(default_factory=list[Task])
    kept: dict[str, JSON] = field(default_factory=dict[str, JSON])
    closed: tuple[Question, ...] = ()
    finished: list[str] = field(default_factory=list[str])


@dataclass
class World:
    """What outlives a process: the threads as they were last written, and the money that moved.

    Attributes:
        paid: How often each effect was asked for, by its idempotency key.
        bodies: What ran, replays included: the call (`thread/run.branch/step`) and the answer.
        failing: Steps that raise when they are reached, until they are taken out.
        asked_at: When every question is asked.
        point: Called with its name wherever a process may die.
    """

    threads: dict[str, Thread] = field(default_factory=dict[str, Thread])
    paid: dict[str, int] = field(default_factory=dict[str, int])
    bodies: list[tuple[str, JSON]] = field(default_factory=list[tuple[str, JSON]])
    failing: set[str] = field(default_factory=set[str])
    asked_at: float | None = None
    point: Callable[[str], None] = lambda name: None


@dataclass(frozen=True)
class ResumeValue:
    question_id: str
    answer: JSON


@dataclass(frozen=True)
class ContinueValue:
    pass


class StubAdapter:
    """A `FrameworkAdapter` over a `World`.

    Attributes:
        calls: What was called, in order: `state`, `start`, `resume`, `continue`.
        configs: What the runs were given as their config.
        refusals: Answers that would wedge the framework, with the reason.
        during: Called in the middle of every run.
    """

    name = "stub"

    def __init__(self, world: World, program: Program) -> None:
        self.world = world
        self.program = program
        self.calls: list[str] = []
        self.configs: list[dict[str, Any]] = []
        self.refusals: dict[str, str] = {}
        self.during: Callable[[], None] = lambda: None

    def config_for(self, thread_id: str, starts: Sequence[str] = ()) -> dict[str, Any]:
        return {"thread_id": thread_id, "agent_wait_starts": list(starts), "tags": {"agent": "stub"}}

    def resume_value(
        self, message: Mapping[str, Any], question: Question, *, taken: Taken | None = None
    ) -> ResumeValue:
        return ResumeValue(question.id if taken is None else taken.resume_id, message["answer"])

    def continue_value(self) -> ContinueValue:
        return ContinueValue()

    def refusal(self, question: Question, answer: JSON) -> str | None:
        return self.refusals.get(str(answer))

    async def astate(self, thread_id: str) -> ThreadState:
        return self.state(thread_id)

    async def ainvoke(self, value: Any, config: Any) -> Any:
        return self.invoke(value, config)

    def state(self, thread_id: str) -> ThreadState:
        self.calls.append("state")
        self.world.point("read")
        thread = self.world.threads.get(thread_id)
        if thread is None:
            return ThreadState(known=False)
        listed = [task for task in thread.tasks if task.open is not None]
        dead = [task for task in thread.tasks if task.open is None and not task.done]
        questions = [task.open for task in listed if task.open is not None]
        return ThreadState(
            known=True,
            pending=tuple(q for q in questions if q.id not in thread.kept),
            unfinished=bool(dead) or (bool(thread.tasks) and not listed),
            starts=thread.starts,
            kept=tuple(q for q in questions if q.id in thread.kept),
            closed=thread.closed,
            taken={
                task.open.id: Taken(answer=task.answers[-1].answer, resume_id=f"{task.open.id}+")
                for task in listed
                if task.open is not None and task.failed
            },
        )

    def invoke(self, value: Any, config: Any) -> Any:
        self.configs.append(config)
        thread_id = config["thread_id"]
        self.world.point("before run")
        match value:
            case ResumeValue():
                self.calls.append("resume")
                thread = self.world.threads[thread_id]
                self._answer(thread, value)
            case ContinueValue():
                self.calls.append("continue")
                thread = self.world.threads[thread_id]
            case _:
                self.calls.append("start")
                thread = self.world.threads.setdefault(thread_id, Thread())
                self._start(thread)
        thread.starts = tuple(config["agent_wait_starts"])
        self.world.point("input written")
        self.during()
        return self._run(thread_id, thread)

    def _start(self, thread: Thread) -> None:
        thread.runs += 1
        run = f"r{thread.runs}"
        thread.kept, thread.closed = {}, ()
        thread.tasks = [Task(f"{run}.{n}", steps) for n, steps in enumerate(self.program)]

    def _answer(self, thread: Thread, value: ResumeValue) -> None:
        for task in thread.tasks:
            if task.open is not None and value.question_id == (
                f"{task.open.id}+" if task.failed else task.open.id
            ):
                task.answers.append(Given(task.open.fingerprint, task.open.attempt, value.answer))
                task.answered, task.open, task.failed = True, None, False
                return
        raise QuestionClosed

    def _run(self, thread_id: str, thread: Thread) -> str:
        for task in thread.tasks:
            if task.done:
                continue
            try:
                question = self._run_task(thread_id, task)
            except RuntimeError:
                task.open, task.failed = task.asked, task.answered
                raise
            self.world.point("before result")
            task.open, task.done, task.failed = question, question is None, False
            task.asked, task.answered = question, False
            self.world.point("result written")
        if not all(task.done for task in thread.tasks):
            return "parked"
        self.world.point("before the end")
        thread.finished += [task.name for task in thread.tasks]
        thread.tasks = []
        self.world.point("end written")
        return "finished"

    def _run_task(self, thread_id: str, task: Task) -> Question | None:
        """From the first step on, as on every run; what was answered is replayed. Returns what it asks."""
        bare_answers = [given.answer for given in task.answers if given.fingerprint is None]
        for step in task.steps:
            call = f"{thread_id}/{task.name}/{step.name}"
            if isinstance(step, Do):
                self._pay(call, step)
                continue
            question = self._question(task, step, call)
            if step.bare:
                given = bare_answers[:1]
                bare_answers = bare_answers[1:]
            else:
                named = (question.fingerprint, question.attempt)
                given = [g.answer for g in task.answers if (g.fingerprint, g.attempt) == named][-1:]
            if not given:
                return question
            self.world.bodies.append((call, given[0]))
            if given[0] == "approve":
                self._pay(call, step)
        return None

    def _question(self, task: Task, step: Ask, call: str) -> Question:
        fingerprint = None if step.bare else f"sha256:{digest(call)}"
        spoiled = (
            []
            if step.bare
            else [g for g in task.answers if (g.fingerprint, g.answer) == (fingerprint, UNUSABLE)]
        )
        return Question(
            self._question_id(task, step),
            {"function": step.name, "args": {"call": call}},
            step.policy,
            fingerprint=fingerprint,
            attempt=len(spoiled) + 1,
            asked_at=self.world.asked_at,
            error="unusable" if spoiled else None,
        )

    def _question_id(self, task: Task, step: Ask) -> str:
        return f"{task.name}#{len(task.answers)}"

    def _pay(self, call: str, step: Step) -> None:
        if step.name in self.world.failing:
            raise RuntimeError(step.name)
        self.world.point("before effect")
        self.world.paid[call] = self.world.paid.get(call, 0) + 1
        self.world.point("after effect")


class TogetherAdapter(StubAdapter):
    """Answers wait for each other, and a run is written at its end or not at all."""

    def invoke(self, value: Any, config: Any) -> Any:
        thread_id = config["thread_id"]
        stored = self.world.threads
        self.world.threads = copy.deepcopy(stored)
        try:
            result = super().invoke(value, config)
            changed = self.world.threads[thread_id]
        finally:
            self.world.threads = stored
        self.world.point("before save")
        stored[thread_id] = changed
        self.world.point("after save")
        return result

    def _answer(self, thread: Thread, value: ResumeValue) -> None:
        open_ids = {task.open.id for task in thread.tasks if task.open}
        if value.question_id not in open_ids - thread.kept.keys():
            raise QuestionClosed
        thread.kept[value.question_id] = value.answer
        if open_ids == thread.kept.keys():
            thread.closed = tuple(task.open for task in thread.tasks if task.open)
            for question_id, answer in thread.kept.items():
                super()._answer(thread, ResumeValue(question_id, answer))
            thread.kept = {}

    def _run(self, thread_id: str, thread: Thread) -> str:
        return "kept" if thread.kept else super()._run(thread_id, thread)

    def _question_id(self, task: Task, step: Ask) -> str:
        return f"{task.name}:{step.name}"
