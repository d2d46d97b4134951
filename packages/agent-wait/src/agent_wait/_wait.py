"""`make_wait` and `make_ask`: a framework's `wait` and `ask`."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, cast, overload

from agent_wait._announced import Announced
from agent_wait._announcer import AnnounceAdapter
from agent_wait._asking import Asker, check_size, name_question
from agent_wait._canonical import to_plain
from agent_wait._clock import SYSTEM_CLOCK, Clock
from agent_wait._errors import PolicyError
from agent_wait._framework import Framework
from agent_wait._policy import WaitPolicy
from agent_wait._question import default_actions, packed_policy
from agent_wait._signature import DECISION
from agent_wait._types import JSON
from agent_wait._waiting import Waiting

P = ParamSpec("P")
R = TypeVar("R")


class Wait(Protocol):
    """The type of a framework's `wait`."""

    @overload
    def __call__(self, policy: Callable[P, R], /) -> Callable[P, R]: ...
    @overload
    def __call__(
        self,
        policy: WaitPolicy | None = None,
        *,
        mode: Literal["interrupt", "async"] = "interrupt",
        announce: AnnounceAdapter | Sequence[AnnounceAdapter] | None = None,
        when: Callable[..., Any] | None = None,
        decision: str = DECISION,
        question: Callable[..., Any] | None = None,
    ) -> Callable[[Callable[P, R]], Callable[P, R]]: ...


class Ask(Protocol):
    """The type of a framework's `ask`."""

    def __call__(self, question: Any, policy: WaitPolicy | None = None) -> Any:
        """Ask, and return the answer verbatim on the run that resumes."""
        ...


def make_wait(framework: Framework, *, clock: Clock = SYSTEM_CLOCK) -> Wait:
    """The `wait` decorator of one framework.

    Args:
        framework: Where runs are parked.
        clock: For `asked_at`, where the framework does not know.
    """

    def wait(
        policy: WaitPolicy | Callable[..., Any] | None = None,
        *,
        mode: Literal["interrupt", "async"] = "interrupt",
        announce: AnnounceAdapter | Sequence[AnnounceAdapter] | None = None,
        when: Callable[..., Any] | None = None,
        decision: str = DECISION,
        question: Callable[..., Any] | None = None,
    ) -> Any:
        """Park the run until somebody approves exactly this call.

        Args:
            policy: What is declared about the question.
            mode: `interrupt` parks the run. `async` (about the agent, not Python) announces through
                `announce`, runs nothing, and returns `{"status": "pending_approval", "question_id": ...,
                "function": ...}`, or `"not_announced"` with the error when no announcer took it.
            announce: The announcers of `mode="async"`.
            when: A predicate on the arguments, by keyword and with their real values. Exactly False: the
                body runs and nothing is asked. It may name any of the function's parameters, and be
                `async` on an `async` function.
            decision: The name of the parameter that receives the answer verbatim, if the function has it.
                The body then runs whatever the answer is.
            question: Returns what to publish in place of `{"function": ..., "args": ...}`.

        Raises:
            TypeError: What is decorated is no plain function, or `when` or `question` names a parameter
                that it does not have.
            PolicyError: `redact` names no published argument, or stands beside `question`.
        """
        if policy is not None and not isinstance(policy, WaitPolicy):
            if isinstance(policy, (str, int, float, timedelta, Mapping)):
                raise TypeError(
                    f"wait takes a WaitPolicy, not {type(policy).__name__}: WaitPolicy(timeout=...)"
                )
            return wait()(policy)
        if mode not in ("interrupt", "async"):
            raise ValueError(f"mode is 'interrupt' or 'async', not {mode!r}")
        if (announce is None) is (mode == "async"):
            raise ValueError(
                "announce= goes with mode='async', which needs it; otherwise use publish_interrupts"
            )

        def decorate(function: Any) -> Any:
            if isinstance(function, (classmethod, staticmethod)):
                wrapped = cast("Any", function)
                return type(wrapped)(decorate(wrapped.__func__))
            waiting = Waiting(framework, function, policy or WaitPolicy(), when, decision, question, clock)
            announced = None if announce is None else Announced(announce, clock)
            return waiting.wrapper(announced)

        return decorate

    return cast("Wait", wait)


def make_ask(framework: Framework, *, clock: Clock = SYSTEM_CLOCK) -> Ask:
    """The `ask` expression of one framework. See `make_wait` for the arguments."""

    def ask(question: Any, policy: WaitPolicy | None = None) -> Any:
        """Park the run on a question and return its answer, verbatim, on the run that resumes.

        Args:
            question: Anything with a JSON form.
            policy: What is declared about it.

        Raises:
            QuestionError: The question has no JSON form, or is above 200 KiB.
        """
        declared = WaitPolicy() if policy is None else policy
        if not isinstance(declared, WaitPolicy):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without types
            raise TypeError(f"ask takes a WaitPolicy, not {type(declared).__name__}")
        if declared.redact:
            raise PolicyError("redact names arguments, and ask() has none")
        source: dict[str, JSON] = {"function": None, "framework": framework.name}
        packed = packed_policy(declared, declared.allowed_actions or default_actions(source))
        named = name_question(framework, to_plain(question, "question"), {})
        check_size(named)
        return Asker(framework, packed, source, clock, lambda: None).ask(named, {}, lambda _: None).answer

    return ask
