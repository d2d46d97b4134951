"""Edited arguments by JSON types alone, for frameworks that bring no converter of their own."""

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from agent_wait._errors import QuestionError
from agent_wait._types import JSON

_NAMES: dict[Any, str] = {
    str: "text",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}


def check_edits(function: Callable[..., Any], args: Mapping[str, JSON]) -> dict[str, Any]:
    """See `Framework.convert_edits`."""
    parameters = inspect.signature(function).parameters
    for name, value in args.items():
        _check(parameter_type(parameters[name]), value, name)
    return dict(args)


def parameter_type(parameter: inspect.Parameter) -> Any:
    """The type of what is published under the parameter's name; `Any` without an annotation."""
    annotation: Any = parameter.annotation
    if annotation is inspect.Parameter.empty:
        annotation = Any
    if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
        return list[annotation]
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        return dict[str, annotation]
    return annotation


def _check(annotation: Any, value: JSON, path: str) -> None:
    origin: Any = typing.get_origin(annotation)
    inner: tuple[Any, ...] = typing.get_args(annotation)
    if annotation is Any or annotation is object:
        return
    if origin is typing.Annotated:
        _check(inner[0], value, path)
        return
    if origin in (typing.Union, types.UnionType):
        _check_union(inner, value, path)
        return
    if origin is typing.Literal:
        if not any(type(value) is type(choice) and value == choice for choice in inner):
            raise QuestionError(f"is one of {', '.join(map(repr, inner))}", path)
        return
    container: Any = origin or annotation
    if container is list:
        _check_list(inner[0] if inner else Any, value, path)
        return
    if container is dict and (not inner or inner[0] is str):
        _check_object(inner[1] if inner else Any, value, path)
        return
    if annotation is None:
        annotation = type(None)
    if annotation not in _NAMES:
        raise QuestionError("cannot be edited: nothing here converts to its type", path)
    fits = type(value) is annotation or (annotation is float and type(value) is int)
    if not fits:
        raise QuestionError(
            f"is {_NAMES[annotation]}, not {_NAMES.get(type(value), 'a list or an object')}", path
        )
    return


def _check_union(members: tuple[Any, ...], value: JSON, path: str) -> None:
    for member in members:
        try:
            _check(member, value, path)
            return
        except QuestionError:
            continue
    raise QuestionError("is of none of the types that the function takes", path)


def _check_list(item: Any, value: JSON, path: str) -> None:
    if not isinstance(value, list):
        raise QuestionError("is a list", path)
    for index, element in enumerate(value):
        _check(item, element, f"{path}[{index}]")


def _check_object(item: Any, value: JSON, path: str) -> None:
    if not isinstance(value, dict):
        raise QuestionError("is an object", path)
    for key, element in value.items():
        _check(item, element, f"{path}.{key}")
