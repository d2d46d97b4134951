"""Text from outside, made safe to look at: what would be invisible or turn text around is spelt out."""

import json
import re
import unicodedata
from typing import Any

from agent_wait import JSON
from markupsafe import Markup

_ODD = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Unicode's categories of control, format (bidi and zero-width are here), surrogate, private and unassigned
characters, and of line and paragraph separators."""

_PLAIN = re.compile(r"[\x20-\x7e\n\t]*")


def is_odd(character: str) -> bool:
    return character not in "\n\t" and unicodedata.category(character) in _ODD


def has_odd(text: str) -> bool:
    return not _PLAIN.fullmatch(text) and any(map(is_odd, text))


def visible(text: str) -> str:
    """The text with each odd character as `⟦U+202E⟧`, good for content and for attributes alike."""
    if not has_odd(text):
        return text
    return "".join(f"⟦U+{ord(character):04X}⟧" if is_odd(character) else character for character in text)


def shown(value: Any) -> Any:
    """What Jinja does with every value that a template prints, before it is escaped."""
    return value if isinstance(value, Markup) else visible(str(value))


def as_json(value: JSON, *, indent: int | None = None) -> str:
    """JSON that says the same when it is read back; odd characters are escapes in it."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return "".join(_escape(character) if is_odd(character) else character for character in text)


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1]


def human(name: str) -> str:
    """`issue_refund` as `Issue refund`."""
    words = " ".join(name.replace("_", " ").split())
    return words[:1].upper() + words[1:]


def brief(value: JSON, *, most: int = 80) -> str:
    """One line of a value, for a list."""
    text = " ".join((value if isinstance(value, str) else as_json(value)).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
