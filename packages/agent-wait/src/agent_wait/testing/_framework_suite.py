"""What `FrameworkContract` asks of its author, and how it makes agents of it."""

import asyncio
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from agent_wait import Framework, WaitPolicy, make_wait
from agent_wait.testing._contract import AWAITED, Contract
from agent_wait.testing._handle import Handle, Script
from agent_wait.testing._rehearsal import Bodies, Rehearsal, awaitable

_S = TypeVar("_S", bound="type[FrameworkSuite]")


def both_ways(suite: _S) -> _S:
    """Every rule holds for plain functions in a plain run, and for `async` functions in an awaited one."""
    for name, test in list(vars(suite).items()):
        if name.startswith("test_"):
            setattr(suite, name, _run(test, name, awaited=False))
            setattr(suite, name + AWAITED, _run(test, name + AWAITED, awaited=True))
    return suite


def _run(test: Callable[[Any], None], name: str, *, awaited: bool) -> Callable[[Any], None]:
    @functools.wraps(test)
    def run(self: "FrameworkSuite") -> None:
        with asyncio.Runner() as runner:
            self.runner = runner if awaited else None
            test(self)

    run.__name__ = name
    return run


class FrameworkSuite(Contract, ABC):
    """The hooks; the rules are in `FrameworkContract`."""

    framework: Framework
    """What is under test."""

    context: Any = None
    """The annotation of a parameter that the framework injects into a function, if it does."""

    runner: asyncio.Runner | None = None
    """Runs what is awaited; None in the tests where nothing is."""

    @abstractmethod
    def build(self, functions: Sequence[Callable[..., Any]], script: Script, store: Any) -> Handle:
        """A new thread of an agent that has these functions as its tools and says what the script says.

        Args:
            functions: Made by `wait`, plain or `async`, with names, annotations and docstrings.
            script: What the model says. A call that the framework refuses is a turn too.
            store: Where threads are kept; what `new_store` returned.
        """

    def new_store(self) -> Any:
        """An empty store, for all threads of one test."""

    def wait(self, policy: WaitPolicy | None = None, **options: Any) -> Callable[..., Any]:
        """The framework's `wait`."""
        return make_wait(self.framework)(policy, **options)

    def _agent(self, script: Script, **options: Any) -> tuple[Bodies, Rehearsal]:
        bodies = Bodies()
        return bodies, self._thread([self._refund_of(bodies, **options)], script)

    def _thread(
        self, functions: Sequence[Callable[..., Any]], script: Script, store: Any = None
    ) -> Rehearsal:
        handle = self.build(functions, script, self.new_store() if store is None else store)
        run = None if self.runner is None else self.runner.run
        return Rehearsal(self.framework, handle, run)

    def _refund_of(
        self, bodies: Bodies, *, name: str = "refund", is_async: bool = True, **options: Any
    ) -> Callable[..., Any]:
        def refund(order_id: str, amount: int, note: str = "none") -> str:
            """Refund an order."""
            bodies.note(order_id=order_id, amount=amount, note=note)
            return f"refunded {amount} of {order_id}"

        refund.__name__ = name
        return self._waiting(refund, is_async=is_async, **options)

    def _deciding(self) -> tuple[list[Any], Callable[..., Any]]:
        decisions: list[Any] = []

        def decide(amount: int, decision: Any = None) -> str:
            """Decide about an amount."""
            decisions.append(decision)
            return f"decided about {amount}"

        return decisions, self._waiting(decide)

    def _waiting(
        self, function: Callable[..., Any], *, is_async: bool = True, **options: Any
    ) -> Callable[..., Any]:
        awaited = is_async and self.runner is not None
        if awaited and "when" in options:
            options["when"] = awaitable(options["when"])
        return self.wait(**options)(awaitable(function) if awaited else function)
