import re
from hashlib import sha256

import pytest
from agent_wait_aws import group_id
from agent_wait_aws._keys import fit, fit_bytes
from hypothesis import example, given
from hypothesis import strategies as st

ALLOWED = re.compile(r"""[A-Za-z0-9!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]{1,128}""")
any_text = st.text(st.characters(), min_size=1)  # lone surrogates included


def test_an_id_that_fits_stays_readable() -> None:
    assert group_id("tenant-7/thread_1:a") == "tenant-7/thread_1:a"
    assert fit("x" * 128) == "x" * 128


@pytest.mark.requirement("GROUP-ID-CHARSET")
def test_an_id_that_does_not_fit_is_hashed_and_never_cut() -> None:
    long = "café ☕ " + "x" * 200
    digest = sha256(f"{long}A".encode()).hexdigest()

    assert group_id(f"{long}A") == f"sha256-{digest}"
    assert group_id(f"{long}B") != group_id(f"{long}A")
    assert fit("x" * 129).startswith("sha256-")
    assert fit("with space").startswith("sha256-")


@pytest.mark.requirement("GROUP-ID-CHARSET")
def test_an_empty_thread_id_is_refused_with_the_reason() -> None:
    with pytest.raises(ValueError, match="thread_id is empty"):
        group_id("")


@given(any_text)
@example("sha256-" + "0" * 64)
@example("\ud800")
def test_whatever_goes_in_sqs_takes_what_comes_out(text: str) -> None:
    assert ALLOWED.fullmatch(fit(text))
    assert fit(text) == fit(text)


@given(any_text, any_text)
def test_different_texts_never_share_an_id(one: str, other: str) -> None:
    assert (fit(one) == fit(other)) == (one == other)
    # Nor can one be named like another's hash.
    assert (fit(fit(one)) == fit(one)) == (fit(one) == one)


@given(any_text, st.integers(min_value=80, max_value=300))
def test_a_key_has_at_most_its_bytes(text: str, limit: int) -> None:
    key = fit_bytes("WAIT#", text, limit)

    assert key.startswith("WAIT#")
    assert len(key.encode("utf-8", "surrogatepass")) <= limit
