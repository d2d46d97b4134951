"""Canonical JSON: the one encoder for fingerprints, ids, sizes and parked values.

`to_plain` turns any value into plain JSON data; `encode` turns plain data into the same bytes in every
process. The table of what becomes what is in `docs/message-formats.md`.
"""

import json
import math
from collections.abc import Callable, Iterable
from typing import Any

from agent_wait._errors import QuestionError
from agent_wait._known_types import digits_of, finite, simpler, text_of
from agent_wait._types import JSON

__all__ = ["MAX_DEPTH", "encode", "text_encoder", "text_of", "to_plain"]

MAX_DEPTH = 100
_INT64 = 1 << 63


def text_encoder(*, sort_keys: bool) -> Callable[[JSON], str]:
    """`json.JSONEncoder.encode`, with its part in C made once instead of for every call (`make bench`)."""
    encoder = json.JSONEncoder(
        ensure_ascii=False, allow_nan=False, sort_keys=sort_keys, separators=(",", ":"), check_circular=False
    )
    made: Any = json.encoder
    if made.c_make_encoder is None:
        return encoder.encode
    chunks = made.c_make_encoder(
        None, encoder.default, made.encode_basestring, None, ":", ",", sort_keys, False, False
    )
    return lambda plain: "".join(chunks(plain, 0))


encode: Callable[[JSON], str] = text_encoder(sort_keys=True)
"""Plain JSON data as canonical text: keys sorted by code point, no spaces, strict."""


def to_plain(value: Any, path: str = "", *, lenient: bool = False, depth: int = 0) -> JSON:
    """Plain JSON data that stands for `value`, and shares nothing with it that could change.

    Args:
        value: Anything.
        path: What to call the value in errors, such as `args`.
        lenient: Mark what cannot be encoded in its place instead of refusing it.
        depth: How many levels are around it.

    Raises:
        QuestionError: Keys that collide, a cycle, more than 100 levels, or an object that cannot be read;
            `path` says where.
    """
    if _is_flat(value):  # as most arguments are (`make bench`)
        return value.copy()
    try:
        return _Encoder(lenient).plain(value, depth)
    except _Refused as refused:
        where = path + "".join(reversed(refused.steps))
        raise QuestionError(refused.why, where.removeprefix(".")) from refused.__cause__


class _Refused(Exception):
    """What is wrong, and the steps to it, gathered from the inside out."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.steps: list[str] = []


def _is_flat(value: Any) -> bool:
    """Whether this is an object with nothing in it to be written otherwise, or that could change."""
    if type(value) is not dict:
        return False
    items: Any = value.items()  # pyright: ignore[reportUnknownVariableType]
    for key, item in items:
        kind: Any = type(item)  # pyright: ignore[reportUnknownVariableType]
        if not (
            type(key) is str
            and key.isascii()
            and (
                (kind is str and item.isascii())
                or (kind is float and math.isfinite(item))
                or (kind is int and -_INT64 <= item < _INT64)
                or item is None
                or kind is bool
            )
        ):
            return False
    return True


def _text(value: str) -> str:
    return value if value.isascii() else text_of(value)


def _int(value: int) -> JSON:
    return value if -_INT64 <= value < _INT64 else digits_of(value)


def _same(value: Any) -> Any:
    return value


_LEAVES = {str: _text, int: _int, float: finite, bool: _same, type(None): _same}


class _Encoder:
    __slots__ = ("_lenient", "_open")

    def __init__(self, lenient: bool) -> None:
        self._lenient = lenient
        self._open: set[int] = set()

    def plain(self, value: Any, depth: int) -> JSON:
        leaf: Any = _LEAVES.get(type(value))
        if leaf is not None:
            return leaf(value)
        if id(value) in self._open:
            return self._mark("contains itself", "cycle")
        self._open.add(id(value))
        try:
            return self._compound(value, depth)
        finally:
            self._open.discard(id(value))

    def _compound(self, value: Any, depth: int) -> JSON:
        try:
            shape, inner = simpler(value)
        except Exception as error:  # a foreign type's own methods may raise anything
            if self._lenient:
                return "<unreadable>"
            raise _Refused(f"{type(value).__name__} could not be read: {type(error).__name__}") from error
        if shape == "one":
            return self.plain(inner, depth)
        if depth >= MAX_DEPTH:
            return self._mark(f"more than {MAX_DEPTH} levels deep", "too deep")
        if shape == "object":
            return self._object(inner, depth + 1)
        out = self._list(inner, depth + 1)
        return sorted(out, key=encode) if shape == "set" else out

    def _list(self, items: list[Any], depth: int) -> list[JSON]:
        out: list[JSON] = []
        try:
            for item in items:
                out.append(self.plain(item, depth))  # noqa: PERF401  # its length is where it went wrong
        except _Refused as refused:
            refused.steps.append(f"[{len(out)}]")
            raise
        return out

    def _object(self, items: Iterable[tuple[Any, Any]], depth: int) -> dict[str, JSON]:
        out: dict[str, JSON] = {}
        name = ""
        try:
            for key, item in items:
                name = key if type(key) is str and key.isascii() else self._key(key, depth)
                if name in out:
                    self._mark("two keys have the same text", "")
                    name = next(f"{name}#{n}" for n in range(2, len(out) + 3) if f"{name}#{n}" not in out)
                out[name] = self.plain(item, depth)
        except _Refused as refused:
            refused.steps.append(f".{name}")
            raise
        return out

    def _key(self, key: Any, depth: int) -> str:
        plain = self.plain(key, depth)
        return plain if isinstance(plain, str) else encode(plain)

    def _mark(self, why: str, mark: str) -> JSON:
        if self._lenient:
            return f"<{mark}>"
        raise _Refused(why)
