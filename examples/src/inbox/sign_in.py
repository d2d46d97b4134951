"""A simple way to sign in, for one machine. Elsewhere the hook asks whatever guards the entry.

`current_user(request)` is the only thing that says who somebody is: behind a proxy that signs people in it
reads the proxy's header, with sessions of your own it reads those.
"""

import secrets
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.templating import Jinja2Templates

from inbox.safety import read_form


class LocalSignIn:
    """People and their passwords, from memory.

    Args:
        people: Password by name.
        templates: What the page is made of.
    """

    def __init__(self, people: Mapping[str, str], templates: Jinja2Templates) -> None:
        self._people = people
        self._templates = templates
        self.routes = [
            Route("/sign-in", self._page),
            Route("/sign-in", self._sign_in, methods=["POST"]),
            Route("/sign-out", self._sign_out, methods=["POST"]),
        ]

    def current_user(self, request: Request) -> str | None:
        """Who has signed in; None: nobody."""
        name = request.session.get("name")
        return name if name in self._people else None

    def signed_out(self, request: Request) -> Response:
        """What somebody gets who has to sign in first: the form, which leads back to where they were."""
        return self._form(request, back=str(request.url.replace(scheme="", netloc="")), status=401)

    def _page(self, request: Request) -> Response:
        return self._form(request, back="/")

    async def _sign_in(self, request: Request) -> Response:
        form = await read_form(request)
        name, password = form.get("name", ""), form.get("password", "")
        # Somebody unknown takes as long as a wrong password.
        expected = self._people.get(name, secrets.token_urlsafe())
        if not secrets.compare_digest(expected.encode(), password.encode()):
            return self._form(request, back=form.get("back", "/"), name=name, failed=True, status=403)
        request.session.clear()
        request.session["name"] = name
        return RedirectResponse(_own(form.get("back", "/")), status_code=303)

    async def _sign_out(self, request: Request) -> Response:
        await read_form(request)
        request.session.clear()
        return RedirectResponse("/", status_code=303)

    def _form(
        self, request: Request, *, back: str, name: str = "", failed: bool = False, status: int = 200
    ) -> Response:
        context = {"back": _own(back), "name": name, "failed": failed, "now": 0, "user": None}
        return self._templates.TemplateResponse(request, "sign_in.html", context, status_code=status)


def _own(address: str) -> str:
    """The address if it is one of this site's pages, else the first page's."""
    parts = urlsplit(address)
    ours = address.startswith("/") and not address.startswith(("//", "/\\")) and not parts.netloc
    return address if ours and parts.path in ("/", "/question") else "/"
