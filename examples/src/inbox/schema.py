"""What a form needs to know of a JSON Schema."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, cast

from agent_wait import JSON
from jsonschema import Draft202012Validator, FormatChecker, SchemaError, ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from inbox.text import as_json, has_odd

Kind = Literal["text", "lines", "integer", "number", "decimal", "date", "moment", "choice", "json", "free"]
Schema = Mapping[str, Any]

NUMBER = re.compile(r"-?[0-9]{1,60}(\.[0-9]{1,60})?")
_LINE = 40
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """How a value is entered.

    Attributes:
        kind: `decimal` is a number whose text is sent, so that no digit is lost; `json` takes what the others
            cannot; `free` is text, or JSON where one says so.
        nullable: Whether null is a value too.
        choices: Of a `choice`.
        bounds: Of a `decimal`, whose schema cannot state them of text.
    """

    kind: Kind
    nullable: bool = False
    choices: tuple[JSON, ...] = ()
    bounds: Schema | None = None


def usable(schema: Any) -> bool:
    """Whether it is a schema at all."""
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return False
    return isinstance(schema, dict)


def resolved(schema: Any, root: Schema) -> Schema:
    """What a reference to the root's definitions stands for; `{}` where that cannot be told."""
    for _ in range(20):
        if not isinstance(schema, Mapping):
            return {}
        found = cast("Schema", schema)
        if "$ref" not in found:
            return found
        schema = _at(root, found["$ref"])
    return {}


def _at(root: Any, reference: str) -> Any:
    if not reference.startswith("#/"):
        return {}
    for part in reference[2:].split("/"):
        if not isinstance(root, Mapping):
            return {}
        root = cast("Schema", root).get(part.replace("~1", "/").replace("~0", "~"))
    return root


def drawing(schema: Any, root: Schema, value: JSON, *, has_value: bool) -> Drawing:
    """How a value of that schema is entered, where it now is `value`, if it is anything."""
    found = _drawing(resolved(schema, root), root)
    if found.kind == "text" and isinstance(value, str) and ("\n" in value or len(value) > _LINE):
        found = Drawing(kind="lines", nullable=found.nullable)
    if has_value and not _carries(found, value):
        return Drawing(kind="json")
    return found


def _drawing(schema: Schema, root: Schema) -> Drawing:
    if "enum" in schema:
        return Drawing(kind="choice", choices=tuple(schema["enum"]))
    if "const" in schema:
        return Drawing(kind="choice", choices=(schema["const"],))
    options: list[Schema] = schema.get("anyOf") or schema.get("oneOf") or []
    if isinstance(schema.get("type"), list):
        types: list[str] = schema["type"]
        options = [{**schema, "type": each} for each in types]
    if options:
        return _one_of([resolved(each, root) for each in options], root)
    type_: str = schema.get("type", "")
    format_: str = schema.get("format", "")
    match type_, format_:
        case "string", "date":
            return Drawing(kind="date")
        case "string", "date-time":
            return Drawing(kind="moment")
        case "string", _:
            return Drawing(kind="text")
        case "boolean", _:
            return Drawing(kind="choice", choices=(True, False))
        case ("integer" | "number") as kind, _:
            return Drawing(kind=kind)
        case _:
            return Drawing(kind="json")


def _one_of(options: list[Schema], root: Schema) -> Drawing:
    nullable = any(option.get("type") == "null" for option in options)
    options = [option for option in options if option.get("type") != "null"]
    types = {option.get("type") for option in options}
    if types == {"number", "string"}:
        number = next(option for option in options if option["type"] == "number")
        bounds = {name: number[name] for name in _BOUNDS if name in number}
        return Drawing(kind="decimal", nullable=nullable, bounds=bounds)
    drawn = [_drawing(option, root) for option in options]
    if drawn and all(each.kind == "choice" for each in drawn):
        choices = tuple(choice for each in drawn for choice in each.choices)
        return Drawing(kind="choice", choices=(*choices, None) if nullable else choices)
    if len(drawn) != 1 or drawn[0].kind == "json":
        return Drawing(kind="json")
    return Drawing(kind=drawn[0].kind, nullable=nullable or drawn[0].nullable, bounds=drawn[0].bounds)


def _carries(drawing: Drawing, value: JSON) -> bool:
    """Whether the control can show the value and give it back unchanged."""
    if drawing.kind == "choice":
        return any(same(value, choice) for choice in drawing.choices)
    if value is None:
        return drawing.nullable or drawing.kind == "json"
    match drawing.kind:
        case "text" | "lines" | "moment":
            return isinstance(value, str) and not has_odd(value)
        case "date":
            return isinstance(value, str) and is_date(value)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "decimal":
            text = value if isinstance(value, str) else as_json(value)
            return not isinstance(value, bool) and NUMBER.fullmatch(text) is not None
        case _:
            return True


def errors(answer: JSON, schema: Schema) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Where an answer does not fit, and what to do about it. Nothing is ever fetched for a reference."""
    validator = Draft202012Validator(schema, registry=Registry(), format_checker=_FORMATS)
    try:
        for error in validator.iter_errors(answer):
            yield tuple(error.absolute_path), advice(error)
    except Unresolvable:
        yield (), "The schema of this answer refers to something outside of it, so that it cannot be checked."


def out_of_bounds(number: Decimal, bounds: Schema) -> str | None:
    for error in Draft202012Validator(bounds).iter_errors(cast("Any", number)):
        return advice(error)
    return None


def advice(error: ValidationError) -> str:
    limit: Any = error.validator_value
    match error.validator:
        case "minimum":
            return f"At least {limit}."
        case "maximum":
            return f"At most {limit}."
        case "exclusiveMinimum":
            return f"More than {limit:g}."
        case "exclusiveMaximum":
            return f"Less than {limit:g}."
        case "minLength":
            return f"At least {limit} characters."
        case "maxLength":
            return f"At most {limit} characters."
        case "multipleOf":
            return f"A multiple of {limit}."
        case "pattern":
            return f"Not of the form {limit}"
        case "format":
            return f"Not a valid {limit}."
        case "required":
            return f"Something is missing: {error.message}."
        case _:
            return f"{error.message}."


def same(one: JSON, other: JSON) -> bool:
    """Equal as JSON: 1, 1.0 and true are three values."""
    return as_json(one) == as_json(other)


def as_number(text: str) -> int | float | None:
    """The JSON number of that text; None where a float would not say the same."""
    if "." not in text:
        return int(text)
    number = float(text)
    return number if math.isfinite(number) and Decimal(repr(number)) == Decimal(text) else None


def is_date(text: str) -> bool:
    if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return False
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def is_moment(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


_FORMATS = FormatChecker(formats=())
_FORMATS.checks("date")(lambda value: not isinstance(value, str) or is_date(value))
_FORMATS.checks("date-time")(lambda value: not isinstance(value, str) or is_moment(value))
