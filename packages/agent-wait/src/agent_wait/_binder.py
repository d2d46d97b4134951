"""Binding a call to a signature, by a function that is written for it.

`inspect.Signature.bind` goes through the parameters in Python on every call and costs fifteen times as much
(`make bench`).
"""

import inspect
from collections.abc import Callable, Iterable
from typing import Any

_Kind = inspect.Parameter


def binder(parameters: Iterable[inspect.Parameter], name: str) -> Callable[..., dict[str, Any]]:
    """A function with these parameters that returns their values by name, defaults applied.

    Args:
        parameters: In an order that Python takes.
        name: What to call the function in the `TypeError` of a call that does not fit.
    """
    given = tuple(parameters)
    positional = [p for p in given if p.kind in (_Kind.POSITIONAL_ONLY, _Kind.POSITIONAL_OR_KEYWORD)]
    bare = [
        p.replace(annotation=_Kind.empty, default=_UNSET if _has_default(p) else _Kind.empty) for p in given
    ]
    values = ", ".join(f"{p.name!r}: {p.name}" for p in given)
    space: dict[str, Any] = {}
    exec(f"def bind{inspect.Signature(bare)}: return {{{values}}}", space)  # noqa: S102  # of names that Python has checked
    bind = space["bind"]
    bind.__defaults__ = tuple(p.default for p in positional if _has_default(p))
    bind.__kwdefaults__ = {
        p.name: p.default for p in given if p.kind is _Kind.KEYWORD_ONLY and _has_default(p)
    }
    bind.__name__ = bind.__qualname__ = name
    return bind


class _Unset:
    def __repr__(self) -> str:
        return "None"


_UNSET = _Unset()


def _has_default(parameter: inspect.Parameter) -> bool:
    return parameter.default is not _Kind.empty
