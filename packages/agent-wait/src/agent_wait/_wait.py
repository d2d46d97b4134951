"""`make_wait` and `make_ask`: a framework's `wait` and `ask`."""

import functools
import inspect
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, cast, overload

from agent_wait import _identity
from agent_wait._announced import Announced
from agent_wait._announcer import AnnounceAdapter
from agent_wait._answer_schema import answer_schema
from agent_wait._asking import REDACTED, Asker, Given, Named, check_size, name_question, usable_edits
from agent_wait._canonical import to_plain
from agent_wait._clock import SYSTEM_CLOCK, Clock
from agent_wait._current import CURRENT, CurrentWait
from agent_wait._errors import PolicyError
from agent_wait._framework import Framework
from agent_wait._policy import WaitPolicy
from agent_wait._predicate import Predicate
from agent_wait._question import packed_policy
from agent_wait._signature import Call, WaitSignature
from agent_wait._types import JSON

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
        decision: str = "decision",
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
        decision: str = "decision",
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
            if callable(policy) or isinstance(policy, (classmethod, staticmethod)):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without types
                return wait()(policy)
            raise TypeError(f"wait takes a WaitPolicy, not {type(policy).__name__}")
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
            waiting = _Waiting(framework, function, policy or WaitPolicy(), when, decision, question, clock)
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
        declared = policy or WaitPolicy()
        if declared.redact:
            raise PolicyError("redact names arguments, and ask() has none")
        packed = packed_policy(declared, declared.allowed_actions or ("resume",))
        source: dict[str, JSON] = {"function": None, "framework": framework.name}
        named = name_question(framework, to_plain(question, "question"), {})
        check_size(named)
        return Asker(framework, packed, source, clock, lambda: None).ask(named, {}, lambda _: None).answer

    return ask


class _Waiting:
    """One decorated function."""

    def __init__(
        self,
        framework: Framework,
        function: Callable[..., Any],
        policy: WaitPolicy,
        when: Callable[..., Any] | None,
        decision: str,
        question: Callable[..., Any] | None,
        clock: Clock,
    ) -> None:
        _refuse_what_cannot_wait(function)
        self._framework = framework
        self._function = function
        self._signature = WaitSignature(function, framework, decision)
        names = (*self._signature.published, *sorted(self._signature.injected))
        self._when = None if when is None else Predicate(when, "when", names, self._signature.published)
        self._question = (
            None if question is None else Predicate(question, "question", names, self._signature.published)
        )
        self._redact = self._checked_redact(policy)
        self._actions = policy.allowed_actions or ("approve", "reject")
        self._own_schema = policy.answer_schema is not None
        packed = packed_policy(policy, self._actions)
        source: dict[str, JSON] = {"function": self._signature.name, "framework": framework.name}
        self._policy = policy
        self._asker = Asker(framework, packed, source, clock, self._schema)
        # A framework that counts calls, or can see an answer ahead, must hear of calls that are let through.
        kind = type(framework)
        self._tracks = (
            kind.call_identity is not Framework.call_identity or kind.answered is not Framework.answered
        )

    def _checked_redact(self, policy: WaitPolicy) -> frozenset[str]:
        if policy.redact and self._question is not None:
            raise PolicyError("redact and question= are two ways to hide an argument: use one")
        unknown = [name for name in policy.redact if name not in self._signature.published]
        if unknown:
            raise PolicyError(
                f"redact names {', '.join(unknown)}: no published argument of {self._signature.name}"
            )
        return frozenset(policy.redact)

    @functools.cached_property
    def _args_schema(self) -> JSON:
        view = self._signature.view_of(() if self._question is not None else self._signature.published)
        return cast("JSON", answer_schema(self._actions, self._framework.schema_for(view)))

    def _schema(self) -> JSON:
        return None if self._own_schema else self._args_schema

    def wrapper(self, announced: Announced | None) -> Callable[..., Any]:
        """The function that stands in place of the decorated one."""
        function = self._function
        if announced is not None:
            body = self._announcing(announced)
        elif inspect.iscoroutinefunction(function):

            async def waiting_async(*args: Any, **kwargs: Any) -> Any:
                call = self._signature.bind(args, kwargs)
                asks = self._when is None or await self._when.is_not_false_async(call)
                return await self._run_async(call, *self._settle(call, asks))

            body = waiting_async
        else:

            def waiting(*args: Any, **kwargs: Any) -> Any:
                call = self._signature.bind(args, kwargs)
                asks = self._when is None or self._when.is_not_false(call)
                return self._run(call, *self._settle(call, asks))

            body = waiting
        functools.update_wrapper(body, function)
        public = self._signature.public()
        body.__name__ = self._signature.name
        body.__signature__ = public
        body.__annotations__ = {
            **{p.name: p.annotation for p in public.parameters.values() if p.annotation is not p.empty},
            **({} if public.return_annotation is public.empty else {"return": public.return_annotation}),
        }
        return body

    def _settle(self, call: Call, asks: bool) -> tuple[Named | None, Given | None]:
        """Park, or say what names the call and what answer it has; no answer: nothing was asked."""
        if not asks:
            named = self._named(call, lenient=True) if self._tracks else None
            if named is None or not self._framework.answered(
                self._asker.value(named, call.call_args), call.call_args
            ):
                return named, None
        else:
            named = self._named(call)
            check_size(named)
        return named, self._asker.ask(named, call.call_args, lambda answer: self._read(call, named, answer))

    def _named(self, call: Call, *, lenient: bool = False) -> Named:
        return name_question(self._framework, self._published(call, lenient=lenient), call.call_args)

    def _published(self, call: Call, *, lenient: bool = False) -> JSON:
        if self._question is not None:
            return to_plain(self._question(call), "question", lenient=lenient)
        shown = self._signature.shown(call)
        for name in self._redact:
            shown[name] = REDACTED
        return {"function": self._signature.name, "args": to_plain(shown, "args", lenient=lenient)}

    def _read(self, call: Call, named: Named, answer: Any) -> Any:
        if self._signature.decision is not None:
            return {}
        shown: Any = {} if self._question is not None else cast("Any", named.question)["args"]
        edits = usable_edits(
            answer, shown, lambda args: self._framework.convert_edits(self._signature.view, args)
        )
        if edits:
            self._signature.edited(call, edits)
        return edits

    def _arguments(self, call: Call, given: Given | None) -> tuple[list[Any], dict[str, Any]]:
        if given is None:
            return self._signature.arguments(call)
        edited = self._signature.edited(call, given.edits) if given.edits else call
        return self._signature.arguments(edited, given.answer, decided=True)

    def _current(self, call: Call, named: Named | None, given: Given | None) -> CurrentWait:
        framework, call_args = self._framework, call.call_args

        def key(thread_id: str) -> str:
            name = named or self._named(call, lenient=True)
            return _identity.idempotency_key(thread_id, framework.call_scope(call_args), name.fingerprint)

        thread_id = functools.partial(framework.current_thread_id, call_args)
        if given is None:
            return CurrentWait(asked=False, thread_id=thread_id, key=key)
        return CurrentWait(
            asked=True,
            thread_id=thread_id,
            key=key,
            answer=given.answer,
            answered_by=given.answered_by,
            question_id=given.question_id,
        )

    def _run(self, call: Call, named: Named | None, given: Given | None) -> Any:
        if given is not None and given.edits is None:
            return given.answer
        args, kwargs = self._arguments(call, given)
        token = CURRENT.set(self._current(call, named, given))
        try:
            return self._function(*args, **kwargs)
        except Exception as error:
            self._failed(error, call, named)
            raise
        finally:
            CURRENT.reset(token)

    async def _run_async(self, call: Call, named: Named | None, given: Given | None) -> Any:
        if given is not None and given.edits is None:
            return given.answer
        args, kwargs = self._arguments(call, given)
        token = CURRENT.set(self._current(call, named, given))
        try:
            return await self._function(*args, **kwargs)
        except Exception as error:
            self._failed(error, call, named)
            raise
        finally:
            CURRENT.reset(token)

    def _failed(self, error: Exception, call: Call, named: Named | None) -> None:
        if named is not None:
            self._framework.call_failed(error, named.question, named.identity, call.call_args)

    def _announcing(self, announced: Announced) -> Callable[..., Any]:
        framework, signature = self._framework, self._signature

        def pending(call: Call) -> tuple[JSON, str]:
            question = self._published(call)
            return question, framework.current_thread_id(call.call_args)

        declared = {"policy": self._policy, "function": signature.name, "framework": framework.name}
        if inspect.iscoroutinefunction(self._function):

            async def announcing_async(*args: Any, **kwargs: Any) -> Any:
                call = signature.bind(args, kwargs)
                if self._when is not None and not await self._when.is_not_false_async(call):
                    return await self._run_async(call, None, None)
                return await announced.apublish(*pending(call), schema=self._schema(), **declared)

            return cast("Callable[..., Coroutine[Any, Any, Any]]", announcing_async)

        def announcing(*args: Any, **kwargs: Any) -> Any:
            call = signature.bind(args, kwargs)
            if self._when is not None and not self._when.is_not_false(call):
                return self._run(call, None, None)
            return announced.publish(*pending(call), schema=self._schema(), **declared)

        return announcing


def _refuse_what_cannot_wait(function: object) -> None:
    inner = function
    while isinstance(inner, functools.partial):
        inner = cast("Any", inner).func
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise TypeError("a generator function cannot wait: it has no call to approve; wait in what it calls")
    if not inspect.isroutine(inner):
        raise TypeError(
            f"wait decorates plain functions and methods, not {type(inner).__name__}; "
            "if it is a tool already, put the tool decorator above @wait"
        )
