"""The live connection: it says which version of a page is the present one."""

import re
from collections.abc import Iterator

import httpx2
import pytest
from agent_wait import WaitEnvelope
from inbox.serving import listen, served
from inbox_support import Desk, path_of
from starlette.testclient import TestClient


@pytest.fixture
def site(desk: Desk) -> Iterator[str]:
    with served(desk.app, listen()) as address:
        yield address


class Listener:
    """What a page hears, as long as it listens."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines = response.iter_lines()

    def next(self) -> str:
        return next(line.removeprefix("data: ") for line in self._lines if line)

    def until(self, version: str) -> None:
        while self.next() != version:
            pass


@pytest.fixture
def listening(site: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=site, headers={"x-user": "mia"}, timeout=30) as client:
        yield client


def version_in(text: str) -> str:
    [version] = re.findall(r'data-version="(\w+)"', text)
    return version


def test_a_page_hears_its_own_version_until_something_changes(
    desk: Desk, page: TestClient, listening: httpx2.Client
) -> None:
    first = desk.ask(thread_id="t-1")
    version = version_in(page.get("/").text)
    with listening.stream("GET", "/events") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        heard = Listener(response)
        assert [heard.next(), heard.next()] == [version, version]
        desk.ask(thread_id="t-2")
        heard.until(version_in(page.get("/").text))
        desk.approvals.answer(first, {"action": "approve"}, answered_by="tom")
        heard.until(version_in(page.get("/").text))
        desk.clock.advance(3 * 86400)
        heard.until(version_in(page.get("/").text))


def stages(desk: Desk, question: WaitEnvelope) -> Iterator[None]:
    desk.approvals.answer(question, {"action": "approve"}, answered_by="tom")
    yield
    desk.close(question)
    yield
    desk.ask(fingerprint=question.fingerprint or "", attempt=2)
    yield


def test_a_questions_page_hears_of_each_step_and_of_nothing_else(
    desk: Desk, page: TestClient, listening: httpx2.Client
) -> None:
    question = desk.ask()
    version = version_in(page.get(path_of(question)).text)
    with listening.stream("GET", path_of(question, "/events")) as response:
        heard = Listener(response)
        assert heard.next() == version
        desk.ask()
        assert [heard.next() for _ in range(5)] == [version] * 5, "a form that is being filled in stays"
        for _ in stages(desk, question):
            before, version = version, version_in(page.get(path_of(question)).text)
            assert version != before
            heard.until(version)


def test_a_table_that_cannot_be_read_ends_the_connection_and_not_the_page(
    desk: Desk, page: TestClient, listening: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("inbox.table.Table.page", lambda *_, **__: 1 / 0)
        assert listening.get("/events").text == ""
    with listening.stream("GET", "/events") as response:
        assert Listener(response).next() == version_in(page.get("/").text)


def test_a_connection_ends_by_itself_so_that_it_is_asked_again_who_listens(
    listening: httpx2.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inbox.app.LOOKS", 3)
    assert listening.get("/events").text.count("data: ") == 3


def test_stopping_the_page_ends_what_listens_to_it(desk: Desk) -> None:
    with (
        served(desk.app, listen()) as address,
        httpx2.stream("GET", f"{address}/events", headers={"x-user": "mia"}, timeout=30) as response,
    ):
        lines = response.iter_lines()
        next(lines)
        desk.app.state.stopping.set()
        assert {line for line in lines if line} <= {f"data: {version_in(desk.client().get('/').text)}"}
