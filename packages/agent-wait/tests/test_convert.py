"""Edits: what converts, what is refused, and that what was shown can always be sent back."""

import dataclasses
import enum
import inspect
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar, Union

import pydantic
import pytest
from agent_wait import QuestionError
from agent_wait._answer_schema import answer_schema
from agent_wait._canonical import to_plain
from agent_wait._convert import convert_edits, schema_for
from agent_wait._json_types import check_edits
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from typing_extensions import TypedDict  # pydantic takes that of typing from Python 3.12 on

T = TypeVar("T")


class Kind(enum.Enum):
    ONE = 1
    WORD = "word"


class Switch(enum.Enum):
    ON = True


class Payee(pydantic.BaseModel):
    iban: str = pydantic.Field(alias="payeeIban")
    limit: Decimal = Decimal(0)
    stamp: bytes = b""
    others: list["Payee"] = []


class Box(pydantic.BaseModel, Generic[T]):
    it: T


@dataclasses.dataclass
class Order:
    count: int
    stamp: bytes
    kind: Kind


class Line(TypedDict):
    count: int


class Pair(NamedTuple):
    a: int
    b: bytes


class Plain:
    pass


def function(**types: Any) -> Callable[..., Any]:
    """Something with these parameters, as an adapter is given it."""

    def view() -> None: ...

    view.__signature__ = inspect.Signature(
        [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, annotation=t) for n, t in types.items()]
    )
    return view


def convert(annotation: Any, value: Any) -> Any:
    return convert_edits(function(x=annotation), {"x": value})["x"]


GOOD: list[tuple[Any, Any, Any]] = [
    (Decimal, "12.50", Decimal("12.50")),
    (Decimal, 12.5, Decimal("12.5")),
    (int, 3, 3),
    (int, "3", 3),
    (float, 3, 3.0),
    (float, "NaN", pytest.approx(float("nan"), nan_ok=True)),
    (bool, True, True),
    (str, "x", "x"),
    (bytes, "aGk=", b"hi"),
    (date, "2026-11-30", date(2026, 11, 30)),
    (datetime, "2026-11-30T00:00:00Z", datetime(2026, 11, 30, tzinfo=UTC)),
    (timedelta, "P3DT4H", timedelta(days=3, hours=4)),
    (timedelta, "-P1D", timedelta(days=-1)),
    (uuid.UUID, "00000000-0000-0000-0000-000000000001", uuid.UUID(int=1)),
    (Path, "/tmp/x", Path("/tmp/x")),
    (Kind, 1, Kind.ONE),
    (Kind, "word", Kind.WORD),
    (Switch, True, Switch.ON),
    (Literal[1, "a"], 1, 1),
    (Literal[True], True, True),
    (int | None, None, None),
    (Union[bytes, None], "aGk=", b"hi"),  # noqa: UP007  # as it is often written
    (int | str, "5", "5"),
    (int | str, 5, 5),
    (Annotated[int, pydantic.Field(ge=1)], 1, 1),
    (list[Decimal], ["1.20"], [Decimal("1.20")]),
    (tuple[int, ...], [1, 2], (1, 2)),
    (set[int], [2, 1], {1, 2}),
    (dict[str, bytes], {"a": "aGk="}, {"a": b"hi"}),
    (Sequence[bytes], ["aGk="], [b"hi"]),
    (Mapping[str, Decimal], {"a": "1.0"}, {"a": Decimal("1.0")}),
    (Order, {"count": 1, "stamp": "aGk=", "kind": 1}, Order(1, b"hi", Kind.ONE)),
    (Line, {"count": 1}, {"count": 1}),
    (Pair, [1, "aGk="], Pair(1, b"hi")),
    (Payee, {"iban": "DE1", "stamp": "aGk="}, Payee(payeeIban="DE1", stamp=b"hi")),
    (Payee, {"payeeIban": "DE1"}, Payee(payeeIban="DE1")),
    (
        Payee,
        {"iban": "A", "others": [{"iban": "B", "limit": "1.50", "stamp": "aGk="}]},
        Payee(payeeIban="A", others=[Payee(payeeIban="B", limit=Decimal("1.50"), stamp=b"hi")]),
    ),
    (Box[bytes], {"it": "aGk="}, Box[bytes](it=b"hi")),
    (pydantic.SecretStr, "new", pydantic.SecretStr("new")),
    (Any, {"a": [1]}, {"a": [1]}),
    (object, {"a": [1]}, {"a": [1]}),
]


@pytest.mark.requirement("EDIT-TYPES-NOT-RESTORED")
@pytest.mark.parametrize(("annotation", "value", "result"), GOOD, ids=range(len(GOOD)))
def test_an_edit_becomes_what_the_function_declares(annotation: Any, value: Any, result: Any) -> None:
    converted = convert(annotation, value)
    assert converted == result
    assert type(converted) is type(result) or isinstance(converted, float)
    if isinstance(result, Decimal):
        assert str(converted) == str(result)


BAD: list[tuple[Any, Any, str]] = [
    (Decimal, "abc", "x: Input should be a valid decimal"),
    (Decimal, True, "x: .*a bool is no number"),
    (int, True, "x: .*a bool is no number"),
    (int, "x", "x: Input should be a valid integer"),
    (int, 1.5, "x: Input should be a valid integer"),
    (float, False, "x: .*a bool is no number"),
    (bool, 1, "x: Input should be a valid boolean"),
    (bool, "true", "x: Input should be a valid boolean"),
    (str, 1, "x: Input should be a valid string"),
    (bytes, "no base64!", "x: .*is not base64"),
    (bytes, "aGk", "x: .*is not base64"),
    (date, "31/12", "x: Input should be a valid date"),
    (datetime, True, "x: "),
    (timedelta, True, "x: "),
    (Kind, True, "x: .*a bool is no number"),
    (Kind, 2, "x: Input should be 1 or 'word'"),
    (Switch, 1, "x: .*a bool is no number"),
    (Literal[1], True, "x: .*a bool is no number"),
    (Literal[True], 1, "x: .*a bool is no number"),
    (int | str, True, "x: "),
    (int | None, "x", "x: "),
    (Annotated[int, pydantic.Field(ge=1)], 0, "x: Input should be greater"),
    (list[int], [1, True], r"x\[1\]: .*a bool is no number"),
    (dict[str, int], {"a": True}, r"x\.a: .*a bool is no number"),
    (Order, {"count": True, "stamp": "", "kind": 1}, r"x\.count: .*a bool is no number"),
    (Line, {"count": True}, r"x\.count: .*a bool is no number"),
    (Payee, {"iban": "A", "others": [{"iban": "B", "limit": True}]}, r"x\.others\[0\]\.limit: .*a bool"),
    (Payee, {}, r"x\.\w+: Field required"),
    (Plain, "Plain", "x: "),
    (list[Plain], ["Plain"], "x"),
    ("Undefined", 1, "x: cannot be edited: its type is not understood"),
]


@pytest.mark.parametrize(("annotation", "value", "why"), BAD, ids=range(len(BAD)))
def test_an_edit_that_does_not_fit_is_refused_by_its_path_without_its_content(
    annotation: Any, value: Any, why: str
) -> None:
    with pytest.raises(QuestionError, match=f"^{why}") as refused:
        convert(annotation, value)
    assert refused.value.path.startswith("x")
    assert "no base64!" not in str(refused.value)
    assert "abc" not in str(refused.value)


SHOWN: list[tuple[Any, Any]] = [
    (Order, Order(1, b"\xff\x00", Kind.ONE)),
    (Payee, Payee(payeeIban="A", limit=Decimal("1.50"), stamp=b"\xff", others=[Payee(payeeIban="B")])),
    (Box[bytes], Box[bytes](it=b"\xff")),
    (list[Decimal], [Decimal("1.0")]),
    (set[date], {date(2026, 1, 1)}),
    (dict[str, timedelta], {"a": timedelta(seconds=1.5)}),
    (bytes, b"\xff"),
    (tuple[uuid.UUID, ...], (uuid.UUID(int=1),)),
    (float, float("-inf")),
    (int, 2**80),
]


@pytest.mark.parametrize(("annotation", "value"), SHOWN, ids=range(len(SHOWN)))
def test_what_was_shown_converts_back_to_what_was_there(annotation: Any, value: Any) -> None:
    assert convert(annotation, to_plain(value)) == value


@given(st.binary())
def test_every_bytes_survives_the_trip_at_every_depth(data: bytes) -> None:
    order = Order(1, data, Kind.ONE)
    assert convert(list[Order], to_plain([order])) == [order]


def test_a_variadic_parameter_is_edited_as_a_list_or_an_object() -> None:
    def call(*more: bytes, **rest: Decimal) -> None: ...

    assert inspect.signature(call)
    assert convert_edits(call, {"more": ["aGk="], "rest": {"a": "1.0"}}) == {
        "more": [b"hi"],
        "rest": {"a": Decimal("1.0")},
    }
    assert (
        check_edits_refuses(call, "more", ["x"])
        == "more[0]: cannot be edited: nothing here converts to its type"
    )


def check_edits_refuses(call: Callable[..., Any], name: str, value: Any) -> str:
    with pytest.raises(QuestionError) as refused:
        check_edits(call, {name: value})
    return str(refused.value)


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (str, "x"),
        (int, 3),
        (float, 3),
        (float, 3.5),
        (bool, True),
        (None, None),
        (type(None), None),
        (str | None, None),
        (Union[int, None], 3),  # noqa: UP007
        (Annotated[int, "cents"], 3),
        (list, [1, "a"]),
        (list[int], [1]),
        (dict, {"a": []}),
        (dict[str, list[int]], {"a": [1]}),
        (Literal["a", 1], "a"),
        (Any, object),
        (object, {"a": 1}),
    ],
    ids=repr,
)
def test_with_the_core_alone_an_edit_of_a_json_type_is_taken_as_it_is(annotation: Any, value: Any) -> None:
    assert check_edits(function(x=annotation), {"x": value}) == {"x": value}


@pytest.mark.parametrize(
    ("annotation", "value", "why"),
    [
        (str, 1, "x: is text, not an integer"),
        (int, True, "x: is an integer, not true or false"),
        (int, 1.0, "x: is an integer, not a number"),
        (bool, 1, "x: is true or false, not an integer"),
        (float, "1", "x: is a number, not text"),
        (int, [1], "x: is an integer, not a list or an object"),
        (None, 1, "x: is null, not an integer"),
        (str | None, 1, "x: is of none of the types that the function takes"),
        (list[int], {"a": 1}, "x: is a list"),
        (list[int], [1, "a"], "x[1]: is an integer, not text"),
        (dict[str, int], [], "x: is an object"),
        (dict[str, int], {"a": "b"}, "x.a: is an integer, not text"),
        (Literal[1], True, "x: is one of 1"),
        (Literal["a", "b"], "c", "x: is one of 'a', 'b'"),
        (Decimal, "12.50", "x: cannot be edited: nothing here converts to its type"),
        (bytes, "aGk=", "x: cannot be edited: nothing here converts to its type"),
        (dict[int, int], {"1": 1}, "x: cannot be edited: nothing here converts to its type"),
        (tuple[int, ...], [1], "x: cannot be edited: nothing here converts to its type"),
        ("Decimal", "1", "x: cannot be edited: nothing here converts to its type"),
    ],
    ids=repr,
)
def test_with_the_core_alone_nothing_reaches_a_body_that_it_does_not_declare(
    annotation: Any, value: Any, why: str
) -> None:
    assert check_edits_refuses(function(x=annotation), "x", value) == why


def test_the_core_never_loads_pydantic_by_itself() -> None:
    code = """
import sys
from agent_wait import Framework, make_wait
class Parks(Framework):
    name = "parks"
    def interrupt(self, value, call_args): raise KeyError
    def interrupts_in(self, result): return []
    def current_thread_id(self, call_args): return "t"
@make_wait(Parks())
def refund(amount: int): ...
try:
    refund(5)
except KeyError:
    pass
heavy = {"asyncio", "boto3", "email", "http", "opentelemetry", "pydantic", "ssl", "urllib.request"}
print(sorted(set(sys.modules) & heavy))
"""
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert said.strip() == "[]"


def test_an_answer_schema_has_a_branch_an_action_and_the_published_parameters_all_optional() -> None:
    args = schema_for(function(amount=Decimal, order=Order, payee=Payee, plain=Plain, free=Any))
    schema: Any = answer_schema(("approve", "reject", "escalate"), args)
    Draft202012Validator.check_schema(schema)
    approve, reject, escalate = schema["anyOf"]
    assert [branch["properties"]["action"] for branch in schema["anyOf"]] == [
        {"const": "approve"},
        {"const": "reject"},
        {"const": "escalate"},
    ]
    edits = approve["properties"]["args"]
    assert (edits["type"], edits["additionalProperties"]) == ("object", False)
    assert list(edits["properties"]) == ["amount", "order", "payee", "plain", "free"]
    assert "required" not in edits
    assert "args" not in reject["properties"]
    assert "args" not in escalate["properties"]
    assert edits["properties"]["plain"] == {"readOnly": True}
    validator: Any = Draft202012Validator(schema)
    valid: Callable[[Any], bool] = validator.is_valid
    assert valid({"action": "approve"})
    assert valid({"action": "approve", "args": {"amount": "1.50"}})
    assert valid({"action": "approve", "args": {"payee": to_plain(Payee(payeeIban="A"))}})
    assert valid({"action": "approve", "args": {"plain": "Plain"}})
    assert valid({"action": "reject", "reason": "no"})
    bad_ones: list[Any] = [
        {"action": "approve", "args": {"amuont": 1}},
        {"action": "maybe"},
        {},
        "approve",
        None,
        {"args": {}},
    ]
    assert not any(map(valid, bad_ones))


def test_there_is_no_schema_where_the_framework_cannot_tell() -> None:
    assert answer_schema(("approve",), None) is None
