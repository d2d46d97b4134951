"""ULIDs: 26 characters of Crockford's base 32, 48 bits of time and 80 of chance.

See https://github.com/ulid/spec.
"""

import os

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(a + b for a in _ALPHABET for b in _ALPHABET)


def new_ulid(seconds: float) -> str:
    """A fresh ULID of that time (seconds since the epoch)."""
    number = int(seconds * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join([_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10)])


def ulid_seconds(ulid: str) -> float:
    """When it was made, in seconds since the epoch."""
    milliseconds = 0
    for letter in ulid[:10]:
        milliseconds = milliseconds << 5 | _ALPHABET.index(letter)
    return milliseconds / 1000
