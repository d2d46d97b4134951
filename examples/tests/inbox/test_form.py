"""What is drawn from a schema, and what is read from a form."""

import json
from typing import Any

import pytest
from agent_wait import InMemoryAnnounce, Question, WaitEnvelope, WaitPolicy, publish
from inbox.field import Field
from inbox.form import AnswerForm, InvalidAnswer, form_for
from inbox.schema import errors

BIG = 9007199254740993


def asked(
    question: Any, schema: Any, actions: tuple[str, ...] | None = ("approve", "reject")
) -> WaitEnvelope:
    policy = WaitPolicy(answer_schema=schema, allowed_actions=actions)
    [envelope] = publish([Question("q-1", question, policy)], "t-1", InMemoryAnnounce())
    return envelope


def for_args(args: dict[str, Any], properties: dict[str, Any], **root: Any) -> AnswerForm:
    """The form of a call, with a schema as the library derives it."""
    schema = {
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "action": {"const": "approve"},
                    "args": {"type": "object", "properties": properties, "additionalProperties": False},
                },
                "required": ["action"],
            },
            {"type": "object", "properties": {"action": {"const": "reject"}}, "required": ["action"]},
        ],
        **root,
    }
    return form_for(asked({"function": "f", "args": args}, schema))


def fields_of(form: AnswerForm) -> list[Field]:
    return [field for group in form.groups for field in group.fields]


def field_for(value: Any, schema: Any, **root: Any) -> tuple[AnswerForm, Field]:
    form = for_args({"x": value}, {"x": schema}, **root)
    return form, fields_of(form)[0]


NULL: dict[str, Any] = {"type": "null"}
DECIMAL: dict[str, Any] = {"anyOf": [{"type": "number", "exclusiveMinimum": 0.0}, {"type": "string"}]}


@pytest.mark.parametrize(
    ("schema", "value", "kind", "control"),
    [
        ({"type": "string"}, "rusty", "text", "rusty"),
        ({"type": "string"}, "", "text", ""),
        ({"type": "string"}, "two\nlines", "lines", "two\nlines"),
        ({"type": "string"}, "long " * 20, "lines", "long " * 20),
        ({"type": "integer"}, BIG, "integer", "9007199254740993"),
        ({"type": "number"}, 1.5, "number", "1.5"),
        (DECIMAL, "41000.00", "decimal", "41000.00"),
        (DECIMAL, 41000, "decimal", "41000"),
        ({"type": "string", "format": "date"}, "2026-12-31", "date", "2026-12-31"),
        ({"type": "string", "format": "date-time"}, "2026-12-31T18:00:00Z", "moment", "2026-12-31T18:00:00Z"),
        ({"type": "boolean"}, False, "choice", "1"),
        ({"enum": ["air", "sea"]}, "sea", "choice", "1"),
        ({"$ref": "#/$defs/Way"}, "air", "choice", "0"),
        ({"anyOf": [{"const": 1}, {"const": 2}]}, 2, "choice", "1"),
        ({"anyOf": [{"type": "integer"}, NULL]}, None, "integer", ""),
        ({"type": ["string", "null"]}, "x", "text", "x"),
        ({"anyOf": [{"$ref": "#/$defs/Way"}, NULL]}, None, "choice", "2"),
        ({"type": "array", "items": {"type": "integer"}}, [1], "json", "[\n  1\n]"),
        ({"type": "object"}, {"a": 1}, "json", '{\n  "a": 1\n}'),
        ({}, "any", "json", '"any"'),
        # Today's value is not what the schema says: nothing but JSON would carry it.
        ({"type": "integer"}, "10000000000000000000000", "json", '"10000000000000000000000"'),
        ({"type": "integer"}, True, "json", "true"),
        ({"enum": [1, 2]}, True, "json", "true"),
        ({"type": "string", "format": "date"}, "tomorrow", "json", '"tomorrow"'),
        (DECIMAL, "NaN", "json", '"NaN"'),
        ({"type": "string"}, None, "json", "null"),
        # A browser would drop or turn these around.
        ({"type": "string"}, "a\u202eb", "json", '"a\\u202eb"'),
        ({"type": "string"}, "a\rb", "json", '"a\\rb"'),
    ],
)
def test_a_value_is_drawn_by_its_schema_and_holds_what_it_is_today(
    schema: Any, value: Any, kind: str, control: str
) -> None:
    form, field = field_for(value, schema, **{"$defs": {"Way": {"enum": ["air", "sea"]}}})
    assert field.drawing is not None
    assert (field.drawing.kind, field.control) == (kind, control)
    untouched = {field.name: control.replace("\n", "\r\n")}
    if field.drawing.nullable and value is None:
        untouched[f"{field.name}.null"] = "on"
    assert form.read("approve", untouched) == {"action": "approve"}
    assert form.read("approve", {}) == {"action": "approve"}


@pytest.mark.parametrize(
    ("schema", "value", "posted", "sent"),
    [
        ({"type": "string"}, "a", "b", "b"),
        ({"type": "string"}, "a", "", ""),
        ({"type": "string"}, "a\nb", "a\r\nc", "a\nc"),
        ({"type": "integer"}, 1, str(BIG), BIG),
        ({"type": "integer"}, 1, " 2 ", 2),
        ({"type": "number"}, 1.5, "2.25", 2.25),
        ({"type": "number"}, 1.5, "2", 2),
        (DECIMAL, "41000.00", "9125.25", "9125.25"),
        (DECIMAL, "41000.00", "0.10000000000000000001", "0.10000000000000000001"),
        (DECIMAL, 41000, "9125.25", 9125.25),
        ({"type": "string", "format": "date"}, "2026-12-31", "2027-01-01", "2027-01-01"),
        ({"type": "boolean"}, False, "0", True),
        ({"enum": ["air", 2, None]}, "air", "1", 2),
        ({"enum": ["air", 2, None]}, "air", "2", None),
        ({"type": "array", "items": {"type": "integer"}}, [1], f"[{BIG}]", [BIG]),
        ({"type": "string"}, "a\u202eb", '"ab"', "ab"),
    ],
)
def test_a_changed_value_is_sent_as_what_it_is(schema: Any, value: Any, posted: str, sent: Any) -> None:
    form, field = field_for(value, schema)
    answer: Any = form.read("approve", {field.name: posted})
    assert answer == {"action": "approve", "args": {"x": sent}}
    assert type(answer["args"]["x"]) is type(sent)


@pytest.mark.parametrize(
    ("schema", "value", "posted", "advice"),
    [
        ({"type": "integer"}, 1, "1.5", "whole number"),
        ({"type": "integer"}, 1, "one", "whole number"),
        ({"type": "integer"}, 1, "", "needed"),
        ({"type": "integer", "maximum": 9}, 1, "10", "At most 9"),
        ({"type": "integer", "minimum": 1}, 1, "0", "At least 1"),
        ({"type": "number"}, 1.5, "1,5", "with a point"),
        ({"type": "number"}, 1.5, "1e400", "in digits"),
        ({"type": "number"}, 1.5, "0.10000000000000000001", "More digits"),
        (DECIMAL, "41000.00", "9,125.25", "with a point"),
        (DECIMAL, "41000.00", "0", "More than 0"),
        (DECIMAL, "41000.00", "half", "in digits"),
        ({"type": "string", "format": "date"}, "2026-12-31", "2026-02-30", "A date"),
        ({"type": "string", "format": "date-time"}, "2026-12-31T18:00:00Z", "2026-12-31T18:00", "zone"),
        ({"type": "boolean"}, False, "7", "Choose"),
        ({"type": "string", "maxLength": 3}, "abc", "abcd", "At most 3 characters"),
        ({"type": "string", "pattern": "^o-"}, "o-1", "p-1", "form"),
        ({"type": "array", "items": {"type": "integer"}}, [1], "[1", "not JSON"),
        ({"type": "array", "items": {"type": "integer"}}, [1], "[NaN]", "not JSON"),
        ({"type": "array", "items": {"type": "integer"}}, [1], '["a"]', "integer"),
    ],
)
def test_what_does_not_fit_is_told_next_to_its_field(
    schema: Any, value: Any, posted: str, advice: str
) -> None:
    form, field = field_for(value, schema)
    with pytest.raises(InvalidAnswer, match=advice) as raised:
        form.read("approve", {field.name: posted})
    assert list(raised.value.errors) == [field.name]


@pytest.mark.parametrize(
    ("value", "posted", "sent"),
    [
        (5, {"f.null": "on", "f": "5"}, {"x": None}),
        (5, {"f.null": "on", "f": ""}, {"x": None}),
        (None, {"f": "5"}, {"x": 5}),
        (None, {"f.null": "on", "f": ""}, None),
    ],
)
def test_not_set_is_a_value_of_its_own(value: Any, posted: dict[str, str], sent: Any) -> None:
    form, field = field_for(value, {"anyOf": [{"type": "integer"}, NULL]})
    answer: Any = form.read("approve", {name.replace("f", field.name): text for name, text in posted.items()})
    assert answer.get("args") == sent


def test_a_field_that_is_both_filled_in_and_not_set_is_asked_about() -> None:
    form, field = field_for(None, {"anyOf": [{"type": "integer"}, NULL]})
    with pytest.raises(InvalidAnswer, match="untick"):
        form.read("approve", {field.name: "5", f"{field.name}.null": "on"})


@pytest.mark.requirement("JS-NUMBER-ROUNDING")
def test_a_number_beyond_what_a_browser_counts_is_not_touched_by_editing_another_field() -> None:
    form = for_args(
        {"order_id": BIG, "note": "a"}, {"order_id": {"type": "integer"}, "note": {"type": "string"}}
    )
    order_id, note = fields_of(form)[:2]
    assert order_id.control == "9007199254740993"
    answer = form.read("approve", {order_id.name: order_id.control, note.name: "b"})
    assert answer == {"action": "approve", "args": {"note": "b"}}
    answer = form.read("approve", {order_id.name: "9007199254740995"})
    assert json.dumps(answer) == '{"action": "approve", "args": {"order_id": 9007199254740995}}'


@pytest.mark.requirement("SECRETS-IN-NOTIFICATION")
def test_what_is_redacted_has_no_control_and_is_never_sent() -> None:
    form = for_args(
        {"api_key": "[redacted]", "x": "a", "y": "b"},
        {"api_key": {"type": "string"}, "x": {"type": "string"}, "y": {"readOnly": True}},
    )
    key, x, y = fields_of(form)[:3]
    assert (key.drawing, y.drawing) == (None, None)
    posted = {key.name: "[redacted]", y.name: "c", x.name: "z"}
    assert form.read("approve", posted) == {"action": "approve", "args": {"x": "z"}}


def test_a_rejection_takes_a_reason_and_no_edits() -> None:
    form = for_args({"x": "a"}, {"x": {"type": "string"}})
    x, reason = fields_of(form)
    assert form.read("reject", {x.name: "b", reason.name: ""}) == {"action": "reject"}
    posted = {x.name: "b", reason.name: "too much"}
    assert form.read("reject", posted) == {"action": "reject", "reason": "too much"}
    assert form.read("approve", posted) == {"action": "approve", "args": {"x": "b"}}


def test_without_a_schema_there_are_the_actions_and_a_reason() -> None:
    form = form_for(asked({"function": "f", "args": {"x": 1}}, None, ("approve", "reject", "escalate")))
    assert form.actions == ("approve", "reject", "escalate")
    assert form.read("approve", {}) == {"action": "approve"}
    assert form.read("escalate", {"reason-escalate": "not mine"}) == {
        "action": "escalate",
        "reason": "not mine",
    }


def test_a_button_that_is_not_there_cannot_be_pressed() -> None:
    with pytest.raises(InvalidAnswer, match="Choose"):
        for_args({"x": 1}, {"x": {"type": "integer"}}).read("delete", {})


# Questions that are no calls.

PAPER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "paper": {"enum": ["matt", "gloss"]},
        "sheets": {"type": "integer", "default": 500, "minimum": 100},
        "on": {"type": "string", "format": "date"},
        "note": {"type": "string"},
    },
    "required": ["paper", "sheets"],
    "additionalProperties": False,
}


def test_a_question_with_a_flat_schema_is_answered_by_that_alone() -> None:
    form = form_for(asked("Which paper?", PAPER, None))
    assert [field.label for field in fields_of(form)] == ["Paper", "Sheets", "On", "Note"]
    paper, sheets, on, note = (field.name for field in fields_of(form))
    filled = {paper: "1", sheets: "500", on: "", note: ""}
    assert form.read("resume", filled) == {"paper": "gloss", "sheets": 500}
    filled = {paper: "0", sheets: "1000", on: "2026-12-31", note: "soon"}
    assert form.read("resume", filled) == {
        "paper": "matt",
        "sheets": 1000,
        "on": "2026-12-31",
        "note": "soon",
    }
    with pytest.raises(InvalidAnswer) as raised:
        form.read("resume", {sheets: "7"})
    assert raised.value.errors == {paper: "This is needed."}
    with pytest.raises(InvalidAnswer) as raised:
        form.read("resume", {paper: "0", sheets: "7"})
    assert raised.value.errors == {sheets: "At least 100."}


def test_several_actions_of_one_flat_schema_are_named_in_the_answer() -> None:
    schema = {"type": "object", "properties": {"note": {"type": "string"}}}
    form = form_for(asked("Publish?", schema, ("yes", "no")))
    [note] = fields_of(form)
    assert form.read("no", {note.name: "typos"}) == {"action": "no", "note": "typos"}


def test_a_flat_schema_of_a_call_still_edits_its_arguments() -> None:
    args = {"type": "object", "properties": {"x": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"action": {"enum": ["approve"]}, "args": args}}
    form = form_for(asked({"function": "f", "args": {"x": 1}}, schema))
    [x] = fields_of(form)
    assert form.read("approve", {x.name: "2"}) == {"action": "approve", "args": {"x": 2}}


@pytest.mark.parametrize(
    ("schema", "posted", "answer"),
    [
        ({"type": "string"}, "blue", "blue"),
        ({"type": "integer"}, "7", 7),
        ({"type": "boolean"}, "0", True),
        ({"enum": ["red", "blue"]}, "1", "blue"),
        ({"anyOf": [{"type": "integer"}, NULL]}, "7", 7),
    ],
)
def test_a_question_for_one_value_has_one_field(schema: Any, posted: str, answer: Any) -> None:
    form = form_for(asked("Well?", schema, None))
    [field] = fields_of(form)
    assert form.read("resume", {field.name: posted}) == answer
    with pytest.raises(InvalidAnswer, match="needed"):
        form.read("resume", {})


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "required": ["decisions"]},
        {"anyOf": [{"type": "object", "properties": {"kind": {"const": "a"}}}, {"type": "array"}]},
        {"allOf": [{"type": "object", "properties": {"a": {"type": "string"}}}]},
    ],
)
def test_a_schema_that_cannot_be_drawn_gets_a_field_for_json(schema: Any) -> None:
    form = form_for(asked("Well?", schema, None))
    [field] = fields_of(form)
    assert field.drawing is not None
    assert field.drawing.kind == "json"


def test_json_is_held_to_its_schema() -> None:
    form = form_for(asked("Well?", {"type": "array", "items": {"type": "string"}}, None))
    assert form.read("resume", {"f": '["a"]'}) == ["a"]
    for wrong in ("[1]", '{"a": 1}', "nonsense", ""):
        with pytest.raises(InvalidAnswer):
            form.read("resume", {"f": wrong})


def test_json_that_names_another_action_than_the_button_is_not_sent() -> None:
    form = form_for(asked("Well?", {"type": "object", "required": ["why"]}, ("yes", "no")))
    assert form.read("no", {"f": '{"why": "late"}'}) == {"action": "no", "why": "late"}
    with pytest.raises(InvalidAnswer, match="another action"):
        form.read("no", {"f": '{"why": "late", "action": "yes"}'})


def test_a_question_without_a_schema_takes_text_or_json() -> None:
    form = form_for(asked({"title": "Anything else?"}, None, None))
    assert form.read("resume", {"f": "5"}) == "5"
    assert form.read("resume", {"f": "5", "f.json": "on"}) == 5
    with pytest.raises(InvalidAnswer, match="not JSON"):
        form.read("resume", {"f": "five", "f.json": "on"})


@pytest.mark.parametrize("schema", [{"type": 7}, {"properties": []}])
def test_what_is_no_schema_at_all_is_as_none(schema: Any) -> None:
    form = form_for(asked({"function": "f", "args": {}}, schema))
    assert form.read("approve", {}) == {"action": "approve"}


def test_a_reference_to_somewhere_else_is_not_followed() -> None:
    schema = {"$ref": "http://127.0.0.1:9/schema.json"}
    [(path, what)] = errors("anything", schema)
    assert (path, "cannot be checked" in what) == ((), True)


def test_a_schema_that_refers_to_itself_is_entered_as_json() -> None:
    form, field = field_for([[]], {"$ref": "#/$defs/L"}, **{"$defs": {"L": {"$ref": "#/$defs/L"}}})
    assert field.drawing is not None
    assert field.drawing.kind == "json"
    assert form.read("approve", {}) == {"action": "approve"}
