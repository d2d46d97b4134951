"""The contract suite on the smallest framework that passes it, and on three methods and a name."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from agent_wait import Framework
from agent_wait.testing import FrameworkContract, Handle, Script
from toy import Thread, Toy, ToyHandle

_numbers = itertools.count(1)


class TestToy(FrameworkContract):
    framework: Framework = Toy()

    def new_store(self) -> dict[str, Thread]:
        return {}

    def build(self, functions: Sequence[Callable[..., Any]], script: Script, store: Any) -> Handle:
        return ToyHandle(functions, script, store, f"thread-{next(_numbers)}")
