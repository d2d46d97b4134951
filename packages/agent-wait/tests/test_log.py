"""One line for each envelope."""

import json
import logging

import pytest
from agent_wait._clock import FakeClock
from agent_wait._log import LogAnnounce
from agent_wait._policy import WaitPolicy
from agent_wait._publish import publish
from agent_wait._question import Question

POLICY = WaitPolicy(timeout="PT1H", tags={"group": "finance"}, allowed_actions=("approve", "reject"))
QUESTION = Question("q-1", {"iban": "DE02"}, POLICY, error="DE02 is closed")


def test_the_line_has_ids_actions_times_and_tags_and_nothing_of_the_question(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)

    (envelope,) = publish([QUESTION], "t-1", LogAnnounce(), clock=FakeClock())

    (record,) = caplog.records
    assert (record.name, record.levelno) == ("agent_wait", logging.INFO)
    assert json.loads(record.getMessage()) == {
        "type": "wait.created",
        "event_id": envelope.event_id,
        "dedupe_key": envelope.dedupe_key,
        "thread_id": "t-1",
        "question_id": "q-1",
        "attempt": 1,
        "allowed_actions": ["approve", "reject"],
        "asked_at": "2025-10-09T08:53:20Z",
        "expires_at": "2025-10-09T09:53:20Z",
        "tags": {"group": "finance"},
    }


def test_at_debug_the_line_is_the_whole_envelope(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logger = logging.getLogger("questions")

    (envelope,) = publish([QUESTION], "t-1", LogAnnounce(logger, level=logging.DEBUG))

    (record,) = caplog.records
    assert (record.name, record.levelno) == ("questions", logging.DEBUG)
    assert json.loads(record.getMessage()) == envelope.to_dict()


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
def test_nothing_in_an_envelope_breaks_the_line_or_steers_a_terminal(
    level: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    odd = "%s {}\r\nforged\x1b[2J\x7f\u202e\u2028"

    publish([Question(odd, odd, WaitPolicy(tags={odd: odd}))], odd, LogAnnounce(level=level))

    (line,) = caplog.messages
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["question_id"] == odd
