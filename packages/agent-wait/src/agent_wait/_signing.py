"""Signatures of webhook requests: the sender's half and the receiver's.

Two forms side by side. The GitHub shape signs the body alone; Standard Webhooks (standardwebhooks.com) signs
id, time and body, so that a captured request cannot be sent again later.
"""

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from agent_wait._clock import SYSTEM_CLOCK, Clock

Secrets: TypeAlias = bytes | str | Sequence[bytes | str]
"""One secret or several: bytes as they are, or `whsec_` and base64."""

_PREFIX = "whsec_"
_MAX_DIGITS = 15  # of a timestamp: far beyond any date, and quick to read


def secret_keys(secrets: Secrets) -> tuple[bytes, ...]:
    """The keys that secrets stand for.

    Raises:
        TypeError: Something among them is neither bytes nor text.
        ValueError: None at all, an empty one, or text that is not `whsec_` and base64.
    """
    several = (secrets,) if isinstance(secrets, bytes | str) else tuple(secrets)
    if not several:
        raise ValueError("no secret at all: leave it out for requests without a signature")
    return tuple(map(_key, several))


def signature_headers(keys: Sequence[bytes], message_id: str, seconds: int, body: bytes) -> dict[str, str]:
    """Both forms of signature, one of each for every key."""
    content = _signed_content(message_id, str(seconds), body)
    return {
        "X-Agent-Wait-Signature": ", ".join(_body_signature(key, body) for key in keys),
        "webhook-id": message_id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(_signature(key, content) for key in keys),
    }


def verify_signature(secret: Secrets, body: bytes, header: str | None) -> bool:
    """Whether an `X-Agent-Wait-Signature` is one of this body.

    It says nothing of when the request was made: whoever captured it can send it again. `verify_webhook`
    does.

    Args:
        secret: One, or several while they are being changed: bytes as they are, or `whsec_...` text.
        body: The bytes as they were received, not parsed and written anew.
        header: `sha256=` and 64 lower-case hex digits; several separated by commas; None if there is none.

    Returns:
        False for anything missing or malformed. Compared in constant time.

    Raises:
        TypeError: `body` is no bytes, or a secret neither bytes nor text.
        ValueError: An empty secret, or text that is not `whsec_` and base64.
    """
    keys = secret_keys(secret)
    given = [part.strip(" ") for part in header.split(",")] if isinstance(header, str) else []
    return _any_equal(given, [_body_signature(key, _bytes(body)) for key in keys])


def verify_webhook(
    headers: Mapping[str, str],
    body: bytes,
    secrets: Secrets,
    *,
    tolerance: float = 300,
    clock: Clock | None = None,
) -> bool:
    """Whether a request carries a Standard Webhooks signature of this body, made not long ago.

    Within the tolerance the same request may come again: deduplicate on `webhook-id`.

    Args:
        headers: The request's; names in any case.
        body: The bytes as they were received, not parsed and written anew.
        secrets: One, or several while they are being changed: bytes as they are, or `whsec_...` text.
        tolerance: Seconds that `webhook-timestamp` may be away from now, on either side.
        clock: What now is.

    Returns:
        False for anything missing, doubled or malformed. Compared in constant time.

    Raises:
        TypeError: `body` is no bytes, or a secret neither bytes nor text.
        ValueError: An empty secret, or text that is not `whsec_` and base64.
    """
    keys, body = secret_keys(secrets), _bytes(body)
    message_id, timestamp, signatures = (
        _header(headers, f"webhook-{name}") for name in ("id", "timestamp", "signature")
    )
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= _MAX_DIGITS and message_id):
        return False
    if not abs((clock or SYSTEM_CLOCK).now() - int(timestamp)) <= tolerance:
        return False
    try:
        content = _signed_content(message_id, timestamp, body)
    except UnicodeEncodeError:
        return False
    return _any_equal(signatures.split(" "), [_signature(key, content) for key in keys])


def _key(secret: bytes | str) -> bytes:
    if isinstance(secret, bytes):
        key = secret
    elif not isinstance(secret, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without types
        raise TypeError(f"a secret is bytes, or text that begins with whsec_, not {type(secret).__name__}")
    elif not secret.startswith(_PREFIX):
        raise ValueError("a secret in text begins with whsec_; for any other pass its bytes")
    else:
        try:
            text = secret.removeprefix(_PREFIX)
            key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if not key:
            raise ValueError("after whsec_ a secret has base64")
    if not key:
        raise ValueError("the secret is empty")
    return key


def _hmac() -> Any:
    import hmac  # noqa: PLC0415  # it loads OpenSSL, which who signs nothing need not wait for

    return hmac


def _body_signature(key: bytes, body: bytes) -> str:
    return f"sha256={_hmac().new(key, body, 'sha256').hexdigest()}"


def _signed_content(message_id: str, timestamp: str, body: bytes) -> bytes:
    return f"{message_id}.{timestamp}.".encode() + body


def _signature(key: bytes, content: bytes) -> str:
    return "v1," + base64.b64encode(_hmac().digest(key, content, "sha256")).decode()


def _any_equal(given: Sequence[str], good: Sequence[str]) -> bool:
    """Without a shortcut: how long it takes does not depend on which one fits, or how far."""
    fits = [
        _hmac().compare_digest(one.encode(errors="replace"), right.encode())
        for one in given
        for right in good
    ]
    return any(fits)


def _header(headers: Mapping[str, str], name: str) -> str:
    """The header's value; empty if it is missing, doubled or no text."""
    pairs = cast("list[tuple[Any, Any]]", list(headers.items()))
    values = [value for key, value in pairs if isinstance(key, str) and key.lower() == name]
    return values[0] if len(values) == 1 and isinstance(values[0], str) else ""


def _bytes(body: bytes) -> bytes:
    if not isinstance(body, bytes):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without types
        raise TypeError("body is the bytes as they were received")
    return body
