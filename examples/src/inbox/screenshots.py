"""`python -m inbox.screenshots`: the pictures of docs/inbox.md, taken of the real page in Chromium."""

import contextlib
import shutil
import sys
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from typing import Literal

from agent_wait import JSON, Question, WaitPolicy, publish
from agent_wait_aws import DynamoDbAnnounce
from local_aws import LocalAws
from playwright.sync_api import Browser, Page, sync_playwright
from refund_agent.approvals import Approvals
from refund_agent.clock import WindableClock
from refund_agent.resources import Resources

from inbox.__main__ import agent_at_work
from inbox.app import build_app, make_templates
from inbox.samples import ask_for_samples
from inbox.serving import listen, served
from inbox.sign_in import LocalSignIn

IMAGES = Path(__file__).parents[3] / "docs" / "images"
DESK, PHONE = {"width": 1080, "height": 760}, {"width": 390, "height": 800}
PASSWORD = "for-the-pictures"  # noqa: S105  # of a page that nobody else sees

ORDER_PAPER: Mapping[str, JSON] = {
    "type": "object",
    "properties": {
        "supplier": {"enum": ["Alder & Sons", "Birch Trading", "Cedar Direct"]},
        "sheets": {"type": "integer", "minimum": 500, "default": 5000, "description": "In reams of 500."},
        "deliver_on": {"type": "string", "format": "date"},
        "gift_wrap": {"type": "boolean", "default": False},
        "note": {"type": "string"},
    },
    "required": ["supplier", "sheets", "deliver_on"],
}


class NoChromium(Exception):
    """There is no Chromium on this machine."""

    def __init__(self) -> None:
        super().__init__(
            "no Chromium on the path: `apt-get install chromium`, or `make test-services` as root"
        )


@contextlib.contextmanager
def chromium() -> Generator[Browser]:
    """A headless browser, for one `with` block.

    Raises:
        NoChromium: It is not installed.
    """
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        raise NoChromium
    with sync_playwright() as playwright:
        # Root has no sandbox. Fonts are as on every machine.
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--font-render-hinting=none"]
        )
        try:
            yield browser
        finally:
            browser.close()


def sign_in(page: Page, address: str, name: str, password: str = PASSWORD) -> None:
    page.goto(f"{address}/sign-in")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


def publish_question(
    resources: Resources, thread_id: str, question: JSON, policy: WaitPolicy, *, clock: WindableClock
) -> None:
    """A question of another kind than the refund agent's, straight onto the table."""
    publish(
        [
            Question(
                f"{thread_id}-1", question, policy, fingerprint=f"sha256:{'0' * 64}", asked_at=clock.now()
            )
        ],
        thread_id,
        DynamoDbAnnounce(resources.approvals_table),
        clock=clock,
    ).raise_for_failures()


class Album:
    """Takes each picture in the light and in the dark."""

    def __init__(self, browser: Browser, address: str, folder: Path) -> None:
        self._browser = browser
        self._address = address
        self._folder = folder

    def take(
        self,
        name: str,
        pose: Callable[[Page], None],
        *,
        size: dict[str, int] | None = None,
        user: str = "mia",
    ) -> None:
        for scheme in ("light", "dark"):
            self._take(name, scheme, pose, size or DESK, user)

    def _take(
        self,
        name: str,
        scheme: Literal["light", "dark"],
        pose: Callable[[Page], None],
        size: dict[str, int],
        user: str,
    ) -> None:
        context = self._browser.new_context(
            color_scheme=scheme,
            viewport={"width": size["width"], "height": size["height"]},
            timezone_id="Europe/London",
            locale="en-GB",
            reduced_motion="reduce",
        )
        page = context.new_page()
        if user:
            sign_in(page, self._address, user)
        else:
            page.goto(self._address)
        pose(page)
        page.screenshot(path=self._folder / f"inbox-{name}-{scheme}.png", full_page=True)
        context.close()


def live(page: Page) -> None:
    page.locator("#live[data-state=live]").wait_for()


def open_question(text: str) -> Callable[[Page], None]:
    def pose(page: Page) -> None:
        page.locator(".card", has_text=text).get_by_role("heading").get_by_role("link").click()
        page.wait_for_url("**/question?**")
        live(page)

    return pose


def edit(page: Page) -> None:
    open_question("o-1003")(page)
    page.get_by_text("Change values before approving").click()
    page.get_by_label("Amount").fill("9125.25")


def mistake(page: Page) -> None:
    edit(page)
    page.get_by_label("Amount").fill("half of it")
    page.get_by_role("button", name="Approve").click()
    page.locator("#wrong").wait_for()


def history(page: Page) -> None:
    page.get_by_role("link", name="History").click()
    live(page)


def main() -> int:
    IMAGES.mkdir(parents=True, exist_ok=True)
    with LocalAws() as local_aws, local_aws.in_environment(), chromium() as browser:
        resources = Resources.create("refund")
        clock = WindableClock()
        templates = make_templates()
        people = LocalSignIn({"mia": PASSWORD, "tom": PASSWORD}, templates)
        app = build_app(
            resources,
            current_user=people.current_user,
            signed_out=people.signed_out,
            routes=people.routes,
            templates=templates,
            session_secret=PASSWORD,
            clock=clock,
        )
        with agent_at_work(resources), served(app, listen()) as address:
            ask_for_samples(resources, Approvals(resources))
            publish_question(
                resources,
                "office-supplies",
                "Which paper shall I order for the autumn catalogue?",
                WaitPolicy(timeout="PT45M", answer_schema=ORDER_PAPER, tags={"team": "print"}),
                clock=clock,
            )
            album = Album(browser, address, IMAGES)
            album.take("sign-in", lambda page: page.wait_for_load_state(), user="")
            album.take("list", live)
            album.take("list-phone", live, size=PHONE)
            album.take("question", open_question("o-1002"))
            album.take("question-phone", open_question("o-1002"), size=PHONE)
            album.take("edit", edit)
            album.take("mistake", mistake)
            album.take("asked-again", open_question("o-1008"))
            album.take("form", open_question("Which paper"))
            take_answered(album, browser, address)
            album.take("history", history)
            clock.put_forward(hours=73)
            album.take("expired", lambda page: page_of_expired(page, address))
    print(f"The pictures are in {IMAGES}")
    return 0


def take_answered(album: Album, browser: Browser, address: str) -> None:
    """Mia approves less than was asked for."""
    mia = browser.new_page()
    sign_in(mia, address, "mia")
    edit(mia)
    question = mia.url
    mia.get_by_role("button", name="Approve").click()
    mia.get_by_text("The agent has taken it up").wait_for()
    mia.close()

    def look(page: Page) -> None:
        page.goto(question)
        live(page)

    album.take("answered", look)
    album.take("answered-phone", look, size=PHONE)


def page_of_expired(page: Page, address: str) -> None:
    page.goto(f"{address}/?tab=late")
    open_question("o-1009")(page)


if __name__ == "__main__":
    sys.exit(main())
