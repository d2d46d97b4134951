"""The types that every other module speaks in."""

from typing import Literal, TypeAlias

JSON: TypeAlias = None | bool | int | float | str | list["JSON"] | dict[str, "JSON"]
"""A value as the standard `json` module reads it back."""

Transition: TypeAlias = Literal["created", "resumed"]
"""`created`: the thread is parked on the question. `resumed`: it has moved past it."""
