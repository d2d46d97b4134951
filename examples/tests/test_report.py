import io

import pytest
from agent_wait import JSON
from refund_agent.report import Report, answer_text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def a_terminal_with_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def told_to(out: io.StringIO) -> str:
    report = Report(out)
    report.begin("A", "A small refund")
    report.say("agent", "started")
    report.check("one refund", expected=1, seen=1)
    report.close()
    return out.getvalue()


def test_a_pipe_gets_plain_text() -> None:
    assert told_to(io.StringIO()) == (
        "\nA  A small refund\n"
        "   agent     started\n"
        "\nWhat was checked\n"
        "   A  ok     one refund\n"
        "\n   1 of 1 checks hold\n"
    )


def test_a_terminal_gets_colours_and_the_same_text() -> None:
    told = told_to(Terminal())
    assert "\033[32mok    \033[0m one refund" in told
    assert "\033[35magent    \033[0m started" in told


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_without_colours_gets_plain_text(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    assert "\033" not in told_to(Terminal())


def test_a_check_that_fails_shows_what_was_expected_and_seen_and_fails_the_run() -> None:
    report = Report(out := io.StringIO())
    report.begin("B", "An approval")
    report.check("one refund", expected=["41000.00"], seen=["41000.00", "41000.00"])
    report.check("one notice", expected=1, seen=1)
    assert report.close() == 1
    assert out.getvalue().endswith(
        "   B  FAILED one refund\n"
        "             expected  ['41000.00']\n"
        "             seen      ['41000.00', '41000.00']\n"
        "   B  ok     one notice\n"
        "\n   1 of 2 checks hold\n"
    )


def test_a_run_that_checked_nothing_has_failed() -> None:
    assert Report(io.StringIO()).close() == 1


def test_what_people_send_does_nothing_to_the_terminal() -> None:
    report = Report(out := io.StringIO())
    report.say("shop", "asks \033[2J\r\n for 5 \u20ac \u202e")
    assert out.getvalue() == "   shop      asks \\x1b[2J\\x0d\\x0a for 5 \\u20ac \\u202e\n"


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"action": "approve"}, "approve"),
        ({"action": "approve", "args": {"amount": "3.00"}}, "approve, with amount 3.00"),
        ({"action": "reject", "reason": "rusty"}, "reject, since rusty"),
        (None, "null"),
        ("yes", '"yes"'),
    ],
)
def test_an_answer_is_told_in_words(answer: JSON, text: str) -> None:
    assert answer_text(answer) == text
