"""Whether an answer fits a schema, and what is said of one that does not."""

from typing import Any

import pytest
from langgraph_wait._schema import violation

NESTED: Any = {
    "$defs": {"list": {"type": "array", "items": {"$ref": "#/$defs/list"}}},
    "$ref": "#/$defs/list",
}


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (True, 1),
        ({}, {"a": 1}),
        ({"type": "integer"}, 1.0),
        ({"type": "string", "format": "date"}, "no date"),
        ({"enum": ["a", None, 0]}, 0),
        (NESTED, [[], [[]]]),
        ({"oneOf": [{"type": "integer"}, {"minimum": 3}]}, 1),
    ],
    ids=str,
)
def test_an_answer_that_fits_is_not_refused(schema: Any, value: Any) -> None:
    assert violation(value, schema) is None


@pytest.mark.parametrize(
    "mistaken",
    [
        "no schema",
        None,
        {"type": "money"},
        {"pattern": "(?<name>"},
        {"properties": []},
        {"$ref": "#"},
        {"$ref": "https://example.org/schema"},
        {"$ref": "#/$defs/missing"},
    ],
    ids=str,
)
@pytest.mark.parametrize("value", ["a", {"a": 1}, [[[]]]])
def test_a_schema_that_is_none_or_that_is_elsewhere_refuses_nothing(mistaken: Any, value: Any) -> None:
    assert violation(value, mistaken) is None


@pytest.mark.parametrize(
    ("schema", "value", "why"),
    [
        ({"type": ["string", "null"]}, 1, "answer is not of type string or null"),
        ({"type": "integer"}, True, "answer is not of type integer"),
        ({"enum": ["a", 1]}, "b", "answer is not one of 'a', 1"),
        ({"enum": [0]}, False, "answer is not one of 0"),
        ({"const": "a"}, "b", "answer is not 'a'"),
        ({"minimum": 2}, 1, "answer is not at least 2"),
        ({"maximum": 2}, 3, "answer is not at most 2"),
        ({"exclusiveMinimum": 2}, 2, "answer is not above 2"),
        ({"exclusiveMaximum": 2}, 2, "answer is not below 2"),
        ({"minItems": 2}, [], "answer has 0 items and needs 2 or more"),
        ({"minItems": 1, "maxItems": 2}, [], "answer has 0 items and needs 1 to 2"),
        ({"minItems": 2, "maxItems": 2}, [1], "answer has 1 items and needs 2"),
        ({"minLength": 2}, "a", "answer is shorter than 2"),
        ({"maxLength": 2}, "abc", "answer is longer than 2"),
        ({"pattern": "^a"}, "b", "answer does not match '^a'"),
        (
            {"properties": {"a": {"items": {"type": "null"}}}},
            {"a": [None, 1]},
            "answer.a[1] is not of type null",
        ),
        ({"additionalProperties": False}, {"secret": 1}, "answer has properties that are not expected"),
        ({"additionalProperties": {"type": "null"}}, {"secret": 1}, "answer.* is not of type null"),
        ({"required": ["a", "b", "c"]}, {"b": 1}, "answer.a is missing"),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "b",
            "answer fits none of the 2 forms that are allowed",
        ),
        (
            {"oneOf": [{"minimum": 1}, {"minimum": 2}]},
            3,
            "answer fits several of the 2 forms that are allowed",
        ),
        ({"oneOf": [{"type": "integer"}]}, "b", "answer is not of type integer"),
        ({"allOf": [{"minimum": 1}]}, 0, "answer is not at least 1"),
        ({"not": {"type": "string"}}, "secret", "answer does not fit the not: {'type': 'string'}"),
        (False, "secret", "answer is not expected"),
        (NESTED, [[], [1]], "answer[1][0] is not of type array"),
    ],
    ids=str,
)
def test_the_reason_says_where_and_quotes_nothing_of_the_answer(schema: Any, value: Any, why: str) -> None:
    assert violation(value, schema) == why


def test_a_draft_that_a_schema_names_is_the_one_it_is_read_by() -> None:
    draft_7: Any = {"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "integer"}]}
    assert violation(["a"], draft_7) == "answer[0] is not of type integer"


def test_an_answer_deeper_than_can_be_looked_at_is_not_refused() -> None:
    value: Any = 1
    for _ in range(2_000):
        value = [value]
    assert violation(value, {"type": "array", "items": {"$ref": "#"}}) is None
