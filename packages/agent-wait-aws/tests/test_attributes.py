import logging
from collections.abc import Callable
from typing import Any

import pytest
from agent_wait import PolicyError, WaitEnvelope, WaitPolicy
from agent_wait_aws._attributes import attributes_size, message_attributes

Make = Callable[..., WaitEnvelope]


def string(value: str) -> dict[str, str]:
    return {"DataType": "String", "StringValue": value}


def test_type_thread_and_tags_are_attributes(make_envelope: Make) -> None:
    assert message_attributes(make_envelope(tags={"team": "finance"})) == {
        "type": string("wait.created"),
        "thread_id": string("thread-1"),
        "team": string("finance"),
    }


def test_a_tag_cannot_take_the_place_of_our_own(make_envelope: Make) -> None:
    attributes = message_attributes(make_envelope(tags={"type": "wait.resumed", "thread_id": "another"}))

    assert attributes == {"type": string("wait.created"), "thread_id": string("thread-1")}


@pytest.mark.requirement("ATTR-EMPTY")
@pytest.mark.odd_envelope("what a caller without types may build")
def test_an_empty_value_is_in_the_body_only(make_envelope: Make) -> None:
    tags: dict[str, Any] = {"team": "", "x": None, "ok": "1"}

    assert message_attributes(make_envelope(tags=tags)).keys() == {"type", "thread_id", "ok"}


@pytest.mark.requirement("ATTR-COUNT")
def test_ten_attributes_at_most_the_same_ones_every_time_and_a_warning(
    make_envelope: Make, caplog: pytest.LogCaptureFixture
) -> None:
    tags = {f"tag-{number:02}": "v" for number in range(14)}

    with caplog.at_level(logging.WARNING):
        chosen = message_attributes(make_envelope(tags=tags))
        again = message_attributes(make_envelope(tags=dict(reversed(tags.items()))))

    assert list(chosen) == list(again) == ["type", "thread_id", *(f"tag-{number:02}" for number in range(8))]
    assert "tag-08" in caplog.text
    assert "wait.created:q-1" in caplog.text


@pytest.mark.requirement("ATTR-NAMES")
@pytest.mark.parametrize(
    "name",
    ["my team", "AWS.x", "aws.x", "Amazon.y", ".y", "y.", "a..b", "", "ä", "n" * 257, "a\n", "\u0661"],
)
def test_a_forbidden_name_is_in_the_body_only(make_envelope: Make, name: str) -> None:
    assert message_attributes(make_envelope(tags={name: "b", "ok": "d"})).keys() == {
        "type",
        "thread_id",
        "ok",
    }


@pytest.mark.requirement("ATTR-NAMES")
@pytest.mark.parametrize("name", ["a", "A.b-c_d", "aws", "awsome.x", "0", "n" * 256])
def test_an_allowed_name_is_an_attribute(make_envelope: Make, name: str) -> None:
    assert name in message_attributes(make_envelope(tags={name: "b"}))


@pytest.mark.parametrize("value", ["a\x00b", "\ufffe", "\ud800"])
def test_a_value_that_sqs_refuses_is_in_the_body_only(make_envelope: Make, value: str) -> None:
    assert message_attributes(make_envelope(thread_id=value, tags={"a": value})).keys() == {"type"}


@pytest.mark.requirement("ATTR-TYPES")
@pytest.mark.parametrize("value", [12.5, True, ["a", "b"], float("nan")])
def test_a_tag_is_text_so_every_attribute_is_a_string(make_envelope: Make, value: Any) -> None:
    with pytest.raises(PolicyError):
        WaitPolicy(tags={"amount": value})

    attributes = message_attributes(make_envelope(tags={"amount": str(value)}))
    assert attributes["amount"] == string(str(value))


def test_a_warning_has_no_line_break_of_a_tag_or_an_id(
    make_envelope: Make, caplog: pytest.LogCaptureFixture
) -> None:
    message_attributes(make_envelope(question_id="q\nFAKE", tags={"a\nFAKE": "b"}))

    assert "\n" not in caplog.messages[0]


def test_the_size_is_of_names_types_and_values_in_bytes() -> None:
    assert attributes_size({"ab": string("é"), "c": string("d")}) == (2 + 6 + 2) + (1 + 6 + 1)
