import json

import pytest
from agent_wait_aws._text import carried, is_carried
from hypothesis import given
from hypothesis import strategies as st

anything = st.recursive(
    st.text(st.characters()) | st.integers() | st.booleans() | st.none(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters()), inner),
)


@given(anything)
def test_what_sqs_refuses_is_escaped_and_reads_back_the_same(value: object) -> None:
    text = carried(json.dumps(value, ensure_ascii=False))

    assert is_carried(text)
    assert json.loads(text) == value
    assert text.encode()


@pytest.mark.parametrize(
    "letter", ["\t", "\n", "\r", " ", "\x7f", "\x85", "é", "\ud7ff", "\ue000", "\ufffd", "😀"]
)
def test_what_sqs_takes_stays_as_it_is(letter: str) -> None:
    assert carried(f'"{letter}"') == f'"{letter}"'


@pytest.mark.parametrize("letter", ["\x00", "\x0b", "\x1f", "\ud800", "\ufffe", "\uffff"])
def test_what_sqs_refuses_is_told(letter: str) -> None:
    assert not is_carried(f"a{letter}b")
