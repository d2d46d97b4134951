"""What a policy takes, what it refuses where it is written, and that it reads back equal."""

import dataclasses
import json
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from agent_wait import PolicyError, WaitPolicy
from hypothesis import given
from hypothesis import strategies as st

FULL: dict[str, Any] = {
    "timeout": "P3D",
    "default": {"action": "reject"},
    "allowed_actions": ["approve", "reject", "escalate"],
    "tags": {"team": "finance", "empty": ""},
    "correlation": {"job": "7"},
    "answer_schema": {"type": "object"},
    "redact": ["token"],
}
EMPTY: dict[str, Any] = {
    "timeout": None,
    "default": None,
    "allowed_actions": None,
    "tags": {},
    "correlation": None,
    "answer_schema": None,
    "redact": [],
}


def test_nothing_is_declared_unless_it_is_said() -> None:
    policy = WaitPolicy()
    assert policy.to_dict() == EMPTY
    assert (policy.timeout_seconds, policy.allowed_actions, policy.redact) == (None, None, ())
    assert WaitPolicy.from_dict(None) == policy
    assert WaitPolicy.from_dict({}) == policy
    assert WaitPolicy.from_dict(EMPTY) == policy


def test_every_field_goes_out_and_comes_back() -> None:
    policy = WaitPolicy.from_dict(FULL)
    assert policy == WaitPolicy(
        timeout="P3D",
        default={"action": "reject"},
        allowed_actions=("approve", "reject", "escalate"),
        tags={"team": "finance", "empty": ""},
        correlation={"job": "7"},
        answer_schema={"type": "object"},
        redact=("token",),
    )
    assert policy.timeout_seconds == 259_200
    assert policy.to_dict() == FULL
    assert list(policy.to_dict()) == [field.name for field in dataclasses.fields(WaitPolicy)]
    assert json.loads(json.dumps(policy.to_dict())) == FULL


@pytest.mark.parametrize(
    ("timeout", "text", "seconds"),
    [
        ("p3d", "p3d", 259_200),
        (60, "PT1M", 60),
        (0.5, "PT0.5S", 0.5),
        (timedelta(days=3, seconds=1), "P3DT1S", 259_201),
        (None, None, None),
    ],
    ids=repr,
)
def test_a_timeout_is_kept_as_text(timeout: Any, text: str | None, seconds: float | None) -> None:
    policy = WaitPolicy(timeout=timeout)
    assert (policy.timeout, policy.timeout_seconds) == (text, seconds)
    assert policy.to_dict()["timeout"] == text


def test_keys_of_a_later_release_are_ignored_and_missing_ones_filled_in() -> None:
    assert WaitPolicy.from_dict({"timeout": "P1D", "escalate_to": ["ada"]}) == WaitPolicy(timeout="P1D")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"allowed_actions": ()}, "allowed_actions is empty: nobody could answer"),
        (
            {"allowed_actions": "approve"},
            "allowed_actions is a tuple of names; 'approve' alone would be taken",
        ),
        ({"allowed_actions": ("approve", "")}, "allowed_actions holds non-empty text only"),
        ({"allowed_actions": ("approve", 1)}, "allowed_actions holds non-empty text only"),
        ({"allowed_actions": ("a", "b", "a")}, "allowed_actions names something twice"),
        ({"allowed_actions": {"approve", "reject"}}, "allowed_actions is a tuple of names, not set"),
        ({"allowed_actions": {"approve": 1}}, "allowed_actions is a tuple of names, not dict"),
        ({"allowed_actions": 1}, "allowed_actions is a tuple of names, not int"),
        ({"redact": "token"}, "redact is a tuple of names; 'token' alone would be taken"),
        ({"redact": (None,)}, "redact holds non-empty text only"),
        ({"redact": None}, "redact is a tuple of names, not NoneType"),
        ({"tags": {"a": 1}}, "tags maps non-empty text to text"),
        ({"tags": {1: "a"}}, "tags maps non-empty text to text"),
        ({"tags": {"": "a"}}, "tags maps non-empty text to text"),
        ({"tags": ["a"]}, "tags maps text to text; it is list"),
        ({"tags": None}, "tags maps text to text; it is NoneType"),
        ({"correlation": {"a": None}}, "correlation maps non-empty text to text"),
        ({"correlation": "job-7"}, "correlation maps text to text; it is str"),
        ({"answer_schema": True}, "answer_schema is a JSON Schema object"),
        ({"answer_schema": [1]}, "answer_schema is a JSON Schema object"),
        ({"answer_schema": {"a": {1: 1, "1": 2}}}, "answer_schema.a.1: two keys have the same text"),
        ({"default": {"a": {1: 1, "1": 2}}}, "default.a.1: two keys have the same text"),
        ({"timeout": True}, "a timeout is a duration, not a bool"),
        ({"timeout": 1e-9}, "a timeout is above zero and finite"),
        ({"timeout": "soon"}, "timeout 'soon' is not an ISO 8601 duration such as 'P3D' or 'PT4H30M'"),
    ],
    ids=repr,
)
def test_a_mistake_shows_at_the_line_that_made_it(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(PolicyError, match="^" + why) as refused:
        WaitPolicy(**fields)
    assert isinstance(refused.value, ValueError)


@pytest.mark.parametrize("data", [[], "P3D", 3], ids=repr)
def test_a_stored_policy_that_is_no_object_is_refused(data: Any) -> None:
    with pytest.raises(PolicyError, match=f"^a policy is an object, not {type(data).__name__}$"):
        WaitPolicy.from_dict(data)


def test_a_policy_is_frozen_and_shares_nothing_with_what_it_was_made_of() -> None:
    tags, schema = {"a": "b"}, dict[str, Any](properties={"x": {}})
    policy = WaitPolicy(tags=tags, answer_schema=schema, default=[schema])
    tags["c"] = "d"
    schema["properties"]["y"] = {}
    assert policy == WaitPolicy(
        tags={"a": "b"}, answer_schema={"properties": {"x": {}}}, default=[{"properties": {"x": {}}}]
    )
    out: Any = policy.to_dict()
    out["tags"]["e"] = "f"
    assert policy.tags == {"a": "b"}
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.timeout = "P1D"  # pyright: ignore[reportAttributeAccessIssue]
    assert not hasattr(policy, "__dict__")


def test_fields_go_by_name_so_that_a_later_one_breaks_nobody() -> None:
    with pytest.raises(TypeError):
        WaitPolicy("P3D")  # pyright: ignore[reportCallIssue]


def test_whatever_the_default_is_made_of_it_is_published_as_json() -> None:
    amount: Any = {"amount": Decimal("1.50")}
    assert WaitPolicy(default=amount).default == {"amount": "1.50"}


def test_half_a_surrogate_pair_never_reaches_the_wire() -> None:
    policy = WaitPolicy(allowed_actions=("\ud800",), tags={"\ud800": "\ud801"}, redact=("\ud802",))
    assert policy.allowed_actions == ("\\ud800",)
    assert policy.tags == {"\\ud800": "\\ud801"}
    assert policy.redact == ("\\ud802",)


names = st.lists(st.text(min_size=1), min_size=1, unique=True).map(tuple)
texts: st.SearchStrategy[Mapping[str, str]] = st.dictionaries(st.text(min_size=1), st.text())
policies = st.builds(
    WaitPolicy,
    timeout=st.none() | st.timedeltas(min_value=timedelta(seconds=1)).filter(lambda t: t.days < 36_000),
    default=st.none() | st.recursive(st.booleans() | st.integers() | st.floats() | st.text(), st.lists),
    allowed_actions=st.none() | names,
    tags=texts,
    correlation=st.none() | texts,
    answer_schema=st.none() | st.dictionaries(st.text(), st.text()),
    redact=names,
)


@given(policies)
def test_a_policy_reads_back_equal_after_a_trip_through_json(policy: WaitPolicy) -> None:
    assert WaitPolicy.from_dict(json.loads(json.dumps(policy.to_dict(), allow_nan=False))) == policy
