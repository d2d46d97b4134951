"""Whether an answer fits a schema: the same as `jsonschema` says, for every keyword that is known here."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph_wait._schema import violation

SCHEMAS: list[Any] = [
    True,
    False,
    {},
    {"type": "integer"},
    {"type": ["string", "null"]},
    {"const": 1},
    {"const": True},
    {"enum": ["a", None, 0]},
    {"type": "number", "minimum": 0, "exclusiveMaximum": 3},
    {"maximum": 1, "exclusiveMinimum": -1},
    {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^a"},
    {"type": "array", "items": {"type": "integer"}, "minItems": 1, "maxItems": 2},
    {"type": "array", "minItems": 1},
    {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False},
    {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": True}, "additionalProperties": False},
    {"type": "object", "additionalProperties": {"type": "string"}},
    {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    {"allOf": [{"type": "number"}, {"minimum": 1}]},
    {"oneOf": [{"type": "integer"}]},
    {"$defs": {"n": {"type": "integer"}}, "type": "array", "items": {"$ref": "#/$defs/n"}},
    {"$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}, "$ref": "#/$defs/t"},
    {"type": "array", "items": {"$ref": "#"}},
    {"$defs": {"a/b": {"type": "null"}}, "anyOf": [{"$ref": "#/$defs/a~1b"}, {"type": "array"}]},
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 5) | st.floats(-2, 4) | st.text("ab", max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=6,
)


@given(schema=st.sampled_from(SCHEMAS), value=JSON)
def test_an_answer_fits_exactly_when_jsonschema_says_so(schema: Any, value: Any) -> None:
    valid = jsonschema.Draft202012Validator(schema).is_valid(value)
    assert (violation(value, schema) is None) is valid


@pytest.mark.parametrize(
    "unknown",
    [
        {"type": "money"},
        {"format": "date"},
        {"not": {"type": "string"}},
        {"patternProperties": {"^a": {}}, "additionalProperties": False},
        {"$ref": "https://example.org/schema"},
        {"$ref": "#/$defs/missing"},
        {"pattern": "(?<name>"},
        {"oneOf": [{"type": ["string", "object"]}, {"minLength": 0}]},
        {"unevaluatedProperties": False},
        "no schema",
    ],
    ids=str,
)
@pytest.mark.parametrize("value", ["a", {"a": 1}])
def test_what_is_not_known_here_refuses_nothing(unknown: Any, value: Any) -> None:
    assert violation(value, unknown) is None


@pytest.mark.parametrize(
    ("schema", "value", "why"),
    [
        ({"type": ["string", "null"]}, 1, "answer is not of type string or null"),
        ({"enum": ["a", 1]}, "b", "answer is not one of 'a', 1"),
        ({"minimum": 2}, 1, "answer is not at least 2"),
        ({"minItems": 2}, [], "answer has 0 items and needs 2 or more"),
        ({"minItems": 1, "maxItems": 2}, [], "answer has 0 items and needs 1 to 2"),
        ({"minLength": 2}, "a", "answer is too short or too long"),
        ({"pattern": "^a"}, "b", "answer does not match '^a'"),
        (
            {"properties": {"a": {"items": {"type": "null"}}}},
            {"a": [None, 1]},
            "answer.a[1] is not of type null",
        ),
        ({"additionalProperties": False}, {"x": 1}, "answer.x is not expected"),
        ({"required": ["a"]}, {}, "answer.a is missing"),
    ],
)
def test_the_reason_says_where_and_quotes_nothing_of_the_answer(schema: Any, value: Any, why: str) -> None:
    assert violation(value, schema) == why


def test_a_schema_that_never_ends_is_not_followed_for_ever() -> None:
    assert violation(1, {"$ref": "#"}) is None


def test_a_deep_answer_is_looked_at_as_far_as_it_is_sensible() -> None:
    value: Any = 1
    for _ in range(100):
        value = [value]
    assert violation(value, {"type": "array", "items": {"$ref": "#"}}) is None
