"""Edited arguments and answer schemas by the function's annotations, with pydantic.

The one module that may use pydantic: frameworks that bring it override `Framework.convert_edits` and
`Framework.schema_for` by one line each that calls this. The core's defaults never look at what happens to
be installed.
"""

import binascii
import inspect
import typing
from collections.abc import Callable, Mapping
from typing import Any, cast

from agent_wait._canonical import encode
from agent_wait._errors import QuestionError
from agent_wait._json_types import parameter_type
from agent_wait._types import JSON

if typing.TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

_NUMBERS = ("int", "float", "decimal", "complex", "fraction")
# Parts of a core schema that hold values of other kinds than schemas.
_NO_SCHEMAS = ("default", "expected", "metadata", "serialization")


def convert_edits(function: Callable[..., Any], args: Mapping[str, JSON]) -> dict[str, Any]:
    """Edited arguments as the function declares them; see `Framework.convert_edits`.

    Pydantic's lax JSON rules, with these of our own, at every depth: base64 text becomes `bytes`, since that
    is how they were shown; a bool is no number, nor a number a bool; fields go by their names as well as by
    their aliases.

    Raises:
        QuestionError: A value does not fit; the message says why without repeating the value.
        ImportError: There is no pydantic.
    """
    _need_pydantic()
    from pydantic import ValidationError  # noqa: PLC0415  # optional: only frameworks that bring it come here

    parameters = inspect.signature(function).parameters
    converted: dict[str, Any] = {}
    for name, value in args.items():
        annotation = parameter_type(parameters[name])
        if annotation is Any:
            converted[name] = value
            continue
        validator = _validator(annotation, name)
        try:
            converted[name] = validator.validate_json(encode(value), by_alias=True, by_name=True)
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            raise QuestionError(first["msg"], f"{name}{_place(first['loc'])}") from error
        except Exception as error:
            raise QuestionError(f"could not be read: {type(error).__name__}", name) from error
    return converted


def _need_pydantic() -> None:
    try:
        import pydantic  # noqa: PLC0415, F401  # pyright: ignore[reportUnusedImport]  # as above
    except ImportError as error:
        raise ImportError(
            "agent_wait.convert_edits and schema_for need pydantic: pip install pydantic"
        ) from error


def schema_for(function: Callable[..., Any]) -> JSON | None:
    """A JSON Schema object of the published arguments; see `Framework.schema_for`.

    A parameter whose type has no JSON Schema cannot be edited and is `readOnly`. Shared definitions stand
    under `$defs`, referred to as `#/$defs/...`.
    """
    _need_pydantic()
    from pydantic import TypeAdapter  # noqa: PLC0415  # as above
    from pydantic.errors import PydanticUserError  # noqa: PLC0415  # as above

    adapters: dict[str, TypeAdapter[Any]] = {}
    parameters = inspect.signature(function).parameters
    for name, parameter in parameters.items():
        try:
            adapter = _adapter(parameter_type(parameter), name, arbitrary=False)
            adapter.json_schema(by_alias=False)
        except (QuestionError, PydanticUserError):
            continue
        adapters[name] = adapter
    by_key, shared = TypeAdapter.json_schemas(
        [(name, "validation", adapter) for name, adapter in adapters.items()], by_alias=False
    )
    properties = {
        name: by_key[name, "validation"] if name in adapters else {"readOnly": True} for name in parameters
    }
    schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if "$defs" in shared:
        schema["$defs"] = shared["$defs"]
    return cast("JSON", schema)


def _adapter(annotation: Any, name: str, *, arbitrary: bool = True) -> "TypeAdapter[Any]":
    from pydantic import ConfigDict, TypeAdapter  # noqa: PLC0415  # as above
    from pydantic.errors import PydanticUserError  # noqa: PLC0415

    config = ConfigDict(arbitrary_types_allowed=arbitrary, val_json_bytes="base64", ser_json_bytes="base64")
    try:
        return TypeAdapter(annotation, config=config)
    except PydanticUserError as error:
        if error.code != "type-adapter-config-unused":
            raise QuestionError("cannot be edited: its type is not understood", name) from error
        return TypeAdapter(annotation)
    except Exception as error:
        raise QuestionError("cannot be edited: its type is not understood", name) from error


def _validator(annotation: Any, name: str) -> "SchemaValidator":
    from pydantic_core import SchemaValidator  # noqa: PLC0415  # as above

    build: Any = SchemaValidator
    try:
        guarded = _guarded(_adapter(annotation, name).core_schema)
        # Else models bring the validators that they were made with, which know nothing of what follows.
        if "_use_prebuilt" in (build.__text_signature__ or ""):
            return build(guarded, _use_prebuilt=False)
        return build(guarded)
    except QuestionError:
        raise
    except Exception as error:
        raise QuestionError("cannot be edited: its type is not understood", name) from error


def _guarded(schema: Any) -> Any:
    """A core schema whose every part reads what was shown, and takes no bool for a number."""
    if isinstance(schema, list | tuple):
        parts = cast("list[Any]", schema)
        return type(parts)(_guarded(part) for part in parts)
    if not isinstance(schema, dict):
        return schema
    part: dict[str, Any] = {
        key: value if key in _NO_SCHEMAS else _guarded(value)
        for key, value in cast("dict[str, Any]", schema).items()
    }
    kind = part.get("type")
    if kind == "bool":
        return {**part, "strict": True}
    if kind == "bytes":
        return _before(_from_base64, part)
    if kind == "literal":
        return _before(_same_kind(part["expected"]), part)
    if kind == "enum":
        return _before(_same_kind([member.value for member in part["members"]]), part)
    return _before(_no_bool, part) if kind in _NUMBERS else part


def _before(function: Callable[[Any], Any], schema: dict[str, Any]) -> dict[str, Any]:
    reference: Any = {"ref": schema.pop("ref")} if "ref" in schema else {}
    return {
        "type": "function-before",
        "function": {"type": "no-info", "function": function},
        "schema": schema,
        **reference,
    }


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("a bool is no number")  # noqa: TRY004  # pydantic turns a ValueError into its own
    return value


def _same_kind(choices: list[Any]) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        equal = [choice for choice in choices if choice == value]
        if equal and not any(isinstance(choice, bool) is isinstance(value, bool) for choice in equal):
            raise ValueError("a bool is no number")
        return value

    return check


def _from_base64(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return binascii.a2b_base64(value, strict_mode=True)
    except ValueError as error:
        raise ValueError("is not base64") from error


def _place(location: tuple[int | str, ...]) -> str:
    """Where in an argument; what pydantic calls the branches of a union is left out."""
    return "".join(
        f"[{step}]" if isinstance(step, int) else f".{step}" for step in location if not _is_branch(step)
    )


def _is_branch(step: int | str) -> bool:
    return isinstance(step, str) and any(mark in step for mark in "[](),")
