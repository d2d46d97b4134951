"""How values of types that JSON does not have are written.

Types outside of the language itself are recognised by what they offer, or looked up in `sys.modules`, since a
value of a type can only be there once its module is. Nothing is imported.
"""

import binascii
import enum
import logging
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Final, Literal, cast
from weakref import WeakSet

from agent_wait._duration import format_duration

_log = logging.getLogger("agent_wait")

UNKNOWN: Final = object()
MASK = "**********"
REDACTED = "[redacted]"
_LEAVES = (str, int, float, bool, type(None))
# A dump may give an object that has a dump of its own, but not for ever.
_MAX_DUMPS = 10

# Below this, sys.set_int_max_str_digits() may not go, so that no process spells a number otherwise.
_DECIMAL_BITS = 2_048
_named_once: WeakSet[type] = WeakSet()


def text_of(value: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot carry, spelled out."""
    return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()


def digits_of(value: int) -> str:
    """A number of any length: decimal up to 2,048 bits, hexadecimal beyond."""
    return int.__repr__(value) if value.bit_length() <= _DECIMAL_BITS else hex(value)


def finite(value: float) -> float | str:
    """The number, or the name of what is none."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _isoformat(value: date | time) -> str:
    return value.isoformat()


def _decimal_text(value: Any) -> str:
    return str(value).replace("e", "E")  # a context may ask for small letters


def _base64(value: Any) -> str:
    return binascii.b2a_base64(bytes(value), newline=False).decode()


# Order matters: an enumeration's member may be a number or a text as well.
_BUILTIN: tuple[tuple[type | tuple[type, ...], Callable[[Any], Any]], ...] = (
    (enum.Enum, lambda v: v.value),
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    ((bytes, bytearray, memoryview), _base64),
    ((datetime, date, time), _isoformat),
    (timedelta, format_duration),
    ((complex, range), str),
)
_STANDARD: tuple[tuple[str, tuple[str, ...], Callable[[Any], Any]], ...] = (
    ("decimal", ("Decimal",), _decimal_text),
    ("uuid", ("UUID",), str),
    ("pathlib", ("PurePath",), str),
    ("fractions", ("Fraction",), str),
    ("ipaddress", ("IPv4Address", "IPv6Address", "IPv4Network", "IPv6Network"), str),
    ("zoneinfo", ("ZoneInfo",), str),
)


def simpler(value: Any) -> tuple[Literal["one", "object", "list", "set"], Any]:
    """What a value that is no plain leaf consists of. It may raise anything.

    Returns:
        `one` leaf, which may be of a simpler type still; the items of an `object`; or those of a `list` or a
        `set`. What is in them is as it was.
    """
    for _ in range(_MAX_DUMPS):
        if isinstance(value, dict | Mapping):
            return "object", list(cast("Mapping[Any, Any]", value).items())
        if isinstance(value, list | tuple):
            return "list", list(cast("list[Any]", value))
        known = _scalar(value)
        if known is not UNKNOWN:
            return ("one", known) if type(known) in _LEAVES else simpler(known)
        if isinstance(value, AbstractSet):
            return "set", list(cast("AbstractSet[Any]", value))
        if isinstance(value, Sequence):
            return "list", list(cast("Sequence[Any]", value))
        dumped = _dumped(value)
        if dumped is UNKNOWN:
            return "one", _type_name(value)
        if type(dumped) in _LEAVES:
            return "one", dumped
        value = dumped
    raise RecursionError


def _scalar(value: Any) -> Any:
    if callable(getattr(cast("Any", type(value)), "get_secret_value", None)):
        return MASK
    for types, convert in _BUILTIN:
        if isinstance(value, types):
            return convert(value)
    for module, names, convert in _STANDARD:
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(value, tuple(getattr(loaded, name) for name in names)):
            return convert(value)
    return UNKNOWN


def _dumped(value: Any) -> Any:
    kind = cast("Any", type(value))
    if is_dataclass(kind):
        return {field.name: getattr(value, field.name) for field in fields(kind)}
    if hasattr(kind, "model_dump"):
        pydantic: Any = sys.modules.get("pydantic")
        if pydantic is not None and isinstance(value, pydantic.BaseModel):
            # By the names and with all the fields that the value has, whatever type was declared for it.
            return value.model_dump(by_alias=False, serialize_as_any=True, warnings=False)
        return value.model_dump()
    if hasattr(kind, "__fields__") and hasattr(kind, "dict"):  # pydantic 1
        return value.dict()
    if hasattr(kind, "__attrs_attrs__"):
        return {field.name: getattr(value, field.name) for field in kind.__attrs_attrs__}
    if hasattr(kind, "__struct_fields__"):  # msgspec
        return {name: getattr(value, name) for name in kind.__struct_fields__}
    if hasattr(kind, "dtype") and hasattr(kind, "tolist"):  # numpy
        plain = value.tolist()
        return str(value) if type(plain) is kind else plain
    return UNKNOWN


def _type_name(value: object) -> str:
    """What stands for a value of an unknown type; the log says so once a type."""
    kind = type(value)
    if kind not in _named_once:
        _named_once.add(kind)
        _log.warning("%s has no JSON form and is published as its type's name", kind.__qualname__)
    return text_of(kind.__name__)
