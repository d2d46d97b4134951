"""What keeps other sites, and what others wrote, from answering in an approver's name."""

import secrets
from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 1_000_000

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class SafeHeaders:
    """Puts the headers above on every response, and keeps pages out of caches."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                if not scope["path"].startswith("/static/"):
                    headers["Cache-Control"] = "no-store"
            await send(message)

        await self._app(scope, receive, send_safely)


def form_token(request: Request) -> str:
    """What a form of this browser's session carries, and no other site can know."""
    return request.session.setdefault("form_token", secrets.token_urlsafe())


async def read_form(request: Request) -> Mapping[str, str]:
    """A form that was posted from a page of ours.

    Raises:
        HTTPException: 403 without this session's token; 413 when it is too large; 400 when it is no form.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise HTTPException(413, "That is more than can be sent from here.")
    try:
        form = dict(parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=1000))
    except ValueError as error:
        raise HTTPException(400, "That is no form of this page.") from error
    expected = request.session.get("form_token", "")
    if not expected or not secrets.compare_digest(expected.encode(), form.get("form_token", "").encode()):
        raise HTTPException(403, "This form is not from this session. Open the page again, and answer there.")
    return form
