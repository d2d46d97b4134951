"""What `WaitPublisher` needs of a framework's running agent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from agent_wait._question import Question
from agent_wait._types import JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """An answer that a listed question has been given by a run that then failed.

    Attributes:
        answer: As it was sent, without our wrapper.
        resume_id: The id under which the framework takes a newer answer; not always the question's.
    """

    answer: JSON
    resume_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadState:
    """What a thread is, as its framework's own persistence tells.

    Attributes:
        known: The thread has run before.
        pending: The questions that are open: asked, and without an answer.
        unfinished: Some work has neither an open question nor a result: a run died half way.
        held: The thread stands at a static breakpoint; only the host goes on from there.
        starts: The last 16 start ids, oldest first.
        kept: Questions whose answers are stored until the framework has all it needs.
        closed: What the last run closed, from a framework that has `kept`: the answers it kept were
            acknowledged long before, so that the one that completed them stands for all of them when it
            comes again.
        taken: By question id, the answers that `pending` questions were given by a run that failed after.
    """

    known: bool
    pending: tuple[Question, ...] = ()
    unfinished: bool = False
    held: bool = False
    starts: tuple[str, ...] = ()
    kept: tuple[Question, ...] = ()
    closed: tuple[Question, ...] = ()
    taken: Mapping[str, Taken] = field(default_factory=dict[str, Taken])


class FrameworkAdapter(Protocol):
    """A running agent, as `WaitPublisher` drives it.

    Within this process, `WaitPublisher` makes one run of a thread at a time; it may look (`state`) while one
    goes on. Looking never creates or changes a thread. What the agent raises passes through.
    """

    name: str

    def config_for(self, thread_id: str, starts: Sequence[str] = ()) -> Any:
        """What `invoke` takes for this thread; `starts` are to be stored with the run it is used for.

        Where it is a mapping, a host's own is merged into it, and only `thread_id` and what begins with
        `agent_wait` are sure to stay. Where it is none, a host's own is refused.
        """
        ...

    def state(self, thread_id: str) -> ThreadState:
        """What the thread is now."""
        ...

    async def astate(self, thread_id: str) -> ThreadState:
        """As `state`, awaited."""
        ...

    def invoke(self, value: Any, config: Any) -> Any:
        """Run the agent on an input, a `resume_value` or a `continue_value`; returns the run's result.

        Raises:
            QuestionClosed: The answer's question is no longer open; nothing was run.
        """
        ...

    async def ainvoke(self, value: Any, config: Any) -> Any:
        """As `invoke`, awaited."""
        ...

    def resume_value(
        self, message: Mapping[str, Any], question: Question, *, taken: Taken | None = None
    ) -> Any:
        """What `invoke` takes to give `message`'s answer to `question`.

        Args:
            message: A well-formed answer.
            question: The open question that it answers.
            taken: What the question was given before, when the run failed after taking it.
        """
        ...

    def continue_value(self) -> Any:
        """What `invoke` takes to go on with unfinished work."""
        ...

    def refusal(self, question: Question, answer: JSON) -> str | None:
        """Why this answer would wedge the framework for good, if it would."""
        ...
