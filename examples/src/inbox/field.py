"""One control of a form: what it holds before anybody has touched it, and what was made of it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from agent_wait import JSON

from inbox.schema import NUMBER, Drawing, as_number, is_date, is_moment, out_of_bounds, same
from inbox.text import as_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One control.

    Attributes:
        name: Of the control; the same on every look at the question.
        path: Where its value goes in the answer; empty: it is the answer.
        drawing: How it is entered; None: it is shown and cannot be changed.
        value: Today's, if `has_value`.
        control: What the control holds before anybody has touched it.
    """

    name: str
    path: tuple[str, ...]
    label: str
    hint: str = ""
    drawing: Drawing | None
    required: bool = False
    has_value: bool = False
    value: JSON = None
    control: str = ""


def control_text(drawn: Drawing, value: JSON) -> str:
    """What the control of a value holds."""
    if drawn.kind == "choice":
        return str(next(index for index, choice in enumerate(drawn.choices) if same(choice, value)))
    if drawn.kind == "json":
        return as_json(value, indent=2)
    if value is None:
        return ""
    return value if isinstance(value, str) else as_json(value)


def read_field(each: Field, posted: Mapping[str, str]) -> tuple[JSON, bool]:
    """The value of a control, and whether it is to be sent.

    Raises:
        ValueError: It does not fit; says what to do about it.
    """
    drawn = each.drawing
    if drawn is None:
        return None, False
    is_edit = each.path[:1] == ("args",)
    unchanged = each.value, each.has_value and not is_edit
    if each.name not in posted and (each.has_value or not each.required):
        return unchanged
    # A browser sends each line end as CR LF.
    text = posted.get(each.name, "").replace("\r\n", "\n")
    if drawn.nullable and f"{each.name}.null" in posted:
        if text not in ("", each.control):
            raise ValueError("Either untick “not set”, or clear the field.")
        return None, not (each.has_value and each.value is None)
    if each.has_value and text == each.control and (each.value is not None or not drawn.nullable):
        return unchanged
    if text.strip() == "" and (drawn.kind not in ("text", "lines") or not each.has_value):
        if each.required or each.has_value:
            raise ValueError("This is needed.")
        return None, False
    if drawn.kind == "free":
        return (_json(text) if f"{each.name}.json" in posted else text), True
    value = _parse(drawn, text, as_text=not each.has_value or isinstance(each.value, str | None))
    return value, not (is_edit and each.has_value and same(value, each.value))


def _parse(drawn: Drawing, text: str, *, as_text: bool) -> JSON:
    trimmed = text.strip()
    match drawn.kind:
        case "text" | "lines" | "free":
            return text
        case "json":
            return _json(text)
        case "choice":
            if not re.fullmatch(r"[0-9]{1,4}", trimmed) or int(trimmed) >= len(drawn.choices):
                raise ValueError("Choose one of these.")
            return drawn.choices[int(trimmed)]
        case "date":
            if not is_date(trimmed):
                raise ValueError("A date, such as 2026-12-31.")
            return trimmed
        case "moment":
            if not is_moment(trimmed):
                raise ValueError("A date and time with its zone, such as 2026-12-31T18:00:00Z.")
            return trimmed
        case "integer":
            if not re.fullmatch(r"-?[0-9]{1,60}", trimmed):
                raise ValueError("A whole number, in digits.")
            return int(trimmed)
        case "number" | "decimal":
            return _number(drawn, trimmed, as_text=as_text and drawn.kind == "decimal")


def _number(drawn: Drawing, text: str, *, as_text: bool) -> JSON:
    if not NUMBER.fullmatch(text):
        raise ValueError("A number in digits, with a point for decimals, such as 9125.25.")
    if drawn.bounds and (wrong := out_of_bounds(Decimal(text), drawn.bounds)):
        raise ValueError(wrong)
    if as_text:
        return text
    number = as_number(text)
    if number is None:
        raise ValueError("More digits than can be sent.")
    return number


def _json(text: str) -> JSON:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ValueError("This is not JSON; text goes in double quotes.") from error


def _no_constant(name: str) -> None:
    raise ValueError(name)
