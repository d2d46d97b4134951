"""Whether an answer fits a JSON Schema, as `jsonschema` says, in words that quote nothing of the answer."""

import re
from collections.abc import Mapping
from typing import Any, cast

from jsonschema import Draft202012Validator, SchemaError, ValidationError
from jsonschema.validators import validator_for
from referencing import Registry
from referencing.exceptions import Unresolvable


def violation(value: Any, schema: Any) -> str | None:
    """Why a value does not fit, with where; None when it does.

    A schema that is none, that refers to one elsewhere, or that never ends, refuses nothing: nothing is
    fetched, and no answer is lost for a mistake that is not its own.
    """
    if not isinstance(schema, (bool, Mapping)):
        return None
    try:
        kind: Any = validator_for(schema, default=Draft202012Validator)
        kind.check_schema(schema)
        error: ValidationError | None = next(kind(schema, registry=Registry()).iter_errors(value), None)
    except (SchemaError, Unresolvable, RecursionError, re.error):
        return None
    return None if error is None else _sentence(error)


def _place(error: ValidationError) -> str:
    """Where, as far as the schema names it: other names are the answer's own."""
    named = set(map(str, error.absolute_schema_path))
    steps = (
        f"[{step}]" if isinstance(step, int) else f".{step}" if step in named else ".*"
        for step in error.absolute_path
    )
    return "answer" + "".join(steps)


def _sentence(error: ValidationError) -> str:
    place, keyword = _place(error), cast("str | None", error.validator)
    rule: Any = error.validator_value
    value: Any = error.instance
    branches: list[ValidationError] = list(error.context or ())
    if keyword in ("anyOf", "oneOf") and len(rule) > 1:
        return f"{place} fits {'none' if branches else 'several'} of the {len(rule)} forms that are allowed"
    if branches:
        return _sentence(branches[0])
    match keyword:
        case None:
            return f"{place} is not expected"
        case "type":
            return f"{place} is not of type {rule if isinstance(rule, str) else ' or '.join(rule)}"
        case "enum":
            return f"{place} is not one of {', '.join(map(repr, rule))}"
        case "required":
            return f"{place}.{next(name for name in rule if name not in value)} is missing"
        case "additionalProperties":
            return f"{place} has properties that are not expected"
        case "minItems" | "maxItems":
            return f"{place} has {len(value)} items and needs {_number(error.schema)}"
        case _:
            return f"{place} {_WORDS.get(keyword, f'does not fit the {keyword}:')} {rule!r}"


def _number(rules: Any) -> str:
    least, most = rules.get("minItems", 0), rules.get("maxItems")
    if most is None:
        return f"{least} or more"
    return f"{least}" if least == most else f"{least} to {most}"


_WORDS: Mapping[str, str] = {
    "const": "is not",
    "minimum": "is not at least",
    "maximum": "is not at most",
    "exclusiveMinimum": "is not above",
    "exclusiveMaximum": "is not below",
    "minLength": "is shorter than",
    "maxLength": "is longer than",
    "pattern": "does not match",
}
