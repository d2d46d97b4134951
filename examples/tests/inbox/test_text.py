"""Text from outside is shown as what it is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inbox.text import as_json, brief, has_odd, human, is_odd, visible


@pytest.mark.requirement("PAGE-XSS")
@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain\n\ttext", "plain\n\ttext"),
        ("Zoë, 東京, שלום, 🙂", "Zoë, 東京, שלום, 🙂"),
        ("pay \u202e00.0005", "pay ⟦U+202E⟧00.0005"),
        ("a\u200bb\u2066c\u2069", "a⟦U+200B⟧b⟦U+2066⟧c⟦U+2069⟧"),
        ("a\x00b\x1b[31m\r\x7f\x85", "a⟦U+0000⟧b⟦U+001B⟧[31m⟦U+000D⟧⟦U+007F⟧⟦U+0085⟧"),
        ("\ufeff\u2028\u00ad\ue000\U000e0041", "⟦U+FEFF⟧⟦U+2028⟧⟦U+00AD⟧⟦U+E000⟧⟦U+E0041⟧"),
        ("half \ud800", "half ⟦U+D800⟧"),
    ],
)
def test_what_is_invisible_or_turns_text_around_is_spelt_out(text: str, seen: str) -> None:
    assert visible(text) == seen


@given(st.text(st.characters(), max_size=40))
def test_nothing_odd_is_left_and_it_can_be_sent_to_a_browser(text: str) -> None:
    seen = visible(text)
    assert not has_odd(seen)
    assert seen.encode().decode() == seen


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_json_reads_back_the_same_and_has_nothing_odd_in_it(value: object) -> None:
    text = as_json(value)  # pyright: ignore[reportArgumentType]  # hypothesis cannot say that it is JSON
    assert json.loads(text) == value
    assert not any(map(is_odd, text))


def test_names_are_read_by_people() -> None:
    assert [human(name) for name in ("issue_refund", "orderId", "", "__x__")] == [
        "Issue refund",
        "OrderId",
        "",
        "X",
    ]


def test_a_list_has_one_line_for_a_value() -> None:
    assert brief("a\n b") == "a b"
    assert brief({"a": [1]}) == '{"a": [1]}'
    assert brief("x" * 90) == "x" * 79 + "…"
