"""The lists: what is in them, in which order, and at what cost."""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from agent_wait import Question, WaitPolicy, publish
from inbox.table import PAGE, Table
from inbox_support import Desk, path_of, threads_in, token_in
from refund_agent import aws
from starlette.testclient import TestClient

DAY = 86400.0


def test_open_questions_come_nearest_deadline_first_and_those_without_one_last(
    desk: Desk, page: TestClient
) -> None:
    for thread_id, timeout in (("later", "P5D"), ("never", None), ("soon", "PT1H"), ("next", "P1D")):
        desk.ask(thread_id=thread_id, timeout=timeout)
    shown = page.get("/")
    assert threads_in(shown.text) == ["soon", "next", "later", "never"]
    assert re.findall(r'data-urgency="(\w+)">([^<]+)<', shown.text) == [
        ("soon", "1 h 0 min left"),
        ("later", "1 d 0 h left"),
        ("later", "5 d 0 h left"),
    ]
    assert "No deadline" in shown.text


def test_each_question_is_in_the_list_of_its_state(desk: Desk, page: TestClient) -> None:
    for thread_id in ("open", "late", "answered", "closed", "closed-unanswered"):
        question = desk.ask(thread_id=thread_id, timeout="PT1M" if thread_id == "late" else "P3D")
        if thread_id in ("answered", "closed"):
            desk.approvals.answer(question, {"action": "approve"}, answered_by="tom")
        if thread_id.startswith("closed"):
            desk.close(question)
    desk.clock.advance(60)
    assert threads_in(page.get("/").text) == ["open"]
    assert threads_in(page.get("/?tab=late").text) == ["late"]
    done = threads_in(page.get("/?tab=done").text)
    assert (done[0], sorted(done[1:])) == ("answered", ["closed", "closed-unanswered"])


@pytest.mark.requirement("DDB-TTL-LINGERS")
def test_a_row_that_dynamodb_should_have_deleted_is_not_there(desk: Desk, page: TestClient) -> None:
    question = desk.ask()
    token = token_in(page.get(path_of(question)).text)
    desk.change(question, ttl=int(desk.clock.now()) - 1)
    assert "Nothing is waiting" in page.get("/").text
    assert page.get(path_of(question)).status_code == 404
    answer = {"form_token": token, "action": "approve"}
    refused = page.post(path_of(question, "/answer"), data=answer)
    assert (refused.status_code, desk.queued(), desk.row(question).status) == (404, [], "open")


def test_an_empty_list_says_so(desk: Desk, page: TestClient) -> None:
    assert "Nothing is waiting for you." in page.get("/").text
    assert "No deadline has been missed." in page.get("/?tab=late").text
    assert "Nothing has been answered yet." in page.get("/?tab=done").text
    assert "Nothing here matches." in page.get("/?q=nothing").text


def test_search_and_tags_narrow_a_list(desk: Desk, page: TestClient) -> None:
    desk.ask({"function": "f", "args": {"note": "Blue Paint"}}, thread_id="paint", tags={"team": "shop"})
    desk.ask({"function": "f", "args": {"note": "blue ink"}}, thread_id="ink", tags={"team": "print"})
    desk.ask("Which colour?", thread_id="colour", tags={"team": "print", "site": "north"})
    assert sorted(threads_in(page.get("/?q=BLUE").text)) == ["ink", "paint"]
    assert threads_in(page.get("/?q=blue+paint").text) == ["paint"]
    assert threads_in(page.get("/?q=colour").text) == ["colour"]
    assert sorted(threads_in(page.get("/?tag=team:print").text)) == ["colour", "ink"]
    both = page.get("/?tag=team:print&tag=site:north")
    assert threads_in(both.text) == ["colour"]
    assert 'href="/?tag=site%3Anorth"' in both.text, "the way to remove the other one"
    assert threads_in(page.get("/?tag=team:print&q=blue").text) == ["ink"]


def test_history_says_who_when_and_what_was_edited(desk: Desk, page: TestClient) -> None:
    edited = desk.ask(thread_id="edited")
    rejected = desk.ask(thread_id="rejected")
    desk.clock.advance(3600)
    desk.approvals.answer(
        edited, {"action": "approve", "args": {"amount": "300.00", "reason": "rusty"}}, answered_by="tom"
    )
    desk.approvals.answer(rejected, {"action": "reject", "reason": "no receipt"}, answered_by="mia")
    text = " ".join(re.sub(r"<[^>]+>", " ", page.get("/?tab=done").text).split())
    assert "Amount was 41000.00 → now 300.00" in text
    assert "Reason was" not in text, "what was sent as it was is no edit"
    assert "Approved by tom 9 Oct 2025, 09:53 UTC" in text
    assert "Reason no receipt" in text
    assert "Rejected by mia" in text


def test_history_says_which_answer_could_not_be_used(desk: Desk, page: TestClient) -> None:
    same = f"sha256:{'a' * 64}"
    first = desk.ask(fingerprint=same)
    desk.approvals.answer(first, {"action": "approve", "args": {"amount": "?"}}, answered_by="tom")
    desk.close(first)
    desk.ask(fingerprint=same, attempt=2, error="amount: not a number")
    text = page.get("/?tab=done").text
    assert text.count("The agent could not use this answer, and asked again") == 1
    assert "Asked again: the last answer could not be used" in page.get("/").text


# Many


@pytest.fixture
def many(desk: Desk) -> int:
    """A thousand open questions."""
    questions = [
        Question(
            f"q-{number}",
            {"function": "issue_refund", "args": {"order_id": f"o-{number}", "note": "n" * 200}},
            WaitPolicy(timeout=None if number % 10 == 0 else 3600 + number),
            fingerprint=f"sha256:{number:064x}",
            asked_at=desk.clock.now(),
        )
        for number in range(1000)
    ]
    publish(questions, "t-many", desk.announce, clock=desk.clock, budget=60).raise_for_failures()
    return len(questions)


class Counted:
    """The table, counting what it is asked."""

    def __init__(self, table: Any) -> None:
        self._table = table
        self.queries: list[dict[str, Any]] = []
        self.rows = 0

    def query(self, **query: Any) -> Any:
        self.queries.append(query)
        reply = self._table.query(**query)
        self.rows += len(reply["Items"])
        return reply


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, desk: Desk) -> Iterator[Counted]:
    counted = Counted(aws.table(desk.resources.approvals_table))

    def table(name: str) -> Any:
        return counted

    with monkeypatch.context() as patch:
        patch.setattr(aws, "table", table)
        yield counted


def test_of_a_thousand_open_questions_a_page_is_one_query_of_one_page(
    desk: Desk, many: int, counted: Counted
) -> None:
    table = Table(desk.resources.approvals_table, clock=desk.clock)
    seen: list[str] = []
    after: str | None = None
    while True:
        counted.queries.clear()
        counted.rows = 0
        page = table.page("open", after=after)
        assert (len(counted.queries), counted.rows <= PAGE + 1) == (1, True)
        seen += [approval.question.question_id for approval in page.approvals]
        if (after := page.after) is None:
            break
    with_deadline = [f"q-{number}" for number in range(many) if number % 10]
    assert seen[: len(with_deadline)] == with_deadline
    assert sorted(seen[len(with_deadline) :]) == sorted(f"q-{number}" for number in range(0, many, 10))


def test_pages_follow_each_other_and_keep_what_was_searched_for(
    desk: Desk, page: TestClient, many: int
) -> None:
    first = page.get("/?q=issue")
    orders = re.findall(r"<bdi>(o-\d+)</bdi>", first.text)
    assert len(orders) == PAGE
    assert f"({PAGE}+) Approvals" in first.text
    [following] = re.findall(r'href="([^"]+)">Next page', first.text)
    assert "q=issue" in following
    second = page.get(following.replace("&amp;", "&"))
    assert set(re.findall(r"<bdi>(o-\d+)</bdi>", second.text)).isdisjoint(orders)
    assert 'href="/?q=issue">First page' in second.text
    assert "o-999" in page.get("/?q=o-999").text


@pytest.mark.parametrize(
    "cursor", ["x", "e30=", base64.urlsafe_b64encode(json.dumps([1]).encode()).decode(), "é"]
)
def test_what_is_no_cursor_is_no_page(page: TestClient, cursor: str) -> None:
    response = page.get("/", params={"after": cursor})
    assert (response.status_code, "no such page" in response.text) == (400, True)
    assert page.get("/?tab=nonsense").status_code == 404


@pytest.mark.requirement("MALFORMED-EXPIRY-FAILS-OPEN")
@pytest.mark.odd_envelope("a row whose deadline has been damaged")
def test_a_question_whose_deadline_cannot_be_read_is_expired(desk: Desk, page: TestClient) -> None:
    question = desk.ask()
    desk.change(question, expires_at="not-a-date")
    text = page.get(path_of(question)).text
    assert "This question has expired." in text
    assert '<form method="post" action="/answer' not in text


def test_a_row_of_other_making_hides_no_question(
    desk: Desk, page: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    desk.ask(thread_id="ours")
    row = {"pk": "THREAD#theirs", "sk": "WAIT#1", "status": "open", "expires_at": "never", "question": "{"}
    aws.table(desk.resources.approvals_table).put_item(Item=row)
    for _ in range(2):
        assert threads_in(page.get("/").text) == ["ours"]
    assert [
        record.message.split(" cannot")[0] for record in caplog.records if record.name == "inbox.table"
    ] == ["the row THREAD#theirs WAIT#1"]


def test_a_row_that_was_only_ever_closed_is_in_the_history(desk: Desk, page: TestClient) -> None:
    question = desk.ask(thread_id="bare")
    desk.change(question, status="closed", question="null", tags={})
    assert "A question" in page.get("/?tab=done").text
    assert "moved on without an answer from here" in page.get(path_of(question)).text
