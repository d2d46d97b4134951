"""ISO 8601 durations of fixed length, and RFC 3339 timestamps."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from agent_wait import PolicyError, WaitPolicy
from agent_wait._duration import format_duration, parse_duration
from agent_wait._timestamp import from_rfc3339, to_rfc3339
from hypothesis import given
from hypothesis import strategies as st

CENTURY = 100 * 365.25 * 86_400


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("P3D", 259_200),
        ("p3d", 259_200),
        ("P1W", 604_800),
        ("P1W2DT3H4M5S", 604_800 + 2 * 86_400 + 3 * 3_600 + 4 * 60 + 5),
        ("PT4H30M", 16_200),
        ("PT0.5S", 0.5),
        ("PT0,5S", 0.5),
        ("P0.5D", 43_200),
        ("PT1.5H", 5_400),
        ("PT1M", 60),
        ("pt1m", 60),
        ("P0DT1S", 1),
        (60, 60),
        (0.5, 0.5),
        (timedelta(days=3), 259_200),
        (CENTURY, CENTURY),
        ("P36525D", CENTURY),
    ],
    ids=repr,
)
def test_a_duration_of_fixed_length_is_read(value: Any, seconds: float) -> None:
    assert parse_duration(value) == seconds
    policy = WaitPolicy(timeout=value)
    assert policy.timeout_seconds == pytest.approx(seconds)
    assert WaitPolicy.from_dict(policy.to_dict()) == policy


@pytest.mark.requirement("MONTH-VS-MINUTE")
@pytest.mark.parametrize("text", ["P1M", "P1Y", "P1Y2M10D", "P2M3D", "p1m", "P1Y2MT3H", "P1.5Y"])
def test_months_and_years_are_refused_since_they_have_no_fixed_length(text: str) -> None:
    with pytest.raises(PolicyError, match="calendar units"):
        WaitPolicy(timeout=text)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (True, "not a bool"),
        (False, "not a bool"),
        (0, "above zero"),
        (-1, "above zero"),
        (float("nan"), "above zero and finite"),
        (float("inf"), "above zero and finite"),
        (10**400, "above zero and finite"),
        (1e-9, "above zero"),
        ("PT0S", "above zero"),
        ("PT0.0S", "above zero"),
        (timedelta(0), "above zero"),
        (timedelta(seconds=-1), "above zero"),
        ("P" + "9" * 400 + "D", "above zero and finite"),
        (CENTURY + 1, "at most 100 years"),
        ("P36526D", "at most 100 years"),
        (timedelta.max, "at most 100 years"),
        ("P", "names no unit"),
        ("PT", "not an ISO 8601 duration"),
        ("P1DT", "not an ISO 8601 duration"),
        ("", "not an ISO 8601 duration"),
        (" P1D", "not an ISO 8601 duration"),
        ("P1D ", "not an ISO 8601 duration"),
        ("P1D\n", "not an ISO 8601 duration"),
        ("P1 D", "not an ISO 8601 duration"),
        ("P1DX", "not an ISO 8601 duration"),
        ("-P1D", "not an ISO 8601 duration"),
        ("P-1D", "not an ISO 8601 duration"),
        ("P1.D", "not an ISO 8601 duration"),
        ("P.5D", "not an ISO 8601 duration"),
        ("P1e3D", "not an ISO 8601 duration"),
        ("PT1S1M", "not an ISO 8601 duration"),
        ("1D", "not an ISO 8601 duration"),
        ("3600", "not an ISO 8601 duration"),
        ("PT5\u017f", "not an ISO 8601 duration"),
        ("P\u0663D", "not an ISO 8601 duration"),
        (Decimal(1), "not Decimal"),
        ([], "not list"),
        (b"P1D", "not bytes"),
    ],
    ids=repr,
)
def test_what_cannot_be_meant_is_refused_where_it_is_written(value: Any, why: str) -> None:
    with pytest.raises(PolicyError, match=why):
        WaitPolicy(timeout=value)


@given(st.timedeltas())
def test_a_timedelta_is_written_to_the_microsecond(delta: timedelta) -> None:
    text = format_duration(delta)
    assert text.startswith("-P") is (delta < timedelta(0))
    if timedelta(0) < delta < timedelta(days=36_525):
        assert timedelta(seconds=parse_duration(text)) == pytest.approx(delta, abs=timedelta(microseconds=1))


@given(st.floats(min_value=1e-5, max_value=CENTURY))
def test_a_policy_in_seconds_reads_back_equal(seconds: float) -> None:
    policy = WaitPolicy(timeout=seconds)
    assert WaitPolicy.from_dict(policy.to_dict()) == policy
    assert policy.timeout_seconds == pytest.approx(seconds, abs=1e-6)


@pytest.mark.requirement("Z-SUFFIX-310", "NAIVE-VS-AWARE")
@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:01Z", 1),
        ("1970-01-01T00:00:01.123Z", 1.123),
        ("1970-01-01T00:00:01.123456789Z", 1.123456),
        ("1970-01-01T00:00:01+0000", 1),
        ("1970-01-01t00:00:01z", 1),
        ("1970-01-01T02:00:01+02:00", 1),
        ("1970-01-01T00:00:01-00:00", 1),
    ],
)
def test_a_timestamp_with_an_offset_is_read(text: str, seconds: float) -> None:
    assert from_rfc3339(text) == seconds


@pytest.mark.requirement("NAIVE-VS-AWARE")
@pytest.mark.parametrize(
    "text", ["1970-01-01T00:00:01", "1970-01-01", "not-a-date", "", "1970-13-01T00:00:00Z"]
)
def test_a_time_without_an_offset_is_never_taken_for_local(text: str) -> None:
    with pytest.raises(ValueError, match=r"UTC offset|isoformat|month"):
        from_rfc3339(text)


@pytest.mark.requirement("NAIVE-VS-AWARE")
def test_a_timestamp_is_utc_in_whole_seconds_wherever_the_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert to_rfc3339(1_760_000_000.999) == "2025-10-09T08:53:20Z"
        assert to_rfc3339(-0.5) == "1969-12-31T23:59:59Z"
        assert from_rfc3339("2025-10-09T08:53:20Z") == 1_760_000_000
    finally:
        monkeypatch.undo()
        time.tzset()
