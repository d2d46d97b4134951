"""How a waiting function is called, what of a call is published, and what the framework sees of it."""

import functools
import inspect
import sys
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Any, cast

from agent_wait._binder import binder
from agent_wait._errors import QuestionError
from agent_wait._framework import Framework

_Kind = inspect.Parameter
_SELF = ("self", "cls")
_UNRESOLVED: Any = object()
DECISION = "decision"
_IDENTIFYING = ("__module__", "__name__", "__qualname__", "__doc__")


class Call:
    """One call of a waiting function, bound.

    Attributes:
        values: Every parameter but the decision by its name, defaults applied, `self` included.
        call_args: What the framework sees: `values` without `self`, with the parameter that was added.
        args: What the function was called with, without the decision and what was added.
        kwargs: Likewise.
    """

    __slots__ = ("args", "call_args", "kwargs", "values")

    def __init__(
        self, values: dict[str, Any], call_args: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.values = values
        self.call_args = call_args
        self.args = args
        self.kwargs = kwargs


class WaitSignature:
    """The signature of a waiting function, taken apart once.

    Args:
        function: The function as its author wrote it.
        framework: Tells which parameters it injects.
        decision: The name of the decision parameter, if the function has it.
    """

    def __init__(self, function: Callable[..., Any], framework: Framework, decision: str) -> None:
        self._function = function
        self._framework = framework
        signature = _signature_of(function)
        self._raw = tuple(signature.parameters.values())
        self.decision = _decision(signature, decision)
        name = getattr(plain_function(function), "__qualname__", type(function).__qualname__)
        self._bind = binder((p for p in self._raw if p.name != self.decision), name)
        self.self_name = next((p.name for p in self._raw[:1] if p.name in _SELF), None)
        self._return = signature.return_annotation
        self._resolved = False
        self._resolve()

    def _resolve(self) -> None:
        """Look annotations up; a name that is defined later is looked up again at the first call."""
        function = inspect.unwrap(plain_function(self._function))
        hints = {p.name: p.annotation for p in self._raw if p.annotation is not _Kind.empty}
        if self._return is not inspect.Signature.empty:
            hints["return"] = self._return
        # One at a time: a name that only a type checker can see must not hide the others.
        found = {name: _resolved(function, annotation) for name, annotation in hints.items()}
        self._resolved = _UNRESOLVED not in found.values()
        hints |= {name: hint for name, hint in found.items() if hint is not _UNRESOLVED}
        self._parameters = tuple(
            p.replace(annotation=hints[p.name]) if p.name in hints else p for p in self._raw
        )
        self._return = hints.get("return", self._return)
        self.injected = frozenset(
            p.name for p in self._parameters if self._framework.is_injected(p, p.annotation)
        ) - {self.decision, self.self_name}
        hidden = self.injected | {self.decision, self.self_name}
        self.published = tuple(p.name for p in self._parameters if p.name not in hidden)
        self.view = self.view_of(self.published)
        full = inspect.Signature([p for p in self._parameters if p.name != self.decision])
        self.added = self._framework.added_parameter(full)
        if self.added is not None and self.added.name in full.parameters:
            raise TypeError(f"{self.name}: the parameter name {self.added.name!r} is taken by agent-wait")
        self._is_plain = self.added is None and self.self_name is None and self.decision is None

    @property
    def name(self) -> str:
        """The function's name, as it is published."""
        return getattr(plain_function(self._function), "__name__", type(self._function).__name__)

    def public(self) -> inspect.Signature:
        """What a framework sees: without the decision, with the parameter that is added."""
        parameters = [p for p in self._parameters if p.name != self.decision]
        if self.added is not None:
            parameters.insert(self._place_of_added(parameters), self.added)
        return inspect.Signature(parameters, return_annotation=self._return)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """Bind a call as Python would.

        Raises:
            TypeError: As the function itself would raise it.
        """
        if not self._resolved:
            self._resolve()
            self._resolved = True
        if self._is_plain:
            values = self._bind(*args, **kwargs)
            return Call(values, values, args, kwargs)
        context = None
        if self.added is not None:
            args, context = self._take_context(self.added, args, kwargs)
        if self.decision is not None:
            kwargs.pop(self.decision, None)
        values = self._bind(*args, **kwargs)
        call_args = {name: value for name, value in values.items() if name != self.self_name}
        if self.added is not None:
            call_args[self.added.name] = context
        return Call(values, call_args, args, kwargs)

    def shown(self, call: Call) -> dict[str, Any]:
        """The published arguments with their real values."""
        if len(self.published) == len(call.values):
            return call.values.copy()
        return {name: call.values[name] for name in self.published}

    def edited(self, call: Call, edits: Mapping[str, Any]) -> Call:
        """The call with some published arguments replaced.

        Raises:
            QuestionError: The function could not be called like that.
        """
        changed = dict(edits)
        for parameter in self._parameters:
            if parameter.name not in changed:
                continue
            if parameter.kind is _Kind.VAR_POSITIONAL:
                changed[parameter.name] = tuple(changed[parameter.name])
            elif parameter.kind is _Kind.VAR_KEYWORD:
                self._refuse_taken_names(parameter.name, changed[parameter.name])
        return Call({**call.values, **changed}, {**call.call_args, **changed}, call.args, call.kwargs)

    def arguments(
        self, call: Call, decision: Any = None, *, decided: bool = False
    ) -> tuple[list[Any], dict[str, Any]]:
        """What to call the function with.

        Args:
            call: The call.
            decision: The answer, for a function with a decision parameter.
            decided: Whether there is an answer; without one the parameter keeps its default.
        """
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for parameter in self._parameters:
            value: Any = call.values.get(parameter.name)
            if parameter.name == self.decision:
                kept = None if parameter.default is _Kind.empty else parameter.default
                value = decision if decided else kept
            if parameter.kind is _Kind.VAR_POSITIONAL:
                args.extend(value)
            elif parameter.kind is _Kind.VAR_KEYWORD:
                kwargs.update(value)
            elif parameter.kind is _Kind.KEYWORD_ONLY:
                kwargs[parameter.name] = value
            else:
                args.append(value)
        return args, kwargs

    def view_of(self, names: Collection[str]) -> Callable[..., Any]:
        """Something that bears the function's names and, as its signature, these parameters alone."""
        shown = [p for p in self._parameters if p.name in names]

        def view() -> None: ...

        functools.update_wrapper(view, plain_function(self._function), _IDENTIFYING, updated=())
        # Signature() checks the order of kinds and defaults, which leaving parameters out may have broken.
        view.__signature__ = inspect.Signature(shown, __validate_parameters__=False)
        return view

    def _place_of_added(self, parameters: list[inspect.Parameter]) -> int:
        if self.added is None or self.added.kind is not _Kind.KEYWORD_ONLY:
            return 0 if self.self_name is None else 1
        return next((n for n, p in enumerate(parameters) if p.kind is _Kind.VAR_KEYWORD), len(parameters))

    def _take_context(
        self, added: inspect.Parameter, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], Any]:
        context = kwargs.pop(added.name, None)
        if added.kind is not _Kind.KEYWORD_ONLY:
            place = 0 if self.self_name is None else 1
            if len(args) > place and self._framework.is_context(args[place]):
                return args[:place] + args[place + 1 :], args[place]
        return args, context if self._framework.is_context(context) else None

    def _refuse_taken_names(self, path: str, extra: Mapping[str, Any]) -> None:
        taken = {
            p.name for p in self._parameters if p.kind in (_Kind.POSITIONAL_OR_KEYWORD, _Kind.KEYWORD_ONLY)
        }
        if self.added is not None:
            taken.add(self.added.name)
        for name in extra:
            if name in taken:
                raise QuestionError("is a parameter of its own", f"{path}.{name}")


def _signature_of(function: Callable[..., Any]) -> inspect.Signature:
    if sys.version_info >= (3, 14):
        import annotationlib  # noqa: PLC0415  # new in 3.14, where annotations may name what is defined later

        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(function)


def _decision(signature: inspect.Signature, name: str) -> str | None:
    parameter = signature.parameters.get(name)
    if parameter is None:
        if name != DECISION:
            raise TypeError(f"decision={name!r} is no parameter of the function")
        return None
    if parameter.kind in (_Kind.VAR_POSITIONAL, _Kind.VAR_KEYWORD):
        raise TypeError(f"the decision parameter {name!r} takes one answer, so it has no asterisk")
    return name


def _resolved(function: Callable[..., Any], annotation: Any) -> Any:
    """What the annotation means where the function is written, or `_UNRESOLVED`."""

    def bearer() -> None: ...

    bearer.__annotations__ = {"it": annotation}
    names: dict[str, Any] = getattr(function, "__globals__", {})
    own = {parameter.__name__: parameter for parameter in getattr(function, "__type_params__", ())}
    try:
        return typing.get_type_hints(bearer, names, own, include_extras=True)["it"]
    except Exception:  # noqa: BLE001  # annotations may be any expression, and evaluating one raise anything
        return _UNRESOLVED


def plain_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself, below any `functools.partial`."""
    while isinstance(function, functools.partial):
        function = cast("Callable[..., Any]", function.func)
    return function
