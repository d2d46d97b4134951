"""ISO 8601 durations of fixed length: weeks to seconds, no years and no months."""

import math
import re
from datetime import timedelta
from functools import lru_cache

from agent_wait._errors import PolicyError

_NUMBER = r"([0-9]+(?:[.,][0-9]+)?)"
_DURATION = re.compile(
    rf"P(?:{_NUMBER}W)?(?:{_NUMBER}D)?(T(?=[0-9])(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?",
    re.IGNORECASE | re.ASCII,
)
_CALENDAR = re.compile(r"P(?=.*[0-9])[0-9.,]*Y|P[0-9.,]*Y?[0-9.,]*M", re.IGNORECASE | re.ASCII)
_SECONDS = (604_800, 86_400, 3_600, 60, 1)
MAX_SECONDS = 100 * 365.25 * 86_400


def parse_duration(value: object) -> float:
    """Seconds of an ISO 8601 duration, a number of seconds, or a `timedelta`.

    Raises:
        PolicyError: Not a duration, not of fixed length, or not above zero and at most 100 years.
    """
    match value:
        case bool():
            raise PolicyError("a timeout is a duration, not a bool")
        case timedelta():
            seconds = value.total_seconds()
        case int() | float():
            seconds = _as_float(value)
        case str():
            seconds = duration_seconds(value)
        case _:
            raise PolicyError(
                f"a timeout is ISO 8601 text, seconds or a timedelta, not {type(value).__name__}"
            )
    if not math.isfinite(seconds) or seconds <= 0:
        raise PolicyError("a timeout is above zero and finite")
    if seconds > MAX_SECONDS:
        raise PolicyError("a timeout is at most 100 years")
    return seconds


def format_duration(delta: timedelta) -> str:
    """A `timedelta` as an ISO 8601 duration, exact to the microsecond; negative ones with a leading `-`."""
    sign, delta = ("-", -delta) if delta < timedelta(0) else ("", delta)
    minutes, seconds = divmod(delta.seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = f".{delta.microseconds:06}".rstrip("0") if delta.microseconds else ""
    days = f"{delta.days}D" if delta.days else ""
    clock = "".join(f"{n}{unit}" for n, unit in ((hours, "H"), (minutes, "M")) if n)
    if seconds or fraction or not (days or clock):
        clock += f"{seconds}{fraction}S"
    return f"{sign}P{days}" + (f"T{clock}" if clock else "")


@lru_cache(maxsize=256)
def duration_seconds(text: str) -> float:
    """Seconds of ISO 8601 text alone, whatever their number.

    Raises:
        PolicyError: Not a duration, or not of fixed length.
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        if _CALENDAR.match(text):
            raise PolicyError(
                f"timeout {text!r}: calendar units (years, months) have no fixed length; use days"
            )
        raise PolicyError(f"timeout {text!r} is not an ISO 8601 duration such as 'P3D' or 'PT4H30M'")
    weeks, days, _, hours, minutes, seconds = found.groups()
    numbers = (weeks, days, hours, minutes, seconds)
    if not any(numbers):
        raise PolicyError(f"timeout {text!r} names no unit")
    return sum(
        _as_float(float(number.replace(",", "."))) * unit
        for number, unit in zip(numbers, _SECONDS, strict=True)
        if number
    )


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf
