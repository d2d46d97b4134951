"""Whether an answer fits a JSON Schema, as far as its keywords are known here.

What is not known says nothing, so that no answer is refused for it.
"""

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: _is_number(value) and value == int(value),
    "number": _is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
_BOUNDS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "minimum": (operator.ge, "at least"),
    "maximum": (operator.le, "at most"),
    "exclusiveMinimum": (operator.gt, "above"),
    "exclusiveMaximum": (operator.lt, "below"),
}
_DEPTH = 64


def violation(value: Any, schema: Any, path: str = "answer") -> str | None:
    """Why a value does not fit, with where, and without any of its content; None when it does."""
    return next(_Check(schema).faults(value, schema, path, 0), None)


class _Check:
    def __init__(self, root: Any) -> None:
        self._root = root

    def faults(self, value: Any, schema: Any, path: str, depth: int) -> Iterator[str]:
        if schema is False:
            yield f"{path} is not expected"
        if not isinstance(schema, Mapping) or depth > _DEPTH:
            return
        rules = cast("Mapping[str, Any]", schema)
        if "$ref" in rules:
            yield from self.faults(value, self._resolved(rules["$ref"]), path, depth + 1)
        yield from _of_value(value, rules, path)
        for keyword in ("anyOf", "oneOf", "allOf"):
            yield from self._branches(keyword, value, rules, path, depth)
        if isinstance(value, dict):
            yield from self._properties(value, rules, path, depth)
        elif isinstance(value, list):
            yield from self._items(value, rules, path, depth)

    def _resolved(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not reference.startswith("#"):
            return True
        found = self._root
        for step in reference.removeprefix("#").removeprefix("/").split("/") if reference != "#" else ():
            name = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, Mapping) or name not in found:
                return True
            found = found[name]  # pyright: ignore[reportUnknownVariableType]  # of any type
        return found  # pyright: ignore[reportUnknownVariableType]

    def _branches(
        self, keyword: str, value: Any, rules: Mapping[str, Any], path: str, depth: int
    ) -> Iterator[str]:
        branches: list[Any] = rules.get(keyword) or []
        if not branches:
            return
        faults = [next(self.faults(value, branch, path, depth + 1), None) for branch in branches]
        if keyword == "allOf" or len(faults) == 1:
            yield from (fault for fault in faults if fault is not None)
        elif None not in faults:
            yield f"{path} fits none of the {len(faults)} forms that are allowed"

    def _properties(
        self, value: Mapping[str, Any], rules: Mapping[str, Any], path: str, depth: int
    ) -> Iterator[str]:
        properties: Mapping[str, Any] = rules.get("properties") or {}
        yield from (f"{path}.{name} is missing" for name in rules.get("required", ()) if name not in value)
        for name, schema in properties.items():
            if name in value:
                yield from self.faults(value[name], schema, f"{path}.{name}", depth + 1)
        if "patternProperties" not in rules and "additionalProperties" in rules:
            for name in value.keys() - properties.keys():
                yield from self.faults(
                    value[name], rules["additionalProperties"], f"{path}.{name}", depth + 1
                )

    def _items(self, value: Sequence[Any], rules: Mapping[str, Any], path: str, depth: int) -> Iterator[str]:
        least, most = rules.get("minItems", 0), rules.get("maxItems", len(value))
        if not least <= len(value) <= most:
            count = (
                str(least)
                if least == most
                else f"{least} to {most}"
                if "maxItems" in rules
                else f"{least} or more"
            )
            yield f"{path} has {len(value)} items and needs {count}"
        first: Sequence[Any] = rules.get("prefixItems", ())
        for n, item in enumerate(value):
            schema = first[n] if n < len(first) else rules.get("items", True)
            yield from self.faults(item, schema, f"{path}[{n}]", depth + 1)


def _of_value(value: Any, rules: Mapping[str, Any], path: str) -> Iterator[str]:
    types: Any = rules.get("type", ())
    names: Sequence[str] = (types,) if isinstance(types, str) else types
    if names and not any(_TYPES.get(name, lambda _: True)(value) for name in names):
        yield f"{path} is not of type {' or '.join(names)}"
    choices: Any = (rules["const"],) if "const" in rules else rules.get("enum")
    if choices is not None and not any(_equal(value, choice) for choice in choices):
        yield f"{path} is not one of {', '.join(map(repr, choices))}"
    if _is_number(value):
        for keyword, (holds, words) in _BOUNDS.items():
            if _is_number(rules.get(keyword)) and not holds(value, rules[keyword]):
                yield f"{path} is not {words} {rules[keyword]}"
    if isinstance(value, str):
        if not rules.get("minLength", 0) <= len(value) <= rules.get("maxLength", len(value)):
            yield f"{path} is too short or too long"
        if isinstance(rules.get("pattern"), str) and _searchable(rules["pattern"], value) is False:
            yield f"{path} does not match {rules['pattern']!r}"


def _equal(one: Any, other: Any) -> bool:
    return isinstance(one, bool) is isinstance(other, bool) and one == other


def _searchable(pattern: str, text: str) -> bool | None:
    """None where the pattern is of another dialect."""
    try:
        return re.search(pattern, text) is not None
    except re.error:
        return None
