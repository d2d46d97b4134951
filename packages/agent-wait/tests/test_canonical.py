"""Canonical JSON: the same value gives the same bytes, everywhere, and nothing is lost without a word."""

import array
import collections
import dataclasses
import enum
import fractions
import ipaddress
import json
import logging
import os
import shutil
import subprocess
import sys
import types
import uuid
import zoneinfo
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, localcontext
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, TypedDict

import attrs
import ormsgpack
import pydantic
import pytest
from agent_wait import JSON, QuestionError
from agent_wait._canonical import encode, to_plain
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

NODE = shutil.which("node")


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Both(enum.Enum):
    PAIR = (1, Decimal("2.0"))


class Point(NamedTuple):
    x: int
    y: int


class Shape(TypedDict):
    corners: set[int]


@dataclasses.dataclass
class Order:
    amount: Decimal
    parts: tuple[int, ...] = ()


@dataclasses.dataclass
class Chain:
    link: Any = None


@attrs.define
class Parcel:
    weight: Decimal


class Payee(pydantic.BaseModel):
    name: str = pydantic.Field(alias="payeeName")
    key: pydantic.SecretStr
    amount: Decimal


class Special(Payee):
    note: str = "n"


class Holder(pydantic.BaseModel):
    payee: Payee


class Rows(pydantic.RootModel[list[Decimal]]):
    pass


class Vault:
    def get_secret_value(self) -> str:
        return "s3cret"


class Struct:
    __struct_fields__ = ("a",)

    def __init__(self) -> None:
        self.a = Decimal("1.0")


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return f"at {id(self)}"


class Number(int):
    def __repr__(self) -> str:
        return f"at {id(self)}"


class Scalar:
    """As numpy's, which is not here."""

    dtype = "float64"

    def tolist(self) -> float:
        return 1.5


class Odd:
    pass


class Broken(dict[str, int]):
    def items(self) -> Any:
        raise RuntimeError("at 0x7f")


def generator() -> Iterator[int]:
    yield 1


ZOO: list[tuple[Any, JSON]] = [
    ("é😊", "é😊"),
    (Decimal("19.90"), "19.90"),
    (Decimal("0.1") + Decimal("0.2"), "0.3"),
    (Decimal("12345678901234567890.12"), "12345678901234567890.12"),
    (Decimal("1E+5"), "1E+5"),
    (Decimal("NaN"), "NaN"),
    (fractions.Fraction(1, 3), "1/3"),
    (1.0, 1.0),
    (True, True),
    (2**63 - 1, 2**63 - 1),
    (2**63, "9223372036854775808"),
    (-(2**63), -(2**63)),
    (-(2**63) - 1, "-9223372036854775809"),
    (2**2047, str(2**2047)),
    (2**2048, hex(2**2048)),
    (float("nan"), "NaN"),
    (float("inf"), "Infinity"),
    (-float("inf"), "-Infinity"),
    ("a\ud800b", "a\\ud800b"),
    (complex(1, 2), "(1+2j)"),
    (range(3), "range(0, 3)"),
    (datetime(2026, 11, 30, 1, 2, 3, 4, tzinfo=UTC), "2026-11-30T01:02:03.000004+00:00"),
    (datetime(2026, 11, 30), "2026-11-30T00:00:00"),  # noqa: DTZ001  # what has no zone is given none
    (date(2026, 11, 30), "2026-11-30"),
    (time(1, 2), "01:02:00"),
    (timedelta(days=3, hours=4, microseconds=5), "P3DT4H0.000005S"),
    (timedelta(days=-1), "-P1D"),
    (timedelta(0), "PT0S"),
    (timedelta.min, "-P999999999D"),
    (zoneinfo.ZoneInfo("UTC"), "UTC"),
    (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (Path("/tmp/a"), "/tmp/a"),
    (PurePosixPath("a/b"), "a/b"),
    (ipaddress.ip_address("10.0.0.1"), "10.0.0.1"),
    (ipaddress.ip_network("10.0.0.0/8"), "10.0.0.0/8"),
    (Colour.RED, "red"),
    (Level.HIGH, 3),
    (Both.PAIR, [1, "2.0"]),
    (b"\x00\xff", "AP8="),
    (bytearray(b"hi"), "aGk="),
    (memoryview(b"hxix")[::2], "aGk="),
    ({3, 1, 2}, [1, 2, 3]),
    (frozenset({"b", "a"}), ["a", "b"]),
    ({"b": 1}.keys(), ["b"]),
    ((1, (2,)), [1, [2]]),
    (Point(1, 2), [1, 2]),
    (collections.deque([1]), [1]),
    (collections.UserList([1]), [1]),
    (collections.UserDict({"a": 1}), {"a": 1}),
    (collections.ChainMap({"a": 1}, {"b": 2}), {"a": 1, "b": 2}),
    (types.MappingProxyType({"a": 1}), {"a": 1}),
    (Shape(corners={2, 1}), {"corners": [1, 2]}),
    (Order(Decimal("1.50"), (1,)), {"amount": "1.50", "parts": [1]}),
    (Parcel(Decimal("2.0")), {"weight": "2.0"}),
    (Struct(), {"a": "1.0"}),
    (
        Payee(payeeName="Zoë", key=pydantic.SecretStr("s3cret"), amount=Decimal("1.0")),
        {"name": "Zoë", "key": "**********", "amount": "1.0"},
    ),
    (
        Holder(payee=Special(payeeName="Z", key=pydantic.SecretStr("s"), amount=Decimal(1))),
        {"payee": {"name": "Z", "key": "**********", "amount": "1", "note": "n"}},
    ),
    (Rows([Decimal("1.0")]), ["1.0"]),
    (pydantic.SecretStr("s3cret"), "**********"),
    (pydantic.SecretBytes(b"s3cret"), "**********"),
    (pydantic.Secret[int](7), "**********"),
    (Vault(), "**********"),
    (Text("kept"), "kept"),
    (Number(5), 5),
    (Scalar(), 1.5),
    ({1: "a", None: "b", False: "c"}, {"1": "a", "null": "b", "false": "c"}),
    (
        {(1, 2): "c", 1.5: "d", Decimal("2.50"): "e", Colour.RED: "f"},
        {"[1,2]": "c", "1.5": "d", "2.50": "e", "red": "f"},
    ),
    ({date(2026, 1, 1): 1}, {"2026-01-01": 1}),
    (Odd(), "Odd"),
    (Odd, "type"),
    (ValueError("x"), "ValueError"),
    (lambda: 1, "function"),
    (generator(), "generator"),
    ({"a": 1}.values(), "dict_values"),
    (array.array("d", [1.0]), [1.0]),
]


@pytest.mark.requirement("TYPE-ZOO", "DECIMAL-TO-FLOAT", "NON-JSON-REASON")
@pytest.mark.parametrize(
    ("value", "plain"), ZOO, ids=[f"{n}-{type(v).__name__}" for n, (v, _) in enumerate(ZOO)]
)
def test_every_kind_of_value_has_its_form_alone_and_inside_others(value: Any, plain: JSON) -> None:
    assert to_plain(value) == plain
    assert type(to_plain(value)) is type(plain)
    assert to_plain({"a": [value]}) == {"a": [plain]}
    assert to_plain(value, lenient=True) == plain


def test_a_message_of_langchain_is_its_own_dump_with_nothing_left_out() -> None:
    message: Any = to_plain({"messages": [HumanMessage("hi"), AIMessage("there", id="m-1")]})
    assert [(m["type"], m["content"]) for m in message["messages"]] == [("human", "hi"), ("ai", "there")]
    assert message["messages"][1]["id"] == "m-1"


def test_a_model_that_its_fields_no_longer_fit_is_published_without_a_warning() -> None:
    model = Payee.model_construct(name=1, key="open", amount="x")
    assert to_plain(model) == {"name": 1, "key": "open", "amount": "x"}


@pytest.mark.requirement("TYPE-ZOO")
def test_an_unknown_type_is_named_in_one_warning_and_its_address_nowhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Unheard:
        pass

    with caplog.at_level(logging.WARNING, "agent_wait"):
        plain = to_plain([Unheard(), Unheard(), {Unheard(): 1}])
    assert plain == ["Unheard", "Unheard", {"Unheard": 1}]
    (record,) = caplog.records
    assert record.name == "agent_wait"
    assert "Unheard has no JSON form" in record.getMessage()


def test_money_does_not_depend_on_a_decimal_context() -> None:
    with localcontext() as context:
        context.capitals = 0
        context.prec = 2
        assert to_plain([Decimal("1E+5"), Decimal("19.9000")]) == ["1E+5", "19.9000"]


def test_long_numbers_do_not_depend_on_the_limit_of_digits() -> None:
    limit = sys.get_int_max_str_digits()
    try:
        for digits in (640, 0):
            sys.set_int_max_str_digits(digits)
            assert to_plain(10**5000) == hex(10**5000)
            assert to_plain(10**600) == "1" + "0" * 600
    finally:
        sys.set_int_max_str_digits(limit)


def nested(depth: int, wrap: Callable[[Any], Any]) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = wrap(value)
    return value


@pytest.mark.parametrize("wrap", [lambda v: [v], lambda v: {"k": v}, lambda v: (v,), Chain], ids=repr)
def test_a_hundred_levels_are_taken_and_one_more_is_refused(wrap: Callable[[Any], Any]) -> None:
    plain = to_plain(nested(100, wrap))
    assert to_plain(plain) == plain
    with pytest.raises(QuestionError, match="more than 100 levels deep"):
        to_plain(nested(101, wrap))
    assert "<too deep>" in encode(to_plain(nested(101, wrap), lenient=True))


CYCLE: list[Any] = [1]
CYCLE.append({"x": (CYCLE,)})
LOOP = Chain()
LOOP.link = [LOOP]


class Endless:
    def model_dump(self) -> "Endless":
        return Endless()


class Unreadable:
    def model_dump(self) -> Any:
        raise OSError("at 0x7f")


class Locked(Decimal):
    def __str__(self) -> str:
        raise OSError


@pytest.mark.requirement("KEY-COLLISION")
@pytest.mark.parametrize(
    ("value", "path", "why"),
    [
        ({"m": {1: "a", "1": "b"}}, "args.m.1", "same text"),
        ({"m": [{None: 1, "null": 2}]}, "args.m[0].null", "same text"),
        ({"m": {Decimal("1.50"): 1, "1.50": 2}}, "args.m.1.50", "same text"),
        ({"m": {"a\ud800": 1, "a\\ud800": 2}}, "args.m.a\\ud800", "same text"),
        ({"m": {Odd(): 1, Odd(): 2}}, "args.m.Odd", "same text"),
        ({"order": {"items": [0, 1, 2, CYCLE]}}, "args.order.items[3][1].x[0]", "contains itself"),
        ({"c": LOOP}, "args.c.link[0]", "contains itself"),
        ({"e": [Endless()]}, "args.e[0]", "could not be read: RecursionError"),
        ({"u": Unreadable()}, "args.u", "Unreadable could not be read: OSError"),
        ({"u": {"v": Broken()}}, "args.u.v", "Broken could not be read: RuntimeError"),
        ({"u": Locked(1)}, "args.u", "Locked could not be read: OSError"),
        ({"u": Order.__new__(Order)}, "args.u", "Order could not be read: AttributeError"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_has_no_form_is_refused_by_its_path_and_marked_where_nothing_may_be_refused(
    value: Any, path: str, why: str
) -> None:
    with pytest.raises(QuestionError, match=why) as refused:
        to_plain(value, "args")
    assert refused.value.path == path
    assert "0x" not in str(refused.value)
    marked = encode(to_plain(value, lenient=True))
    assert "<cycle>" in marked or "<unreadable>" in marked or "#2" in marked


def test_the_path_of_the_whole_is_empty_or_what_it_was_called() -> None:
    for path in ("", "question"):
        with pytest.raises(QuestionError) as refused:
            to_plain(Unreadable(), path)
        assert refused.value.path == path


def test_no_value_is_lost_where_keys_of_a_bare_interrupt_collide() -> None:
    plain: Any = to_plain({1: "a", "1": "b", "1#2": "c"}, lenient=True)
    assert sorted(plain.values()) == ["a", "b", "c"]


def test_the_same_object_twice_is_no_cycle() -> None:
    shared = [1]
    assert to_plain({"a": shared, "b": [shared, shared]}) == {"a": [1], "b": [[1], [1]]}


def test_what_comes_out_shares_nothing_with_what_went_in() -> None:
    inner = {"b": [1]}
    plain = to_plain({"a": inner})
    inner["b"].append(2)
    assert plain == {"a": {"b": [1]}}


def test_keys_are_sorted_by_code_point_and_nothing_is_spaced_or_escaped_in_vain() -> None:
    assert encode(to_plain({"\U0001f600": 1, "\uffff": 2, "é": 3, "a": 1.0, "Z": "\n/\u2028"})) == (
        '{"Z":"\\n/\u2028","a":1.0,"é":3,"\uffff":2,"\U0001f600":1}'
    )


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.decimals()
    | st.text(st.characters(exclude_categories=[]))
    | st.binary()
    | st.uuids()
    | st.datetimes(timezones=st.just(UTC) | st.none())
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.fractions()
    | st.ip_addresses()
    | st.sampled_from([*Colour, *Level, *Both])
)
keys = st.text(st.characters(exclude_categories=[])) | st.integers() | st.none() | st.dates()
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(keys, inner)
        | st.frozensets(st.integers() | st.text() | st.dates())
        | st.builds(Chain, inner)
    ),
)


def strict(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


@pytest.mark.requirement("NAN-TOKEN", "CUSTOM-TYPES-IN-PARKED-VALUE")
@given(values)
def test_the_same_bytes_come_out_after_a_trip_through_msgpack_and_json(value: Any) -> None:
    plain = to_plain(value, lenient=True)
    text = encode(plain)
    for trip in (
        json.loads(text, parse_constant=strict),
        json.loads(json.dumps(plain, allow_nan=False)),
        ormsgpack.unpackb(ormsgpack.packb(plain)),
        json.loads(text.encode().decode()),
    ):
        assert encode(trip) == text
        assert to_plain(trip) == plain
        assert encode(to_plain(trip, lenient=True)) == text


@given(st.dictionaries(st.text(), st.integers()), st.randoms())
def test_the_order_of_an_object_makes_no_difference(value: dict[str, int], random: Any) -> None:
    pairs = list(value.items())
    random.shuffle(pairs)
    assert encode(to_plain(dict(pairs))) == encode(to_plain(value))


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_money_keeps_every_digit(amount: Decimal) -> None:
    plain = to_plain(amount)
    assert isinstance(plain, str)
    assert Decimal(plain).as_tuple() == amount.as_tuple()


ELSEWHERE = """
import sys, uuid, pathlib, datetime, dataclasses
from decimal import Decimal
from agent_wait._canonical import encode, to_plain

@dataclasses.dataclass
class Order:
    lines: set

class Odd:
    __hash__ = object.__hash__

names = {f"name-{n}" for n in range(40)}
value = {
    "names": names, "nested": {frozenset({n, n + "+"}) for n in names},
    "paths": {pathlib.Path(n) for n in names},
    "mixed": {1, "a", None, 2.5, Decimal("1.10"), datetime.date(2026, 1, 1)},
    "order": Order({uuid.UUID(int=n) for n in range(20)}), "odd": [Odd(), lambda: 1, object()],
    "keys": {n: 1 for n in names},
}
sys.stdout.write(encode(to_plain(value)))
"""


def test_another_process_under_another_hash_seed_gives_the_same_bytes() -> None:
    said: set[bytes] = set()
    for seed in ("0", "1", "4711"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", ELSEWHERE]
        said.add(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)
    assert len(said) == 1
    assert b"0x" not in said.pop()


@pytest.mark.requirement("NAN-TOKEN")
def test_node_reads_what_comes_out(tmp_path: Path) -> None:
    assert NODE, "node is needed: a strict parser that is not Python's"
    lines: list[str] = [
        encode(to_plain({"value": value, "key": {str(n): 1}})) for n, (value, _) in enumerate(ZOO)
    ]
    file = tmp_path / "lines"
    file.write_text("\n".join(lines), encoding="utf-8", newline="")
    # A parser of strict UTF-8 and strict JSON; what it writes again differs in the spelling of numbers alone.
    script = """
      const bytes = require("fs").readFileSync(process.argv[1]);
      const text = new TextDecoder("utf-8", {fatal: true}).decode(bytes);
      process.stdout.write(JSON.stringify(text.split("\\n").map(line => JSON.parse(line))));
    """
    read = subprocess.run([NODE, "-e", script, str(file)], check=True, capture_output=True).stdout
    back = json.loads(read)
    assert len(back) == len(ZOO)
    exact = [n for n, (_, plain) in enumerate(ZOO) if not isinstance(plain, int | float)]
    assert [back[n]["value"] for n in exact] == [ZOO[n][1] for n in exact]
