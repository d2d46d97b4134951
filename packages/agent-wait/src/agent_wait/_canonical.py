"""Canonical JSON: the one encoder for fingerprints, ids, sizes and parked values.

`to_plain` turns any value into plain JSON data; `encode` turns plain data into the same bytes in every
process. Third-party types are recognised by what they offer, or through `sys.modules`; nothing is imported.
"""

import base64
import datetime
import decimal
import enum
import json
import logging
import math
import pathlib
import sys
import uuid
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

from agent_wait._duration import format_duration
from agent_wait._errors import QuestionError
from agent_wait._types import JSON

_log = logging.getLogger("agent_wait")

MAX_DEPTH = 100
MASK = "**********"
_INT64 = 1 << 63
_dumps = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"), check_circular=False
).encode
_named_once: set[type] = set()


def encode(plain: JSON) -> str:
    """Plain JSON data as canonical text: keys sorted by code point, no spaces, strict."""
    return _dumps(plain)


def to_plain(value: Any, path: str = "", *, lenient: bool = False) -> JSON:
    """Plain JSON data that stands for `value`.

    Args:
        value: Anything.
        path: What to call the value in errors, such as `args`.
        lenient: Mark what cannot be encoded in its place instead of refusing it.

    Raises:
        QuestionError: Keys that collide, a cycle, or more than 100 levels; `path` says where.
    """
    return _Encoder(lenient).plain(value, path, 0)


def text_of(value: str) -> str:
    """The text with lone surrogates, which UTF-8 cannot carry, spelled out."""
    return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()


def _float(value: float) -> JSON:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _int(value: int) -> JSON:
    return value if -_INT64 <= value < _INT64 else _digits(value)


def _digits(value: int) -> str:
    # str() refuses what has more digits than sys.get_int_max_str_digits(); such a number is still a number.
    try:
        return str(value)
    except ValueError:
        return hex(value)


# Order matters: an Enum may also be an int or a str, a datetime is a date.
_SCALARS: tuple[tuple[type | tuple[type, ...], Callable[[Any], JSON]], ...] = (
    (str, lambda v: text_of(str.__str__(v))),
    (int, lambda v: _int(int(v))),
    (float, lambda v: _float(float(v))),
    (decimal.Decimal, str),
    ((datetime.datetime, datetime.date, datetime.time), lambda v: v.isoformat()),
    (datetime.timedelta, format_duration),
    (uuid.UUID, str),
    (pathlib.PurePath, lambda v: text_of(str(v))),
    ((bytes, bytearray, memoryview), lambda v: base64.b64encode(v).decode()),
)


class _Encoder:
    __slots__ = ("_lenient", "_open")

    def __init__(self, lenient: bool) -> None:
        self._lenient = lenient
        self._open: set[int] = set()

    def plain(self, value: Any, path: str, depth: int) -> JSON:
        kind = cast("type[Any]", type(value))
        if kind is str:
            return value if value.isascii() else text_of(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return _int(value)
        if kind is float:
            return _float(value)
        if isinstance(value, enum.Enum):
            return self.plain(value.value, path, depth)
        for types, convert in _SCALARS:
            if isinstance(value, types):
                return convert(value)
        if depth >= MAX_DEPTH:
            return self._refuse(f"more than {MAX_DEPTH} levels deep", "too deep", path)
        if id(value) in self._open:
            return self._refuse("contains itself", "cycle", path)
        self._open.add(id(value))
        try:
            return self._compound(value, path, depth + 1)
        finally:
            self._open.discard(id(value))

    def _compound(self, value: Any, path: str, depth: int) -> JSON:
        if isinstance(value, Mapping):
            return self._object(cast("Mapping[Any, Any]", value).items(), path, depth)
        if isinstance(value, (list, tuple, deque)):
            return [
                self.plain(item, f"{path}[{n}]", depth) for n, item in enumerate(cast("list[Any]", value))
            ]
        if isinstance(value, (set, frozenset)):
            plain = [self.plain(item, path, depth) for item in cast("set[Any]", value)]
            return sorted(plain, key=encode)
        try:
            known, inner = _opened(value)
        except QuestionError:
            raise
        except Exception as error:  # noqa: BLE001  # a foreign object's own dump may raise anything
            return self._refuse(
                f"{type(value).__name__} could not be read: {type(error).__name__}", "unreadable", path
            )
        return self.plain(inner, path, depth) if known else _type_name(value)

    def _object(self, items: Any, path: str, depth: int) -> JSON:
        out: dict[str, JSON] = {}
        for key, item in items:
            name = key if type(key) is str and key.isascii() else self._key(key, path, depth)
            where = f"{path}.{name}" if path else name
            if name in out:
                self._refuse("two keys have the same text", "", where)
                name = next(f"{name}#{n}" for n in range(2, len(out) + 3) if f"{name}#{n}" not in out)
            out[name] = self.plain(item, where, depth)
        return out

    def _key(self, key: Any, path: str, depth: int) -> str:
        plain = self.plain(key, path, depth)
        return plain if isinstance(plain, str) else encode(plain)

    def _refuse(self, why: str, mark: str, path: str) -> JSON:
        if not self._lenient:
            raise QuestionError(why, path)
        return f"<{mark}>"


def _opened(value: Any) -> tuple[bool, Any]:
    """A known kind of object as builtin data: `(True, data)`, or `(False, None)`."""
    kind = cast("type[Any]", type(value))
    if is_dataclass(kind):
        return True, {field.name: getattr(value, field.name) for field in fields(kind)}
    pydantic: Any = sys.modules.get("pydantic")
    if pydantic is not None:
        if isinstance(value, (pydantic.SecretStr, pydantic.SecretBytes, pydantic.Secret)):
            return True, MASK
        if isinstance(value, pydantic.BaseModel):
            return True, value.model_dump()
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, (numpy.generic, numpy.ndarray)):
        return True, value.tolist()
    if hasattr(kind, "__attrs_attrs__"):
        return True, {field.name: getattr(value, field.name) for field in kind.__attrs_attrs__}
    return False, None


def _type_name(value: Any) -> str:
    kind = cast("type[Any]", type(value))
    if kind not in _named_once:
        _named_once.add(kind)
        _log.warning("%s has no JSON form and is published as its type's name", kind.__qualname__)
    return kind.__name__
