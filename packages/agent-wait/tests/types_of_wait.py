"""What a type checker sees of a waiting function: its own signature. Checked by pyright, never run."""

from collections.abc import Callable
from typing import Any, assert_type

from agent_wait import InMemoryAnnounce, WaitPolicy, make_ask, make_wait
from agent_wait.testing import StubFramework

wait = make_wait(StubFramework())
ask = make_ask(StubFramework())


@wait
def bare(order_id: str, amount: int = 1, *more: float, note: str = "", **rest: bool) -> bytes: ...


@wait()
def called(order_id: str) -> bytes: ...


@wait(WaitPolicy(timeout="P3D"), when=lambda order_id: order_id != "", question=lambda order_id: order_id)
def with_policy(order_id: str) -> bytes: ...


@wait
async def awaited(order_id: str) -> bytes: ...


@wait(mode="async", announce=InMemoryAnnounce())
def announced(order_id: str) -> dict[str, Any]: ...


@wait(mode="async", announce=[InMemoryAnnounce()])
async def announced_async(order_id: str) -> dict[str, Any]: ...


class Desk:
    @wait
    def method(self, a: int) -> str: ...

    @classmethod
    @wait
    def of_class(cls, a: int) -> str: ...

    @staticmethod
    @wait
    def of_none(a: int) -> str: ...

    @wait(WaitPolicy())
    async def awaited(self, a: int) -> str: ...


def generic(function: Callable[[int], list[str]]) -> None:
    assert_type(wait(function)(1), list[str])
    assert_type(wait(WaitPolicy())(function)(1), list[str])


async def check() -> None:
    assert_type(bare("o-1", 2, 1.0, note="n", more=True), bytes)
    assert_type(called("o-1"), bytes)
    assert_type(with_policy(order_id="o-1"), bytes)
    assert_type(await awaited("o-1"), bytes)
    assert_type(announced("o-1"), dict[str, Any])
    assert_type(await announced_async("o-1"), dict[str, Any])
    assert_type(Desk().method(1), str)
    assert_type(Desk.of_class(1), str)
    assert_type(Desk.of_none(a=1), str)
    assert_type(await Desk().awaited(1), str)
    assert_type(ask("go on?"), Any)
    assert_type(ask({"ok": None}, WaitPolicy()), Any)

    bare(1)  # pyright: ignore[reportArgumentType]  # each of these must stay an error
    bare("o-1", note=1)  # pyright: ignore[reportArgumentType]
    called()  # pyright: ignore[reportCallIssue]
    called("o-1", "more")  # pyright: ignore[reportCallIssue]
    with_policy(order="o-1")  # pyright: ignore[reportCallIssue]
    Desk().method("1")  # pyright: ignore[reportArgumentType]
    wait("P3D")  # pyright: ignore[reportCallIssue, reportArgumentType]
    wait(mode="later")  # pyright: ignore[reportArgumentType]
    ask("go on?", "P3D")  # pyright: ignore[reportArgumentType]
