"""One question: what its page says, and what answering it does."""

import html
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from agent_wait import WaitEnvelope
from inbox_support import REFUND, Desk, path_of, post, send, token_in
from refund_agent.approvals import Approvals
from starlette.testclient import TestClient


def words(text: str) -> str:
    """What a person reads of a page."""
    seen = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())
    return re.sub(r"(?<=\() | (?=[.,)])", "", seen)


def read(page: TestClient, question: WaitEnvelope) -> str:
    return words(page.get(path_of(question)).text)


def test_the_page_says_what_is_asked_by_when_and_what_follows(desk: Desk, page: TestClient) -> None:
    question = desk.ask(default={"action": "reject", "reason": "nobody answered"}, tags={"team": "finance"})
    text = read(page, question)
    for part in (
        "Issue refund 3 d 0 h left",
        "The agent does this only if somebody approves. The first answer counts.",
        "What the agent wants to do Order id o-1002 Amount 41000.00 Reason rusty",
        "If nobody answers by 12 Oct 2025, 08:53 UTC, the answer is: rejected (nobody answered).",
        "Function issue_refund Framework langgraph Thread t-1 Team finance",
    ):
        assert part in text


@pytest.mark.requirement("NO-APPROVER-RECORDED")
@pytest.mark.requirement("SELF-APPROVAL")
def test_an_approval_goes_to_the_agent_with_who_gave_it_whatever_the_form_says(
    desk: Desk, page: TestClient
) -> None:
    question = desk.ask()
    response = post(page, question, "approve", answered_by="the boss", user="root")
    assert (response.status_code, response.headers["location"]) == (303, path_of(question))
    expected = {**question.reply_with, "answer": {"action": "approve"}, "answered_by": "mia"}
    assert desk.queued() == [expected]
    row = desk.row(question)
    assert (row.status, row.answered_by, row.answer) == ("answered", "mia", {"action": "approve"})
    assert row.sent_at == row.answered_at == "2025-10-09T08:53:20Z"
    assert "Approved by mia 9 Oct 2025, 08:53 UTC · On its way to the agent." in read(page, question)
    desk.close(question)
    assert "The agent has taken it up." in read(page, question)


def test_only_what_was_changed_is_sent_and_the_page_shows_both(desk: Desk, page: TestClient) -> None:
    question = desk.ask()
    untouched = {"e0.0": REFUND["order_id"], "e0.2": REFUND["reason"]}
    post(page, question, "approve", **untouched, **{"e0.1": "9125.25"})
    [message] = desk.queued()
    assert message["answer"] == {"action": "approve", "args": {"amount": "9125.25"}}
    assert "Amount was 41000.00 → now 9125.25" in read(page, question)


def test_a_rejection_carries_its_reason(desk: Desk, page: TestClient) -> None:
    question = desk.ask()
    post(page, question, "reject", **{"reason-reject": "no receipt", "e0.1": "1.00"})
    [message] = desk.queued()
    assert message["answer"] == {"action": "reject", "reason": "no receipt"}
    assert "Rejected by mia Reason no receipt" in read(page, question)


def test_a_value_that_does_not_fit_is_told_at_its_field_and_nothing_is_sent(
    desk: Desk, page: TestClient
) -> None:
    question = desk.ask()
    response = post(page, question, "approve", **{"e0.1": "half <b>"})
    assert response.status_code == 422
    assert "Nothing has been sent yet." in response.text
    [control] = re.findall(r'<input [^>]*id="e0\.1"[^>]*>', response.text)
    assert 'value="half &lt;b&gt;"' in control
    assert 'aria-invalid="true"' in control
    assert 'aria-describedby="e0.1-wrong"' in control
    assert re.search(r'id="e0.1-wrong">A number in digits', response.text)
    assert '<details class="group edits" data-edits="approve" open>' in response.text
    assert (desk.queued(), desk.row(question).status) == ([], "open")


def test_an_action_that_is_not_allowed_is_not_sent(desk: Desk, page: TestClient) -> None:
    question = desk.ask()
    for action in ("delete", ""):
        assert post(page, question, action).status_code == 422
    assert (desk.queued(), desk.row(question).status) == ([], "open")


# Who was first


@pytest.mark.requirement("CONCURRENT-DOUBLE-APPROVE")
def test_the_second_is_told_who_was_first(desk: Desk, page: TestClient) -> None:
    question = desk.ask()
    tom = desk.client("tom")
    forms = [{"form_token": token_in(each.get(path_of(question)).text)} for each in (page, tom)]
    assert send(page, question, {**forms[0], "action": "approve"}).status_code == 303
    second = send(tom, question, {**forms[1], "action": "reject"})
    assert second.status_code == 409
    assert "Your answer was not sent: mia was first." in words(second.text)
    again = send(page, question, {**forms[0], "action": "approve"})
    assert again.status_code == 409
    assert "You had answered this already. Your first answer counts" in words(again.text)
    assert [message["answered_by"] for message in desk.queued()] == ["mia"]


@pytest.mark.requirement("CONCURRENT-DOUBLE-APPROVE")
def test_of_many_who_press_at_once_one_wins_and_the_others_are_told(desk: Desk) -> None:
    question, start = desk.ask(), threading.Barrier(5)
    people = [desk.client(f"person-{number}") for number in range(5)]
    tokens = [token_in(each.get(path_of(question)).text) for each in people]

    def press(number: int) -> Any:
        start.wait(timeout=30)
        return send(people[number], question, {"form_token": tokens[number], "action": "approve"})

    with ThreadPoolExecutor(5) as pool:
        responses = list(pool.map(press, range(5)))
    [message] = desk.queued()
    assert sorted(response.status_code for response in responses) == [303, 409, 409, 409, 409]
    for response in responses:
        if response.status_code == 409:
            assert f"{message['answered_by']} was first" in words(response.text)


def test_one_who_is_overtaken_between_the_look_and_the_claim_is_told(
    desk: Desk, page: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    question, answer = desk.ask(), Approvals.answer

    def overtaken(self: Approvals, question: WaitEnvelope, answer_: Any, **given: Any) -> None:
        answer(desk.approvals, question, {"action": "reject"}, answered_by="tom")
        answer(self, question, answer_, **given)

    monkeypatch.setattr(Approvals, "answer", overtaken)
    response = post(page, question, "approve")
    assert (response.status_code, "tom was first" in words(response.text)) == (409, True)
    assert [message["answered_by"] for message in desk.queued()] == ["tom"]


@pytest.mark.requirement("LATE-CLICK-SHOWN-AS-SUCCESS")
def test_a_click_after_the_deadline_is_told_so_and_sends_nothing(desk: Desk, page: TestClient) -> None:
    question = desk.ask(default={"action": "reject"})
    token = token_in(page.get(path_of(question)).text)
    desk.clock.advance(3 * 86400)
    late = send(page, question, {"form_token": token, "action": "approve"})
    assert late.status_code == 410
    text = words(late.text)
    assert "Your answer was not sent: the question has expired." in text
    assert "The agent gets its default answer: rejected." in text
    assert (desk.queued(), desk.row(question).status) == ([], "open")
    desk.approvals.answer(question, question.default, answered_by="deadline", past_deadline=True)
    assert "Rejected by the deadline (nobody answered)" in read(page, question)


def test_a_click_on_what_was_closed_past_the_page_is_told_so(desk: Desk, page: TestClient) -> None:
    question = desk.ask()
    token = token_in(page.get(path_of(question)).text)
    desk.close(question)
    late = send(page, question, {"form_token": token, "action": "approve"})
    assert (late.status_code, desk.queued()) == (409, [])
    assert "Your answer was not sent: the question is closed." in words(late.text)
    assert "The agent has moved on without an answer from here." in words(late.text)


@pytest.mark.requirement("ANSWERS-IN-DISPLAY-ORDER")
def test_answers_in_the_other_order_go_to_their_own_questions(desk: Desk, page: TestClient) -> None:
    first, second = desk.ask(thread_id="t-1"), desk.ask(thread_id="t-2")
    post(page, second, "approve")
    post(page, first, "reject")
    sent = {message["ask_id"]: message["answer"]["action"] for message in desk.queued()}
    assert sent == {first.ask_id: "reject", second.ask_id: "approve"}


def test_two_questions_of_one_thread_are_told_apart(desk: Desk, page: TestClient) -> None:
    first, second = desk.ask(), desk.ask()
    post(page, second, "approve")
    assert [message["ask_id"] for message in desk.queued()] == [second.ask_id]
    assert (desk.row(first).status, desk.row(second).status) == ("open", "answered")


@pytest.mark.requirement("CLAIM-THEN-CRASH")
def test_an_answer_that_cannot_be_sent_yet_is_recorded_and_the_page_says_so(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = TestClient(desk.app, headers={"x-user": "mia"}, raise_server_exceptions=False)
    question = desk.ask()

    def down(self: Approvals, approval: Any) -> None:
        raise ConnectionError("no queue")

    monkeypatch.setattr(Approvals, "send", down)
    failed = post(page, question, "approve")
    assert failed.status_code == 500
    assert "Open the question again to see whether your answer counts." in failed.text
    assert "no queue" not in failed.text
    assert "Approved by mia" in read(page, question)
    assert "Recorded; it will be sent to the agent shortly." in read(page, question)


# Asked again


def test_a_question_asked_again_says_why_and_leads_to_the_answer_before(desk: Desk, page: TestClient) -> None:
    same = f"sha256:{'a' * 64}"
    first = desk.ask(fingerprint=same)
    desk.approvals.answer(first, {"action": "approve", "args": {"amount": "?"}}, answered_by="tom")
    desk.close(first)
    second = desk.ask(fingerprint=same, attempt=2, error="amount: not a number")
    other = desk.ask(attempt=2)
    text = page.get(path_of(second)).text
    assert "Asked again. The last answer could not be used: amount: not a number" in words(text)
    assert html.escape(path_of(first)) in text
    before = page.get(path_of(first)).text
    assert "The agent could not use this answer." in words(before)
    assert html.escape(path_of(second)) in before
    assert html.escape(path_of(other)) not in before


# Other questions


def test_a_question_of_any_shape_can_be_read_and_answered(desk: Desk, page: TestClient) -> None:
    schema = {"type": "object", "properties": {"paper": {"enum": ["matt", "gloss"]}}, "required": ["paper"]}
    question = desk.ask("Which paper?", allowed_actions=None, answer_schema=schema)
    assert "Which paper?" in read(page, question)
    assert post(page, question, "resume").status_code == 422
    assert post(page, question, "resume", **{"f.0": "1"}).status_code == 303
    free = desk.ask(
        {"title": "Anything?", "list": [1, {"a": None}]}, allowed_actions=None, answer_schema=None
    )
    assert "A question" in read(page, free)
    post(page, free, "resume", f="no")
    assert [message["answer"] for message in desk.queued()] == [{"paper": "gloss"}, "no"]
    assert "Answered by mia Answer no" in read(page, free)


@pytest.mark.parametrize("framework", ["langgraph", "pydantic-ai", "strands", "none of these"])
def test_the_framework_that_asks_makes_no_difference(desk: Desk, page: TestClient, framework: str) -> None:
    question = desk.ask()
    desk.change(question, source=f'{{"function":"issue_refund","framework":"{framework}"}}')
    assert f"Framework {framework}" in read(page, question)
    post(page, question, "approve")
    assert [message["answer"] for message in desk.queued()] == [{"action": "approve"}]


def test_values_of_every_kind_are_shown(desk: Desk, page: TestClient) -> None:
    args: dict[str, Any] = {
        "none": None,
        "yes": True,
        "no": False,
        "big": 2**60,
        "half": 0.5,
        "empty": "",
        "data": {"a": [1]},
        "lines": "one\n  two",
        "api_key": "[redacted]",
        "long": "x" * 700,
    }
    question = desk.ask({"function": "f", "args": args}, answer_schema=None)
    response = page.get(path_of(question))
    text = words(response.text)
    for part in (
        "None (none)",
        "Yes yes",
        "No no",
        "Big 1152921504606846976",
        "Half 0.5",
        "Empty (empty)",
        'Data { "a": [ 1 ] }',
        "Api key Hidden by the agent",
    ):
        assert part in text
    assert "one\n  two" in response.text
    assert 'class="text long" dir="auto" tabindex="0" role="group" aria-label="Long"' in response.text


def test_a_question_that_is_not_there_is_not_there(page: TestClient, desk: Desk) -> None:
    desk.ask()
    for address in (
        "/question",
        "/question?thread=t-1&ask=other",
        "/question?thread=other&ask=q",
        "/nowhere",
    ):
        response = page.get(address)
        assert response.status_code == 404
        assert "Back to what is waiting" in response.text
