"""The page: its routes, and what each of them does."""

import asyncio
import hashlib
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast, get_args
from urllib.parse import urlencode

from agent_wait import Clock, SystemClock
from refund_agent.approvals import Approval, Approvals, NotOpen
from refund_agent.resources import Resources
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.templating import Jinja2Templates

from inbox import view
from inbox.form import AnswerForm, InvalidAnswer, form_for
from inbox.safety import HEADERS, SafeHeaders, form_token, read_form
from inbox.table import Page, State, Tab, Table
from inbox.text import human, shown

log = logging.getLogger(__name__)

HERE = Path(__file__).parent
SESSION_SECONDS = 12 * 3600
LOOKS = 600
"""After so many looks at the table a live connection ends; the page makes a new one, signed in or not."""

SEARCH_COSTS = 5
"""A search reads the whole list, so that it looks so many times less often."""

CurrentUser = Callable[[Request], str | None]


def make_templates() -> Jinja2Templates:
    """The templates, in which whatever is printed is escaped and has nothing invisible in it."""
    templates = Jinja2Templates(directory=HERE / "templates")
    environment: Any = templates.env
    environment.finalize = shown
    environment.trim_blocks = environment.lstrip_blocks = True
    environment.globals |= {"view": view, "human": human, "form_token": form_token}
    return templates


def build_app(
    resources: Resources,
    *,
    current_user: CurrentUser,
    session_secret: str,
    templates: Jinja2Templates | None = None,
    signed_out: Callable[[Request], Response] | None = None,
    routes: Sequence[BaseRoute] = (),
    hosts: Sequence[str] = ("127.0.0.1", "localhost"),
    secure: bool = False,
    clock: Clock | None = None,
    look_every: float = 1.0,
) -> Starlette:
    """The page as an ASGI application; to set `app.state.stopping`, an event, ends its live connections.

    Args:
        resources: Whose approvals table and entry queue.
        current_user: Who is asking: a name that goes into the record, or None. Nothing else is believed.
        session_secret: What cookies are signed with.
        templates: From `make_templates`.
        signed_out: What somebody gets who is nobody, as a 401; left out: a page that says so.
        routes: More of them, such as a way to sign in.
        hosts: The names under which it may be asked.
        secure: Cookies by HTTPS only.
        clock: For deadlines.
        look_every: Seconds between two looks at the table, for each page that is open.
    """
    inbox = _Inbox(
        resources, current_user, templates or make_templates(), signed_out, clock or SystemClock(), look_every
    )
    app = Starlette(
        routes=[
            Route("/", inbox.list),
            Route("/question", inbox.question),
            Route("/answer", inbox.answer, methods=["POST"]),
            Route("/events", inbox.events),
            Mount("/static", StaticFiles(directory=HERE / "static")),
            *routes,
        ],
        middleware=[
            Middleware(SafeHeaders),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts)),
            Middleware(
                SessionMiddleware,
                secret_key=session_secret,
                session_cookie="inbox",
                max_age=SESSION_SECONDS,
                https_only=secure,
            ),
        ],
        exception_handlers={HTTPException: inbox.refuse, Exception: inbox.fail},
    )
    app.state.stopping = inbox.stopping
    return app


class _Inbox:
    def __init__(
        self,
        resources: Resources,
        current_user: CurrentUser,
        templates: Jinja2Templates,
        signed_out: Callable[[Request], Response] | None,
        clock: Clock,
        look_every: float,
    ) -> None:
        self.stopping = threading.Event()
        self._table = Table(resources.approvals_table, clock=clock)
        self._approvals = Approvals(resources, clock=clock)
        self._current_user = current_user
        self._signed_out = signed_out
        self._templates = templates
        self._clock = clock
        self._look_every = look_every

    def list(self, request: Request) -> Response:
        user = self._user(request)
        tab, query = _tab(request), dict(request.query_params)
        page = self._page(request)
        tags = [each for each in request.query_params.getlist("tag") if ":" in each]
        later = f"/?{urlencode([*_without(request, 'after'), ('after', page.after)])}" if page.after else ""
        return self._render(
            request,
            "list.html",
            user,
            tab=tab,
            page=page,
            words=query.get("q", ""),
            tags=[(each, _search(request, tag=[other for other in tags if other != each])) for each in tags],
            tagged=lambda tag: _search(request, tag=[*(each for each in tags if each != tag), tag]),
            first=f"/?{urlencode(_without(request, 'after'))}" if "after" in query else "",
            later=later,
            asked_again=self._asked_again(page) if tab == "done" else (),
            version=self._version_of_list(page),
        )

    def question(self, request: Request) -> Response:
        user = self._user(request)
        return self._question(request, user)

    async def answer(self, request: Request) -> Response:
        user = await run_in_threadpool(self._user, request)
        posted = await read_form(request)
        return await run_in_threadpool(self._answer, request, user, posted)

    def _answer(self, request: Request, user: str, posted: Mapping[str, str]) -> Response:
        approval, _ = self._find(request)
        if (state := self._table.state(approval)) != "open":
            return self._too_late(request, user, state)
        try:
            answer = form_for(approval.question).read(posted.get("action", ""), posted)
        except InvalidAnswer as invalid:
            return self._question(request, user, status=422, posted=posted, errors=invalid.errors)
        try:
            self._approvals.answer(approval.question, answer, answered_by=user)
        except NotOpen:
            approval, _ = self._find(request)
            return self._too_late(request, user, self._table.state(approval))
        return RedirectResponse(view.address(approval.question), status_code=303)

    async def events(self, request: Request) -> Response:
        """Says, over and over, which version of the page is the present one."""
        await run_in_threadpool(self._user, request)

        def version() -> str:
            if "ask" in request.query_params:
                return self._version_of_question(*self._find(request))
            return self._version_of_list(self._page(request))

        searches = any(request.query_params.get(name, "").strip() for name in ("q", "tag"))
        pause = self._look_every * (SEARCH_COSTS if searches else 1)

        async def stream() -> AsyncIterator[str]:
            for _ in range(LOOKS):
                try:
                    yield f"data: {await run_in_threadpool(version)}\n\n"
                except Exception:
                    if not self.stopping.is_set():
                        log.exception("the table could not be looked at; the page will ask again")
                    return
                await asyncio.sleep(pause)
                if self.stopping.is_set():
                    return

        return StreamingResponse(stream(), media_type="text/event-stream")

    def refuse(self, request: Request, error: Exception) -> Response:
        status, detail = 500, ""
        if isinstance(error, HTTPException):
            status, detail = error.status_code, error.detail
        if status == 401 and self._signed_out:
            return self._signed_out(request)
        return self._render(request, "message.html", None, status=status, detail=detail)

    def fail(self, request: Request, error: Exception) -> Response:
        del error
        detail = "Something went wrong here. Open the question again to see whether your answer counts."
        response = self._render(request, "message.html", None, status=500, detail=detail)
        # Outside of the middleware.
        response.headers.update(HEADERS)
        return response

    def _user(self, request: Request) -> str:
        user = self._current_user(request)
        if user is None:
            raise HTTPException(401, "You are not signed in.")
        return user

    def _page(self, request: Request) -> Page:
        words = request.query_params.get("q", "")
        tags = [_tag(each) for each in request.query_params.getlist("tag")]

        def wanted(approval: Approval) -> bool:
            return view.matches(approval, words, tags)

        try:
            return self._table.page(
                _tab(request),
                after=request.query_params.get("after"),
                wanted=wanted if words.strip() or tags else None,
            )
        except ValueError as error:
            raise HTTPException(400, "There is no such page of the list.") from error

    def _asked_again(self, page: Page) -> set[str]:
        """Which of the page's answers the agent could not use."""
        threads = {each.question.thread_id for each in page.approvals}
        asked = {thread_id: self._table.of_thread(thread_id) for thread_id in threads}
        return {
            each.question.ask_id
            for each in page.approvals
            if view.asked_again(each, asked[each.question.thread_id])
        }

    def _find(self, request: Request) -> tuple[Approval, Sequence[Approval]]:
        """The question that the address names, among those of its thread."""
        thread_id, ask_id = request.query_params.get("thread", ""), request.query_params.get("ask", "")
        of_thread = self._table.of_thread(thread_id)
        for approval in of_thread:
            if approval.question.ask_id == ask_id:
                return approval, of_thread
        raise HTTPException(404, "There is no such question, or it has been cleared away.")

    def _too_late(self, request: Request, user: str, state: State) -> Response:
        return self._question(request, user, status=410 if state == "late" else 409, too_late=True)

    def _question(
        self,
        request: Request,
        user: str,
        *,
        status: int = 200,
        posted: Mapping[str, str] | None = None,
        errors: Mapping[str, str] | None = None,
        too_late: bool = False,
    ) -> Response:
        approval, of_thread = self._find(request)
        state = self._table.state(approval)
        form: AnswerForm | None = form_for(approval.question) if state == "open" else None
        return self._render(
            request,
            "question.html",
            user,
            status=status,
            approval=approval,
            state=state,
            form=form,
            posted=posted,
            errors=errors or {},
            too_late=too_late,
            again=view.asked_again(approval, of_thread),
            before=view.asked_before(approval, of_thread),
            version=self._version_of_question(approval, of_thread),
        )

    def _version_of_list(self, page: Page) -> str:
        return _digest([page.after, [_mark(each, self._table.state(each)) for each in page.approvals]])

    def _version_of_question(self, approval: Approval, of_thread: Sequence[Approval]) -> str:
        state = self._table.state(approval)
        again = state != "open" and view.asked_again(approval, of_thread) is not None
        return _digest([_mark(approval, state), again])

    def _render(
        self, request: Request, name: str, user: str | None, *, status: int = 200, **context: Any
    ) -> Response:
        everywhere = {"user": user, "now": self._clock.now(), "status": status}
        return self._templates.TemplateResponse(request, name, everywhere | context, status_code=status)


def _tab(request: Request) -> Tab:
    tab = request.query_params.get("tab", "open")
    if tab not in get_args(Tab):
        raise HTTPException(404, "There is no such list.")
    return cast("Tab", tab)


def _tag(text: str) -> tuple[str, str]:
    name, _, value = text.partition(":")
    return name, value


def _without(request: Request, *names: str) -> Sequence[tuple[str, str]]:
    given = request.query_params.multi_items()
    return [(name, value) for name, value in given if name not in names and value]


def _search(request: Request, *, tag: Sequence[str]) -> str:
    return f"/?{urlencode([*_without(request, 'tag', 'after'), *(('tag', each) for each in tag)])}"


def _mark(approval: Approval, state: State) -> Sequence[Any]:
    return [approval.question.ask_id, state, approval.answered_at, approval.sent_at]


def _digest(parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
