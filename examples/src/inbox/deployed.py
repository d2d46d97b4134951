"""The page before real tables, behind a proxy that signs people in: `uvicorn --factory inbox.deployed:app`.

Beside what `Resources.from_environment` reads: `INBOX_HOSTS`, the names it is asked under;
`INBOX_USER_HEADER`, in which the proxy says who somebody is, and which it takes away from whatever comes from
outside; and `INBOX_SESSION_SECRET`. Nothing but the proxy may reach it.
"""

import os

from refund_agent.resources import Resources
from starlette.applications import Starlette
from starlette.requests import Request

from inbox.app import build_app


def app() -> Starlette:
    return build_app(
        Resources.from_environment(),
        current_user=current_user,
        session_secret=os.environ["INBOX_SESSION_SECRET"],
        hosts=os.environ["INBOX_HOSTS"].split(),
        secure=True,
    )


def current_user(request: Request) -> str | None:
    """Who the proxy says it is; two such headers, and one of them is not the proxy's."""
    names = request.headers.getlist(os.environ["INBOX_USER_HEADER"])
    return names[0] if len(names) == 1 and names[0] else None
