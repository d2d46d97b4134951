"""One waiting function: from its call to its question, and from the answer to its body."""

import functools
import inspect
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, cast

from agent_wait import _identity
from agent_wait._announced import Announced
from agent_wait._answer_schema import answer_schema
from agent_wait._asking import Asker, Given, Named, check_size, name_question, usable_edits
from agent_wait._canonical import to_plain
from agent_wait._clock import Clock
from agent_wait._current import CURRENT
from agent_wait._errors import PolicyError
from agent_wait._framework import Framework
from agent_wait._known_types import REDACTED
from agent_wait._policy import WaitPolicy
from agent_wait._predicate import Predicate
from agent_wait._question import default_actions, packed_policy
from agent_wait._signature import Call, WaitSignature, plain_function
from agent_wait._types import JSON

_NOTHING = (None, None)


class Waiting:
    """One decorated function.

    Args:
        framework: Where runs are parked.
        function: As its author wrote it.
        policy: What is declared about the question.
        when: See `make_wait`, as for the next two.
        decision: See there.
        question: See there.
        clock: For `asked_at`, where the framework does not know.
    """

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
        self._own_schema = policy.answer_schema is not None
        self._name = self._signature.name
        source: dict[str, JSON] = {"function": self._name, "framework": framework.name}
        self._actions = policy.allowed_actions or default_actions(source)
        packed = packed_policy(policy, self._actions)
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
        function, bind, when = self._function, self._signature.bind, self._when
        if announced is not None:
            body = self._announcing(announced)
        elif inspect.iscoroutinefunction(function):

            async def waiting_async(*args: Any, **kwargs: Any) -> Any:
                call = bind(args, kwargs)
                if when is None or await when.is_not_false_async(call):
                    return await self._run_async(call, *self._asked(call))
                return await self._run_async(call, *(self._unasked(call) if self._tracks else _NOTHING))

            body = waiting_async
        else:

            def waiting(*args: Any, **kwargs: Any) -> Any:
                call = bind(args, kwargs)
                if when is None or when.is_not_false(call):
                    return self._run(call, *self._asked(call))
                return self._run(call, *(self._unasked(call) if self._tracks else _NOTHING))

            body = waiting
        functools.update_wrapper(body, plain_function(function))
        body.__dict__["__wrapped__"] = function
        public = self._signature.public()
        body.__signature__ = public
        body.__annotations__ = {
            **{p.name: p.annotation for p in public.parameters.values() if p.annotation is not p.empty},
            **({} if public.return_annotation is public.empty else {"return": public.return_annotation}),
        }
        return body

    def _asked(self, call: Call) -> tuple[Named, Given]:
        """Park, or come back with what names the call and the answer that it has."""
        named = self._named(call)
        check_size(named)
        return named, self._given(call, named)

    def _unasked(self, call: Call) -> tuple[Named, Given | None]:
        """The same for a call that `when` lets through: no answer, unless one was given before it did."""
        named = self._named(call, lenient=True)
        if self._framework.answered(self._asker.value(named, call.call_args), call.call_args):
            return named, self._given(call, named)
        return named, None

    def _given(self, call: Call, named: Named) -> Given:
        return self._asker.ask(named, call.call_args, lambda answer: self._read(call, named, answer))

    def _let_through(self, call: Call) -> Named | None:
        """The name of a call that is not asked about; None where it can wait until somebody wants it."""
        return self._named(call, lenient=True) if self._tracks else None

    def _named(self, call: Call, *, lenient: bool = False) -> Named:
        return name_question(self._framework, self._published(call, lenient=lenient), call.call_args)

    def _published(self, call: Call, *, lenient: bool = False) -> JSON:
        if self._question is not None:
            return to_plain(self._asked_for(self._question, call, lenient), "question", lenient=lenient)
        shown = self._signature.shown(call)
        for name in self._redact:
            shown[name] = REDACTED
        return {"function": self._name, "args": to_plain(shown, "args", lenient=lenient, depth=1)}

    def _asked_for(self, question: Predicate, call: Call, lenient: bool) -> object:
        try:
            return question(call)
        except Exception:
            if lenient:  # nothing is asked, and a call that is let through must not fail for its name
                return None
            raise

    def _read(self, call: Call, named: Named, answer: Any) -> Any:
        if self._signature.decision is not None:
            return {}
        question: Any = named.question
        shown: Any = {} if self._question is not None else question["args"]
        edits = usable_edits(answer, shown, self._converted)
        if edits:
            self._signature.edited(call, edits)
        return edits

    def _converted(self, args: Mapping[str, JSON]) -> Mapping[str, Any]:
        return self._framework.convert_edits(self._signature.view, args)

    def _arguments(self, call: Call, given: Given | None) -> tuple[Sequence[Any], dict[str, Any]]:
        if given is None:
            return self._signature.arguments(call)
        edited = self._signature.edited(call, given.edits) if given.edits else call
        return self._signature.arguments(edited, given.answer, decided=True)

    def thread_id(self, call: Call) -> str:
        """The thread of the run."""
        return self._framework.current_thread_id(call.call_args)

    def idempotency_key(self, call: Call, named: Named | None) -> str:
        """What names the effect of the call, whether or not it had to be named for a question."""
        name = named or self._named(call, lenient=True)
        scope = self._framework.call_scope(call.call_args)
        return _identity.idempotency_key(self.thread_id(call), scope, name.fingerprint)

    def _run(self, call: Call, named: Named | None, given: Given | None) -> Any:
        if given is not None and given.edits is None:
            return given.answer
        as_called = self._signature.decision is None and (given is None or not given.edits)
        args, kwargs = (call.args, call.kwargs) if as_called else self._arguments(call, given)
        token = CURRENT.set((self, call, named, given))
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
        as_called = self._signature.decision is None and (given is None or not given.edits)
        args, kwargs = (call.args, call.kwargs) if as_called else self._arguments(call, given)
        token = CURRENT.set((self, call, named, given))
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

        declared = {"policy": self._policy, "function": signature.name, "framework": framework.name}

        def pending(call: Call) -> dict[str, Any]:
            question: Any = self._published(call)
            shown: JSON = question if self._question is not None else question["args"]
            return {
                "question": question,
                "shown": shown,
                "thread_id": framework.current_thread_id(call.call_args),
                "schema": self._schema(),
                **declared,
            }

        if inspect.iscoroutinefunction(self._function):

            async def announcing_async(*args: Any, **kwargs: Any) -> Any:
                call = signature.bind(args, kwargs)
                if self._when is not None and not await self._when.is_not_false_async(call):
                    return await self._run_async(call, self._let_through(call), None)
                return await announced.apublish(**pending(call))

            return cast("Callable[..., Coroutine[Any, Any, Any]]", announcing_async)

        def announcing(*args: Any, **kwargs: Any) -> Any:
            call = signature.bind(args, kwargs)
            if self._when is not None and not self._when.is_not_false(call):
                return self._run(call, self._let_through(call), None)
            return announced.publish(**pending(call))

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
