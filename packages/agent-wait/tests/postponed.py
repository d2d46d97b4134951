"""Functions under postponed annotations, one of whose names only a type checker can see."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Optional

if TYPE_CHECKING:
    from unheard_of import Unseen  # pyright: ignore[reportMissingImports, reportUnknownVariableType]


class Context:
    """What a framework injects."""


def pay(
    amount: Decimal,
    unseen: Unseen,  # pyright: ignore[reportUnknownParameterType]
    later: Later,
    marked: Annotated[Context, "injected"],
    maybe: Optional[Context] = None,  # noqa: UP045  # as it is often written
    either: Context | None = None,
    data: bytes = b"",
) -> Any:
    return amount, later, data


class Later:
    """Defined after the function that names it."""
