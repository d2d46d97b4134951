"""Ids cut to what a service takes, by hashing and never by truncating."""

import hashlib
import re

# 1 to 128 of letters, digits and !"#$%&'()*+,-./:;<=>?@[\]^_`{|}~, which is printable ASCII without the space
# (SQS and SNS, MessageGroupId and MessageDeduplicationId).
_FITS = re.compile(r"[!-~]{1,128}")
_HASHED = "sha256-"


def digest(text: str) -> str:
    """64 hex digits of the SHA-256 of the text in UTF-8."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def fit(text: str) -> str:
    """The text itself if SQS takes it as an id, else `sha256-` and its digest.

    Different texts never give one id: what looks hashed already is hashed.
    """
    if _FITS.fullmatch(text) and not text.startswith(_HASHED):
        return text
    return f"{_HASHED}{digest(text)}"


def fit_bytes(prefix: str, text: str, limit: int) -> str:
    """`prefix` and the text if that is at most `limit` bytes of UTF-8, else `prefix` and its digest."""
    whole = f"{prefix}{text}"
    hashed = text.startswith(_HASHED)
    if not hashed and len(whole.encode("utf-8", "surrogatepass")) <= limit:
        return whole
    return f"{prefix}{_HASHED}{digest(text)}"


def group_id(thread_id: str) -> str:
    """The `MessageGroupId` of a thread, for whoever sends to the agent's FIFO queue.

    Starts, answers and defaults of one thread have to share it, or FIFO serialises nothing.

    Args:
        thread_id: Non-empty text of any length.

    Returns:
        1 to 128 characters that SQS takes: the thread's id where it fits, else `sha256-` and its SHA-256.

    Raises:
        ValueError: An empty `thread_id`.
    """
    if not thread_id:
        raise ValueError("thread_id is empty: a FIFO queue needs a group for every message")
    return fit(thread_id)
