"""The announcer that posts to a URL."""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from threading import TIMEOUT_MAX
from typing import TYPE_CHECKING

from agent_wait import _identity
from agent_wait._announcer import BaseAnnounce
from agent_wait._clock import SYSTEM_CLOCK, Clock
from agent_wait._envelope import WaitEnvelope
from agent_wait._errors import AnnounceError
from agent_wait._signing import Secrets, secret_keys, signature_headers
from agent_wait._types import Transition

if TYPE_CHECKING:
    import ssl

    from agent_wait._exchange import Target

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, 5.6.2
_VALUE = re.compile(r"[!-~](?:[ \t!-~]*[!-~])?|")
_KEY = re.compile(r"[!-~]{1,255}")  # what stores of idempotency keys commonly take
_HOST = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")
_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
_FRAMING = frozenset({"expect", "te", "trailer", "transfer-encoding", "upgrade"})
_LATER = frozenset({408, 425, 429})  # the client errors that go away by themselves


class WebhookAnnounce(BaseAnnounce):
    """Posts each envelope to a URL as JSON; any 2xx status means that it was taken.

    Neither redirects nor the environment's proxies are followed. The URL and the secret may be credentials,
    and appear in no log line, repr or exception.

    Headers: `X-Agent-Wait-Event` (`wait.created`, `wait.resumed`), `X-Agent-Wait-Dedupe-Key` and
    `Idempotency-Key` (both the `dedupe_key`; `sha256:` and its digest where it is longer than 255
    characters or not visible ASCII) and, with a secret, `X-Agent-Wait-Signature` over the body and the three
    of Standard Webhooks, with the key as `webhook-id`. `verify_signature` and `verify_webhook` check them.

    Args:
        url: http or https, without user and password. To be trusted: it is not checked where it leads.
        secret: Signs every request: bytes as they are, or `whsec_` and base64. Several sign side by side
            while they are being changed. None: no signature.
        headers: To be sent too, such as `Authorization`. Those above, and what frames a request, win.
        timeout: Seconds for the whole exchange, from looking up the host to the status of the answer.
        only: The transitions it wants; None for all.
        clock: For `webhook-timestamp`.

    Raises:
        TypeError: The URL is no text, or a secret neither bytes nor text.
        ValueError: Something of it cannot be used; the message quotes neither URL, secret nor header values.
    """

    def __init__(
        self,
        url: str,
        *,
        secret: Secrets | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 5.0,
        only: Iterable[Transition] | None = None,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(only=only)
        if not 0 < timeout <= TIMEOUT_MAX:
            raise ValueError(f"timeout is a positive number of seconds, not {timeout!r}")
        self._target = _target(url)
        self._keys = () if secret is None else secret_keys(secret)
        self._headers = _checked_headers(headers or {})
        self._timeout = timeout
        self._clock = clock or SYSTEM_CLOCK

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        """Post the envelope.

        Raises:
            AnnounceError: No answer, or none that is a 2xx; `retryable` where the same may work later.
        """
        del transition
        error = self._post(envelope)  # not raised there: the frames of a traceback hold what went out
        if error is not None:
            raise error

    def _post(self, envelope: WaitEnvelope) -> AnnounceError | None:
        from agent_wait._exchange import exchange  # noqa: PLC0415  # not worth its time at import

        request = self._request(envelope)
        answer = exchange(self._target, request, timeout=self._timeout, context=self._context)
        if isinstance(answer, AnnounceError):
            return answer
        if answer // 100 == 2:
            return None
        return AnnounceError(f"answered HTTP {answer}", retryable=answer >= 500 or answer in _LATER)

    def _request(self, envelope: WaitEnvelope) -> bytes:
        body = envelope.to_json().encode()
        key = _visible(envelope.dedupe_key)
        ours = {
            "Host": self._target.authority,
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            "Connection": "close",
            "X-Agent-Wait-Event": _visible(envelope.type),
            "X-Agent-Wait-Dedupe-Key": key,
            "Idempotency-Key": key,
        }
        if self._keys:
            ours |= signature_headers(self._keys, key, int(self._clock.now()), body)
        headers = self._headers | {name.lower(): f"{name}: {value}" for name, value in ours.items()}
        lines = (f"POST {self._target.path} HTTP/1.1", *headers.values(), "", "")
        return "\r\n".join(lines).encode() + body

    @cached_property
    def _context(self) -> "ssl.SSLContext | None":
        if not self._target.tls:
            return None
        import ssl  # noqa: PLC0415  # not worth its time at import

        return ssl.create_default_context()


def _visible(text: str) -> str:
    """The text, or its digest where a header could not carry it."""
    return text if _KEY.fullmatch(text) else f"sha256:{_identity.digest(text)}"


def _checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Header lines by their names in lower case."""
    lines = {"user-agent": "User-Agent: agent-wait"}
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name):
            raise ValueError(f"headers= has a name that is none: {name!r}")
        if name.lower() in _FRAMING:
            raise ValueError(f"headers= has {name}, which would change how the request is read")
        if not _VALUE.fullmatch(value):
            raise ValueError(f"headers= has a value for {name} that no header can carry")
        lines[name.lower()] = f"{name}: {value}"
    return lines


def _target(url: str) -> "Target":
    if not isinstance(url, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without types
        raise TypeError(f"url is text, not {type(url).__name__}")
    target = _parsed(url)
    if isinstance(target, ValueError):  # not raised there: a chained exception would quote the URL
        raise target
    return target


def _parsed(url: str) -> "Target | ValueError":
    """Where the URL leads, or what is wrong with it."""
    from urllib.parse import quote, urlsplit  # noqa: PLC0415  # not worth its time at import

    from agent_wait._exchange import Target  # noqa: PLC0415

    if any(character <= " " or character == "\x7f" for character in url):
        return ValueError("url has white space or control characters")
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode()
        port = parts.port
        path = quote(parts.path or "/", safe=_VISIBLE)
        query = quote(parts.query, safe=_VISIBLE)
    except ValueError:
        return ValueError("url cannot be read")
    if parts.scheme not in ("http", "https"):
        return ValueError("url is neither http nor https")
    if "@" in parts.netloc:
        return ValueError("url has a user or password: put them into headers=")
    if not _HOST.fullmatch(host) or port == 0:
        return ValueError("url has no host and port that can be used")
    tls = parts.scheme == "https"
    return Target(host, port or (443 if tls else 80), f"{path}?{query}" if query else path, tls)
