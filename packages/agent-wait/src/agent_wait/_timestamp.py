"""RFC 3339 timestamps in UTC."""

import math
import time
from datetime import datetime


def to_rfc3339(seconds: float) -> str:
    """Seconds since the epoch as RFC 3339 UTC, cut to whole seconds: `2026-11-30T20:44:52Z`.

    Years before 1000 have fewer digits than they should, on some machines.
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(math.floor(seconds)))


def from_rfc3339(text: str) -> float:
    """Seconds since the epoch of an RFC 3339 timestamp with an offset.

    Raises:
        ValueError: Not a timestamp, or one without an offset: local time is never assumed.
    """
    moment = datetime.fromisoformat(text.upper())
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no UTC offset")
    return moment.timestamp()
