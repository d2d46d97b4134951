"""RFC 3339 timestamps in UTC."""

import math
from datetime import UTC, datetime


def to_rfc3339(seconds: float) -> str:
    """Seconds since the epoch as RFC 3339 UTC, cut to whole seconds: `2026-11-30T20:44:52Z`."""
    moment = datetime.fromtimestamp(math.floor(seconds), UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment.year >= 1000 else f"{moment.isoformat()[:19]}Z"


def from_rfc3339(text: str) -> float:
    """Seconds since the epoch of an RFC 3339 timestamp with an offset.

    Raises:
        ValueError: Not a timestamp, or one without an offset: local time is never assumed.
    """
    moment = datetime.fromisoformat(text.upper())
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no UTC offset")
    return moment.timestamp()
