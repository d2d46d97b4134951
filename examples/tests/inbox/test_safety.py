"""Who may look and answer, what a page from elsewhere can do, and what text from outside can."""

import html
import re
from html.parser import HTMLParser
from typing import Any

import pytest
from inbox import build_app, deployed
from inbox.app import make_templates
from inbox.safety import MOST_BYTES
from inbox.sign_in import LocalSignIn
from inbox_support import Desk, path_of, post, send, token_in
from starlette.testclient import TestClient

SECRET_FREE = ("form_token", "password", "secret", "inbox=")


@pytest.mark.requirement("OPEN-ENDPOINT")
def test_nobody_who_has_not_signed_in_sees_or_sends_anything(desk: Desk, page: TestClient) -> None:
    question = desk.ask({"function": "f", "args": {"note": "for our eyes"}}, answer_schema=None)
    nobody = desk.client(None)
    token = token_in(page.get(path_of(question)).text)
    for address in ("/", path_of(question), path_of(question, "/events"), "/events", "/?tab=done"):
        response = nobody.get(address)
        assert (response.status_code, "for our eyes" in response.text) == (401, False)
    response = send(nobody, question, {"form_token": token, "action": "approve"})
    assert (response.status_code, desk.queued(), desk.row(question).status) == (401, [], "open")


@pytest.mark.requirement("OPEN-ENDPOINT")
@pytest.mark.parametrize("token", [None, "", "guessed", "é"])
def test_an_answer_without_this_sessions_token_is_refused(
    desk: Desk, page: TestClient, token: str | None
) -> None:
    question = desk.ask()
    form = {"action": "approve"} | ({} if token is None else {"form_token": token})
    assert send(page, question, form).status_code == 403
    page.get(path_of(question))
    assert send(page, question, form).status_code == 403
    others = token_in(desk.client("tom").get(path_of(question)).text)
    assert send(page, question, {**form, "form_token": others}).status_code == 403
    assert (desk.queued(), desk.row(question).status) == ([], "open")


@pytest.mark.requirement("GET-PREFETCH")
def test_no_get_and_no_head_changes_anything(desk: Desk, page: TestClient) -> None:
    question = desk.ask(tags={"team": "finance"})
    before = desk.row(question)
    seen: set[str] = set()
    addresses = ["/", path_of(question), path_of(question, "/answer") + "&action=approve", "/sign-out"]
    desk.app.state.stopping.set()
    while addresses:
        address = addresses.pop()
        if address in seen:
            continue
        seen.add(address)
        texts = [each(address).text for each in (page.head, page.get, page.head, page.get)]
        found = re.findall(r'(?:href|action|hx-get|data-events|src)="(/[^"]*)"', texts[-1])
        addresses += [html.unescape(each) for each in found]
    assert {"/", "/?tab=late", "/?tab=done", "/?tag=team%3Afinance", path_of(question)} <= seen
    assert (desk.row(question), desk.queued()) == (before, [])


def test_an_address_has_no_secret_in_it(desk: Desk, page: TestClient) -> None:
    question = desk.ask()
    response = post(page, question, "approve")
    addresses = re.findall(r'(?:href|action|hx-get|data-events)="([^"]*)"', page.get(path_of(question)).text)
    for address in (*addresses, response.headers["location"]):
        assert not [word for word in SECRET_FREE if word in address]


def test_every_response_has_the_strict_headers(desk: Desk, page: TestClient) -> None:
    question = desk.ask()
    responses = [page.get(each) for each in ("/", path_of(question), "/nowhere", "/static/inbox.js")]
    responses += [desk.client(None).get("/"), send(page, question, {})]
    for response in responses:
        policy = response.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
    assert [response.headers.get("cache-control") for response in responses] == [
        *["no-store"] * 3,
        None,
        *["no-store"] * 2,
    ]


def test_a_failure_of_ours_has_them_too_and_says_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    page = TestClient(desk.app, headers={"x-user": "mia"}, raise_server_exceptions=False)
    monkeypatch.setattr("inbox.table.Table.page", lambda *_, **__: 1 / 0)
    response = page.get("/")
    assert (response.status_code, "Traceback" in response.text) == (500, False)
    assert "default-src 'none'" in response.headers["content-security-policy"]


def test_it_answers_to_its_own_names_only(desk: Desk) -> None:
    elsewhere = TestClient(desk.app, base_url="http://attacker.example", headers={"x-user": "mia"})
    assert elsewhere.get("/").status_code == 400


def test_a_form_that_is_too_large_or_no_form_is_refused(desk: Desk, page: TestClient) -> None:
    question = desk.ask()
    address = path_of(question, "/answer")
    assert page.post(address, content=b"x" * (MOST_BYTES + 1)).status_code == 413
    assert page.post(address, content=b"\xff=%ff").status_code == 400
    assert page.post(address, content="&".join(f"f{n}=" for n in range(1001))).status_code == 400


# Text from outside


class Elements(HTMLParser):
    """The elements of a page, and their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]


NASTY = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(1)</script>",
    '" autofocus onfocus="alert(1)',
    "' onmouseover='alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "</textarea></title><svg onload=alert(1)>",
    '" hx-on:click="alert(1)',
)


@pytest.mark.requirement("PAGE-XSS")
@pytest.mark.parametrize("nasty", NASTY)
def test_text_from_outside_stays_text_wherever_it_stands(desk: Desk, page: TestClient, nasty: str) -> None:
    schema = {
        "anyOf": [
            {
                "type": "object",
                "properties": {
                    "action": {"const": nasty},
                    "args": {
                        "type": "object",
                        "properties": {
                            nasty: {"type": "string", "description": nasty},
                            "data": {},
                            "choice": {"enum": [nasty, "other"]},
                            "lines": {"type": "string"},
                        },
                    },
                },
            },
        ]
    }
    args = {nasty: nasty, "data": [nasty], "choice": nasty, "lines": f"\n{nasty}\n"}
    question = desk.ask(
        {"function": nasty, "args": args},
        thread_id=nasty,
        allowed_actions=(nasty,),
        answer_schema=schema,
        tags={nasty: nasty},
        correlation={nasty: nasty},
        error=nasty,
        default={"action": nasty, "reason": nasty},
    )
    plain = desk.ask(thread_id="plain", tags={"team": "finance"})
    pages = [
        page.get("/"),
        page.get(path_of(question)),
        page.get("/", params={"q": nasty, "tag": f"{nasty}:x"}),
    ]
    pages.append(send(page, question, {"form_token": token_in(pages[1].text), "action": "no", "e0.0": nasty}))
    desk.approvals.answer(question, {"action": nasty, "reason": nasty}, answered_by=nasty)
    desk.approvals.answer(plain, {"action": "approve", "args": {"amount": nasty}}, answered_by=nasty)
    pages += [page.get(path_of(question)), page.get(path_of(plain)), page.get("/?tab=done")]
    pages.append(desk.client(nasty.encode("ascii", "ignore").decode()).get("/"))
    for response in pages:
        assert response.status_code in (200, 422)
        elements = Elements(response.text)
        assert {"img", "svg"} & set(elements.tags) <= {"img"}
        assert elements.tags.count("img") == 1, "the brand"
        assert elements.tags.count("script") == 2, "htmx and ours"
        assert not [name for name in elements.attributes if name.startswith(("on", "hx-on"))]
        assert "style" not in elements.tags + elements.attributes
        assert re.search("49", words_of(response.text)) is None
    assert html.escape(nasty, quote=False).split("&")[0] in html.unescape(pages[1].text)


def words_of(text: str) -> str:
    """The visible text, without the hashes and times that may hold any digits."""
    return " ".join(re.findall(r"<bdi>([^<]*)</bdi>", text))


def test_text_that_would_turn_around_or_vanish_is_spelt_out_everywhere(desk: Desk, page: TestClient) -> None:
    odd = "pay\u202e00.5\u200b\x1b"
    question = desk.ask(
        {"function": odd, "args": {"note": odd, odd: [odd]}}, tags={"x": odd}, answer_schema=None, error=odd
    )
    for response in (page.get("/"), page.get(path_of(question)), page.get("/", params={"q": "pay\u202e"})):
        assert not {"\u202e", "\u200b", "\x1b"} & set(response.text)
        assert "pay⟦U+202E⟧00.5⟦U+200B⟧⟦U+001B⟧" in response.text


# The sign-in of one machine


@pytest.fixture
def local(desk: Desk) -> TestClient:
    templates = make_templates()
    sign_in = LocalSignIn({"mia": "right", "tom": "other"}, templates)
    app = build_app(
        desk.resources,
        current_user=sign_in.current_user,
        signed_out=sign_in.signed_out,
        routes=sign_in.routes,
        templates=templates,
        session_secret="made up",
        hosts=["testserver"],
        clock=desk.clock,
    )
    return TestClient(app, follow_redirects=False)


def sign_in(client: TestClient, address: str = "/", **form: Any) -> Any:
    token = token_in(client.get(address).text)
    return client.post("/sign-in", data={"form_token": token, "name": "mia", "password": "right", **form})


def test_one_signs_in_answers_and_signs_out(desk: Desk, local: TestClient) -> None:
    question = desk.ask()
    asked = local.get(path_of(question))
    assert asked.status_code == 401
    [back] = re.findall(r'name="back" value="([^"]*)"', asked.text)
    response = sign_in(local, back=html.unescape(back))
    assert (response.status_code, response.headers["location"]) == (303, path_of(question))
    assert post(local, question, "approve").status_code == 303
    assert desk.row(question).answered_by == "mia"
    token = token_in(local.get("/").text)
    assert local.post("/sign-out", data={"form_token": token}).status_code == 303
    assert local.get("/").status_code == 401


@pytest.mark.requirement("OPEN-ENDPOINT")
@pytest.mark.parametrize(
    "form", [{"password": "wrong"}, {"password": ""}, {"name": "tom"}, {"name": "nobody", "password": ""}]
)
def test_a_wrong_name_or_password_signs_nobody_in(local: TestClient, form: dict[str, str]) -> None:
    response = sign_in(local, **form)
    assert (response.status_code, "do not go together" in response.text) == (403, True)
    assert local.get("/").status_code == 401


def test_signing_in_and_out_need_the_token_too(local: TestClient) -> None:
    assert local.post("/sign-in", data={"name": "mia", "password": "right"}).status_code == 403
    sign_in(local)
    assert local.post("/sign-out").status_code == 403
    assert local.get("/").status_code == 200


@pytest.mark.parametrize(
    "back",
    [
        "https://attacker.example/",
        "//attacker.example/",
        "/\\attacker.example",
        "/sign-out",
        "javascript:1",
        "",
    ],
)
def test_signing_in_leads_nowhere_else(local: TestClient, back: str) -> None:
    assert sign_in(local, back=back).headers["location"] == "/"


def test_the_session_is_kept_from_scripts_and_from_other_sites(desk: Desk) -> None:
    cookie = desk.client("mia").get("/").headers["set-cookie"]
    assert "httponly" in cookie
    assert "samesite=lax" in cookie


def test_a_session_that_was_tampered_with_is_nobodys(local: TestClient) -> None:
    sign_in(local)
    cookie = local.cookies["inbox"]
    local.cookies.clear()
    assert local.get("/", headers={"cookie": f"inbox={cookie}"}).status_code == 200
    body, _, signature = cookie.partition(".")
    for forged in (
        f"{body[::-1]}.{signature}",
        f"{body}.",
        body,
        f"{cookie[:-1]}{'A' if cookie[-1] != 'A' else 'B'}x",
    ):
        assert local.get("/", headers={"cookie": f"inbox={forged}"}).status_code == 401


# Behind a proxy


def test_behind_a_proxy_one_is_who_the_proxy_says(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("entry_queue_url", "dead_letter_queue_url", "topic_arn", "approvals_table"):
        monkeypatch.setenv(name.upper(), getattr(desk.resources, name))
    for name in ("checkpoint_table", "ledger_table"):
        monkeypatch.setenv(name.upper(), getattr(desk.resources, name))
    monkeypatch.setenv("INBOX_HOSTS", "approvals.example")
    monkeypatch.setenv("INBOX_USER_HEADER", "x-signed-in")
    monkeypatch.setenv("INBOX_SESSION_SECRET", "made up")
    client = TestClient(deployed.app(), base_url="https://approvals.example")
    assert client.get("/").status_code == 401
    assert client.get("/", headers={"x-signed-in": ""}).status_code == 401
    assert client.get("/", headers=[("x-signed-in", "mia"), ("x-signed-in", "root")]).status_code == 401
    response = client.get("/", headers={"x-signed-in": "mia"})
    assert "<bdi>mia</bdi>" in response.text
    assert "secure" in response.headers["set-cookie"]
    assert "You are not signed in." in client.get("/").text
