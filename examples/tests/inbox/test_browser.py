"""The whole of it in a real browser: a question comes in, somebody clicks, money moves."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from agent_wait import JSON, Question, WaitPolicy, publish
from agent_wait_aws import DynamoDbAnnounce
from inbox import build_app, view
from inbox.__main__ import agent_at_work
from inbox.app import make_templates
from inbox.samples import send
from inbox.screenshots import chromium, sign_in
from inbox.serving import listen, served
from inbox.sign_in import LocalSignIn
from inbox_support import REFUND_SCHEMA
from playwright.sync_api import Browser, BrowserContext, Page, expect
from refund_agent.approvals import Approvals
from refund_agent.clock import WindableClock
from refund_agent.resources import Resources
from refund_agent.seen import Seen

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]

AXE = Path(__file__).parent / "vendor" / "axe-core-4.14.1.min.js"
PASSWORD = "for-the-tests"
PHONE = {"width": 375, "height": 740}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as browser:
        yield browser


class Site:
    """The page and the agent behind it, and people's browsers in front."""

    def __init__(self, browser: Browser, resources: Resources, address: str, clock: WindableClock) -> None:
        self.browser = browser
        self.resources = resources
        self.address = address
        self.clock = clock
        self.seen = Seen(resources)
        self.approvals = Approvals(resources, clock=clock)
        self.complaints: list[str] = []

    def visit(self, name: str = "mia", *, address: str = "", **options: Any) -> Page:
        """A browser of somebody's own, signed in; whatever it complains of fails the test."""
        context = self.browser.new_context(reduced_motion="reduce", **options)
        context.set_default_timeout(20_000)
        page = context.new_page()
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        sign_in(page, address or self.address, name, PASSWORD)
        expect(page.get_by_role("heading", level=1)).to_have_text("Waiting for an answer")
        return page

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    def request(self, thread_id: str, order_id: str, amount: str, reason: str = "rusty") -> None:
        refund = {"order_id": order_id, "amount": amount, "reason": reason}
        send(self.resources, thread_id, {"thread_id": thread_id, "start_id": "request-1", "input": refund})

    def publish(self, thread_id: str, question: JSON, *, fingerprint: int = 1, **policy: Any) -> None:
        asked = Question(
            f"{thread_id}-{fingerprint}",
            question,
            WaitPolicy(**policy),
            fingerprint=f"sha256:{fingerprint:064x}",
            asked_at=self.clock.now(),
            source={"function": "issue_refund", "framework": "langgraph"},
        )
        announce = DynamoDbAnnounce(self.resources.approvals_table)
        publish([asked], thread_id, announce, clock=self.clock).raise_for_failures()


@pytest.fixture
def site(browser: Browser, resources: Resources) -> Iterator[Site]:
    clock = WindableClock()
    with served(local_app(resources, clock), listen()) as address:
        site = Site(browser, resources, address, clock)
        yield site
        for context in browser.contexts:
            context.close()
    assert site.complaints == []


@pytest.fixture
def agent(site: Site) -> Iterator[Site]:
    """The same with the refund agent at work."""
    with agent_at_work(site.resources):
        yield site


def local_app(resources: Resources, clock: WindableClock) -> Any:
    templates = make_templates()
    people = LocalSignIn({"mia": PASSWORD, "tom": PASSWORD}, templates)
    return build_app(
        resources,
        current_user=people.current_user,
        signed_out=people.signed_out,
        routes=people.routes,
        templates=templates,
        session_secret="made up",
        clock=clock,
        look_every=0.1,
    )


def card(page: Page, text: str) -> Any:
    return page.locator(".card", has_text=text)


def open_card(page: Page, text: str) -> None:
    card(page, text).get_by_role("heading").get_by_role("link").click()
    expect(page.get_by_role("link", name="All questions")).to_be_visible()


def button(page: Page, name: str) -> Any:
    return page.get_by_role("button", name=name, exact=True)


def violations(page: Page) -> list[str]:
    """What axe-core finds, by rule and place. It is run from outside of the page, whose policy forbids it."""
    page.evaluate(AXE.read_text())
    found: Any = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {node['target']} {node['failureSummary']}"
        for each in found["violations"]
        for node in each["nodes"]
    ]


def test_a_question_arrives_by_itself_is_approved_by_a_click_and_the_money_moves(agent: Site) -> None:
    page = agent.visit()
    expect(page.get_by_text("Nothing is waiting for you.")).to_be_visible()
    agent.request("t-1", "o-1002", "41000.00", "never delivered")
    expect(card(page, "never delivered")).to_contain_text("41000.00")
    expect(page).to_have_title("(1) Approvals")
    open_card(page, "never delivered")
    button(page, "Approve").click()
    expect(page.get_by_role("heading", name="Approved by mia")).to_be_visible()
    expect(page.get_by_text("The agent has taken it up.")).to_be_visible()
    assert agent.seen.refunds("o-1002") == ["41000.00"]
    [entry] = agent.seen.entries("refund", "o-1002")
    assert entry.approved_by == "mia"
    page.get_by_role("link", name="Back to what is waiting").click()
    expect(page.get_by_text("Nothing is waiting for you.")).to_be_visible()


def test_a_lower_amount_is_marked_counted_sent_and_refunded(agent: Site) -> None:
    agent.request("t-1", "o-1003", "18250.50")
    page = agent.visit()
    open_card(page, "o-1003")
    page.get_by_text("Change values before approving").click()
    amount = page.get_by_label("Amount", exact=True)
    amount.fill("9125.25")
    expect(button(page, "Approve with 1 change")).to_be_visible()
    page.get_by_label("Order id", exact=True).fill("o-1002")
    expect(button(page, "Approve with 2 changes")).to_be_visible()
    page.get_by_role("button", name="undo Order id").click()
    expect(page.get_by_label("Order id", exact=True)).to_have_value("o-1003")
    button(page, "Approve with 1 change").click()
    expect(page.get_by_text("The agent has taken it up.")).to_be_visible()
    expect(page.locator(".outcome del")).to_contain_text("18250.50")
    expect(page.locator(".outcome ins")).to_contain_text("9125.25")
    assert agent.seen.refunds("o-1003") == ["9125.25"]
    page.goto(f"{agent.address}/?tab=done")
    expect(card(page, "o-1003")).to_contain_text("Approved by mia")


def test_a_mistake_is_told_at_its_field_and_can_be_mended(agent: Site) -> None:
    agent.request("t-1", "o-1003", "18250.50")
    page = agent.visit()
    open_card(page, "o-1003")
    page.get_by_text("Change values before approving").click()
    page.get_by_label("Amount", exact=True).fill("half of it")
    button(page, "Approve with 1 change").click()
    expect(page.get_by_role("alert")).to_be_focused()
    amount = page.get_by_label("Amount", exact=True)
    expect(amount).to_have_value("half of it")
    expect(amount).to_have_accessible_description(
        "A number in digits, with a point for decimals, such as 9125.25."
    )
    assert violations(page) == []
    amount.fill("9000.00")
    button(page, "Approve with 1 change").click()
    expect(page.get_by_text("The agent has taken it up.")).to_be_visible()
    assert agent.seen.refunds("o-1003") == ["9000.00"]


def test_a_rejection_moves_no_money_and_the_customer_reads_why(agent: Site) -> None:
    agent.request("t-1", "o-1005", "27400.00")
    page = agent.visit()
    open_card(page, "o-1005")
    page.get_by_label("Reason, if you reject").fill("the warranty had run out")
    button(page, "Reject").click()
    expect(page.get_by_role("heading", name="Rejected by mia")).to_be_visible()
    expect(page.get_by_text("The agent has taken it up.")).to_be_visible()
    assert agent.seen.refunds("o-1005") == []
    [notice] = agent.seen.notices("o-1005")
    assert "the warranty had run out" in notice


def test_an_answer_the_agent_cannot_use_leads_to_the_new_question(agent: Site) -> None:
    agent.request("t-1", "o-1004", "9999.99")
    page = agent.visit()
    open_card(page, "o-1004")
    page.get_by_text("Change values before approving").click()
    # A number to the page; the agent pays in whole cents.
    page.get_by_label("Amount", exact=True).fill("33.333")
    button(page, "Approve with 1 change").click()
    page.get_by_role("link", name="It asked again: open the new question").click()
    expect(page.get_by_text("Asked again.")).to_be_visible()
    expect(page.get_by_text("could not be used")).to_contain_text("amount")
    button(page, "Approve").click()
    expect(page.get_by_text("The agent has taken it up.")).to_be_visible()
    assert agent.seen.refunds("o-1004") == ["9999.99"]


@pytest.mark.requirement("LATE-CLICK-SHOWN-AS-SUCCESS")
def test_a_deadline_that_passes_under_the_cursor_is_shown_and_a_late_click_refused(site: Site) -> None:
    site.publish("t-1", "Well?", timeout="PT1H", allowed_actions=("yes", "no"))
    page, late = site.visit(), site.visit("tom")
    for each in (page, late):
        open_card(each, "Well?")
    expect(page.locator("[data-left]")).to_contain_text("59 min left")
    # Tom's page does not hear of it.
    late.route("**/events?**", lambda route: route.abort())
    late.reload()
    site.clock.put_forward(hours=2)
    expect(page.get_by_text("This question has expired.")).to_be_visible()
    expect(button(page, "Yes")).to_have_count(0)
    with late.expect_response("**/answer?**") as answered:
        button(late, "Yes").click()
    assert answered.value.status == 410
    expect(late.get_by_role("alert")).to_contain_text("Your answer was not sent: the question has expired.")
    assert site.approvals.of_thread("t-1")[0].status == "open"


@pytest.mark.requirement("CONCURRENT-DOUBLE-APPROVE")
def test_of_two_browsers_one_is_first_and_the_other_is_told_who(agent: Site) -> None:
    agent.request("t-1", "o-1008", "15000.00")
    mia, tom = agent.visit("mia"), agent.visit("tom")
    for each in (mia, tom):
        open_card(each, "o-1008")
    # Tom's page stays as it was.
    tom.route("**/events?**", lambda route: route.abort())
    tom.reload()
    button(mia, "Approve").click()
    expect(mia.get_by_text("The agent has taken it up.")).to_be_visible()
    with tom.expect_response("**/answer?**") as answered:
        button(tom, "Reject").click()
    assert answered.value.status == 409
    expect(tom.get_by_role("alert")).to_contain_text("mia was first")
    expect(tom.get_by_role("heading", name="Approved by mia")).to_be_visible()
    assert agent.seen.refunds("o-1008") == ["15000.00"]


def test_who_has_the_question_open_sees_another_answer_it(agent: Site) -> None:
    agent.request("t-1", "o-1008", "15000.00")
    mia, tom = agent.visit("mia"), agent.visit("tom")
    for each in (mia, tom):
        open_card(each, "o-1008")
    button(mia, "Reject").click()
    expect(tom.get_by_role("heading", name="Rejected by mia")).to_be_visible()
    expect(button(tom, "Approve")).to_have_count(0)
    expect(tom.locator("#told")).to_have_text("This question has been answered or closed.")


def test_what_is_being_filled_in_stays_while_other_questions_come_and_go(site: Site) -> None:
    site.publish("t-1", {"function": "f", "args": {}}, allowed_actions=("approve", "reject"))
    page = site.visit()
    open_card(page, "F")
    page.get_by_label("Reason, if you reject").fill("because")
    site.publish("t-2", "Another?", fingerprint=2)
    other = site.visit("tom")
    expect(card(other, "Another?")).to_be_visible()
    expect(page.get_by_label("Reason, if you reject")).to_have_value("because")


def test_two_clicks_are_one_answer(agent: Site) -> None:
    agent.request("t-1", "o-1009", "22750.25")
    page = agent.visit()
    open_card(page, "o-1009")
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    button(page, "Approve").dblclick()
    expect(page.get_by_text("The agent has taken it up.")).to_be_visible()
    assert agent.seen.refunds("o-1009") == ["22750.25"]
    assert len(posts) == 1


def test_a_lost_connection_shows_and_heals(browser: Browser, resources: Resources) -> None:
    clock = WindableClock()
    listener = listen()
    port = listener.getsockname()[1]
    with served(local_app(resources, clock), listener) as address:
        site = Site(browser, resources, address, clock)
        page = site.visit()
        expect(page.locator("#live")).to_have_text("Live")
    expect(page.locator("#live")).to_have_text("Connection lost; trying again")
    site.publish("t-1", "Asked meanwhile?")
    with served(local_app(resources, clock), listen(port)):
        expect(page.locator("#live")).to_have_text("Live")
        expect(card(page, "Asked meanwhile?")).to_be_visible()
        page.context.close()


def test_the_enter_key_answers_nothing_by_accident(site: Site) -> None:
    args: JSON = {"order_id": "o-1", "amount": "1.00", "reason": "r"}
    site.publish(
        "t-1",
        {"function": "issue_refund", "args": args},
        allowed_actions=("approve", "reject"),
        answer_schema=REFUND_SCHEMA,
    )
    page = site.visit()
    open_card(page, "Issue refund")
    page.get_by_text("Change values before approving").click()
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    page.get_by_label("Amount", exact=True).press("Enter")
    page.get_by_label("Amount", exact=True).fill("2.00")
    expect(button(page, "Approve with 1 change")).to_be_visible()
    assert posts == []


def test_everything_can_be_done_from_the_keyboard(agent: Site) -> None:
    agent.request("t-1", "o-1002", "41000.00")
    page = agent.visit()
    expect(card(page, "o-1002")).to_be_visible()
    press_until(page, "Tab", lambda: focused(page) == "Issue refund")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Your answer")).to_be_visible()
    press_until(page, "Tab", lambda: focused(page) == "Change values before approving")
    page.keyboard.press("Space")
    press_until(
        page,
        "Tab",
        lambda: page.get_by_label("Amount", exact=True).evaluate("e => e === document.activeElement"),
    )
    page.keyboard.press("Control+A")
    page.keyboard.type("30000.00")
    press_until(page, "Tab", lambda: focused(page) == "Approve with 1 change")
    page.keyboard.press("Space")
    expect(page.get_by_text("The agent has taken it up.")).to_be_visible()
    assert agent.seen.refunds("o-1002") == ["30000.00"]


def focused(page: Page) -> str:
    return page.evaluate("() => document.activeElement.textContent.trim()")


def press_until(page: Page, key: str, there: Callable[[], bool]) -> None:
    for _ in range(40):
        page.keyboard.press(key)
        if there():
            return
    raise AssertionError(f"{key} does not lead there")


def test_search_narrows_as_one_types_and_tags_by_a_click(site: Site) -> None:
    for number, (text, team) in enumerate(
        (("Blue ink?", "print"), ("Blue paint?", "shop"), ("Nails?", "shop"))
    ):
        site.publish(f"t-{number}", text, fingerprint=number, tags={"team": team})
    page = site.visit()
    expect(page.locator(".card")).to_have_count(3)
    page.get_by_role("searchbox").fill("blue")
    expect(page.locator(".card")).to_have_count(2)
    expect(page.get_by_role("searchbox")).to_be_focused()
    site.publish("t-9", "Blue glue?", fingerprint=9)
    expect(page.locator(".card")).to_have_count(3)
    assert "q=blue" in page.url
    card(page, "Blue paint?").get_by_role("link", name="team: shop").click()
    expect(page.locator(".card")).to_have_count(1)
    page.get_by_role("link", name="team:shop").click()
    expect(page.locator(".card")).to_have_count(3)


@pytest.mark.requirement("JS-NUMBER-ROUNDING")
def test_a_number_beyond_what_javascript_counts_comes_back_as_it_was(site: Site) -> None:
    big = 9007199254740993
    schema = json.loads(json.dumps(REFUND_SCHEMA))
    properties = schema["anyOf"][0]["properties"]["args"]["properties"]
    properties["order_id"] = {"type": "integer"}
    site.publish(
        "t-1",
        {"function": "issue_refund", "args": {"order_id": big, "amount": "1.00", "reason": "r"}},
        allowed_actions=("approve", "reject"),
        answer_schema=schema,
    )
    page = site.visit()
    open_card(page, "Issue refund")
    page.get_by_text("Change values before approving").click()
    expect(page.get_by_label("Order id", exact=True)).to_have_value(str(big))
    page.get_by_label("Reason", exact=True).fill("other")
    button(page, "Approve with 1 change").click()
    expect(page.get_by_role("heading", name="Approved by mia")).to_be_visible()
    [row] = site.approvals.of_thread("t-1")
    assert row.answer == {"action": "approve", "args": {"reason": "other"}}


@pytest.mark.requirement("PAGE-XSS")
def test_scripts_from_outside_do_not_run(site: Site) -> None:
    nasty = (
        "<img src=x onerror=\"document.title='owned'\"></script><script>document.title='owned'</script>"
        "<div hx-get=/sign-out hx-trigger=load></div><a href=\"javascript:document.title='owned'\">x</a>"
    )
    site.publish(
        "t-1",
        {"function": nasty, "args": {nasty: nasty, "data": [nasty]}},
        allowed_actions=("approve", nasty),
        tags={nasty: nasty},
    )
    page = site.visit()
    expect(page.locator(".card")).to_have_count(1)
    page.locator(".card h2 a").click()
    expect(page.get_by_role("heading", name="Your answer")).to_be_visible()
    page.get_by_label("Reason").fill(nasty)
    page.locator(".action").last.click()
    expect(page.get_by_role("heading", name="by mia")).to_be_visible()
    for address in (page.url, f"{site.address}/?tab=done"):
        page.goto(address)
        expect(page.locator("#live")).to_have_text("Live")
        assert "owned" not in page.title().replace(nasty, "")
        assert page.evaluate("() => document.scripts.length") == 2
        assert page.locator("a[href^=javascript]").count() == 0


def test_an_inline_script_is_stopped_even_if_one_gets_in(site: Site) -> None:
    page = site.visit()
    page.evaluate(
        "() => { const script = document.createElement('script');"
        " script.textContent = 'document.title = \"owned\"'; document.body.append(script); }"
    )
    assert "owned" not in page.title()
    assert any("Content Security Policy" in complaint for complaint in site.complaints)
    site.complaints.clear()


SCHEMES = ("light", "dark")


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("viewport", [None, PHONE], ids=["desk", "phone"])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(
    site: Site, scheme: str, viewport: dict[str, int] | None
) -> None:
    long = "x" * 300
    site.publish(
        "t-1",
        {"function": "issue_refund", "args": {"order_id": long, "amount": "1.00", "reason": f"{long} " * 9}},
        allowed_actions=("approve", "reject"),
        answer_schema=REFUND_SCHEMA,
        default={"action": "reject", "reason": "late"},
        timeout="PT30M",
        tags={"team": "finance", long: long},
    )
    site.publish(
        "t-2",
        long,
        fingerprint=2,
        answer_schema={
            "type": "object",
            "properties": {
                "on": {"type": "string", "format": "date", "description": "When"},
                "how": {"enum": ["a", "b"]},
                "many": {"type": ["integer", "null"]},
            },
        },
    )
    site.publish(
        "t-3", {"function": "f", "args": {"data": {"a": [long]}, "api_key": "[redacted]"}}, fingerprint=3
    )
    site.publish("t-4", "Late?", fingerprint=4, timeout="PT1S")
    [answered] = site.approvals.of_thread("t-3")
    site.approvals.answer(
        answered.question, {"action": "approve", "args": {"data": {"b": long}}}, answered_by="tom"
    )
    site.clock.put_forward(hours=0.01)
    options: dict[str, Any] = {"color_scheme": scheme} | ({"viewport": viewport} if viewport else {})
    fresh = site.browser.new_page(**options)
    fresh.goto(site.address)
    assert violations(fresh) == []
    page = site.visit(**options)
    for address in ("/", "/?tab=late", "/?tab=done", "/?q=nothing", "/nowhere", *addresses(site)):
        page.goto(f"{site.address}{address}")
        for each in page.locator("details").all():
            each.evaluate("e => { e.open = true; }")
        assert violations(page) == [], address
        width = page.evaluate(
            "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )
        assert width == 0, address


def addresses(site: Site) -> list[str]:
    return [
        view.address(approval.question)
        for thread_id in ("t-1", "t-2", "t-3", "t-4")
        for approval in site.approvals.of_thread(thread_id)
    ]


def test_without_scripts_the_page_still_answers(agent: Site) -> None:
    agent.request("t-1", "o-1002", "41000.00")
    watching = agent.visit("tom")
    expect(card(watching, "o-1002")).to_be_visible()
    page = agent.visit(java_script_enabled=False)
    open_card(page, "o-1002")
    button(page, "Approve").click()
    expect(page.get_by_role("heading", name="Approved by mia")).to_be_visible()


def test_a_session_that_has_ended_asks_to_sign_in_again(site: Site) -> None:
    page = site.visit()
    expect(page.locator("#live")).to_have_text("Live")
    context: BrowserContext = page.context
    context.clear_cookies()
    site.publish("t-1", "Well?")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
