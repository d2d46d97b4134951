"""Edited arguments and answer schemas by the function's annotations, with pydantic.

The one module that may use pydantic: frameworks that bring it override `Framework.convert_edits` and
`Framework.schema_for` by one line each that calls this. The core's defaults never look at what happens to
be installed.
"""

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, cast

from agent_wait._canonical import encode
from agent_wait._errors import QuestionError
from agent_wait._json_types import parameter_type
from agent_wait._types import JSON

if typing.TYPE_CHECKING:
    from pydantic import TypeAdapter

_NUMBERS = ("builtins.int", "builtins.float", "decimal.Decimal", "fractions.Fraction")


def convert_edits(function: Callable[..., Any], args: Mapping[str, JSON]) -> dict[str, Any]:
    """Edited arguments as the function declares them; see `Framework.convert_edits`.

    Pydantic's lax JSON rules, with these of our own: base64 text becomes `bytes`, and a bool is no number
    nor a number a bool. Fields of pydantic models and dataclasses follow their authors' rules.

    Raises:
        QuestionError: A value does not fit; the message says why without repeating the value.
    """
    from pydantic import ValidationError  # noqa: PLC0415  # optional: only frameworks that bring it come here

    parameters = inspect.signature(function).parameters
    converted: dict[str, Any] = {}
    for name, value in args.items():
        annotation = parameter_type(parameters[name])
        if annotation is Any:
            converted[name] = value
            continue
        adapter = _adapter(annotation, name)
        try:
            converted[name] = adapter.validate_json(encode(value))
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
            raise QuestionError(first["msg"], f"{name}{where}") from error
        except Exception as error:
            raise QuestionError(f"could not be read: {type(error).__name__}", name) from error
    return converted


def schema_for(function: Callable[..., Any]) -> JSON | None:
    """A JSON Schema object of the published arguments; see `Framework.schema_for`.

    A parameter whose type has no JSON Schema cannot be edited and is left out. Shared definitions stand
    under `$defs`, referred to as `#/$defs/...`.
    """
    from pydantic import TypeAdapter  # noqa: PLC0415  # as above
    from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError  # noqa: PLC0415

    adapters: list[tuple[str, TypeAdapter[Any]]] = []
    for name, parameter in inspect.signature(function).parameters.items():
        try:
            adapter = _adapter(parameter_type(parameter), name, arbitrary=False)
            adapter.json_schema()
        except (
            QuestionError,
            PydanticInvalidForJsonSchema,
            PydanticSchemaGenerationError,
            PydanticUserError,
        ):
            continue
        adapters.append((name, adapter))
    by_key, shared = TypeAdapter.json_schemas([(name, "validation", adapter) for name, adapter in adapters])
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: by_key[name, "validation"] for name, _ in adapters},
        "additionalProperties": False,
    }
    if "$defs" in shared:
        schema["$defs"] = shared["$defs"]
    return cast("JSON", schema)


def _adapter(annotation: Any, name: str, *, arbitrary: bool = True) -> "TypeAdapter[Any]":
    from pydantic import ConfigDict, TypeAdapter  # noqa: PLC0415  # as above
    from pydantic.errors import PydanticUserError  # noqa: PLC0415

    guarded = _guarded(annotation)
    config = ConfigDict(arbitrary_types_allowed=arbitrary, val_json_bytes="base64", ser_json_bytes="base64")
    try:
        return TypeAdapter(guarded, config=config)
    except PydanticUserError as error:
        if error.code != "type-adapter-config-unused":
            raise QuestionError("cannot be edited: its type is not understood", name) from error
        return TypeAdapter(guarded)
    except Exception as error:
        raise QuestionError("cannot be edited: its type is not understood", name) from error


def _guarded(annotation: Any) -> Any:
    """The annotation with numbers that refuse a bool, and bools that refuse everything else."""
    if annotation is bool:
        from pydantic import Strict  # noqa: PLC0415  # as above

        return Annotated[bool, Strict()]
    if isinstance(annotation, type) and f"{annotation.__module__}.{annotation.__qualname__}" in _NUMBERS:
        from pydantic import BeforeValidator  # noqa: PLC0415  # as above

        return Annotated[annotation, BeforeValidator(_no_bool)]
    origin: Any = typing.get_origin(annotation)
    inner: tuple[Any, ...] = typing.get_args(annotation)
    if origin is Annotated:
        return Annotated[(_guarded(inner[0]), *annotation.__metadata__)]
    if origin is typing.Literal or not inner or origin is None:
        return annotation
    if origin in (typing.Union, types.UnionType):
        return typing.Union[tuple(_guarded(member) for member in inner)]  # noqa: UP007  # built from a tuple
    if isinstance(origin, type) and origin in (list, set, frozenset, tuple, dict):
        generic = cast("Any", origin)
        return generic[tuple(member if member is Ellipsis else _guarded(member) for member in inner)]
    return annotation


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a bool is no number")  # noqa: TRY004  # pydantic turns a ValueError into its own
    return value
