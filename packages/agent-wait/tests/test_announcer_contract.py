"""The contract suite on the announcers that need no server."""

import json
import logging
import threading
from typing import Any

import pytest
from agent_wait._announcer import AnnounceAdapter
from agent_wait._deliver import CompositeAnnounce
from agent_wait._envelope import WaitEnvelope
from agent_wait._log import LogAnnounce
from agent_wait._memory import InMemoryAnnounce
from agent_wait._types import Transition
from agent_wait.testing import AnnouncerContract

pytestmark = pytest.mark.requirement("ANNOUNCER-EXCEPTION")


class Fragile:
    """Stands in for a backend: what is put into it goes through, breaks or hangs."""

    def __init__(self) -> None:
        self.broken = False
        self.release: threading.Event | None = None

    def touch(self) -> None:
        if self.broken:
            raise ConnectionResetError("secret address")
        if self.release is not None:
            self.release.wait()


class Backed(AnnouncerContract):
    def setup_method(self) -> None:
        self.fragile = Fragile()

    def teardown_method(self) -> None:
        if self.fragile.release is not None:
            self.fragile.release.set()

    def break_backend(self) -> None:
        self.fragile.broken = True

    def hang_backend(self) -> None:
        self.fragile.release = threading.Event()


class FragileList(list[tuple[Transition, WaitEnvelope]]):
    def __init__(self, fragile: Fragile) -> None:
        super().__init__()
        self._fragile = fragile

    def append(self, item: tuple[Transition, WaitEnvelope], /) -> None:
        self._fragile.touch()
        super().append(item)


class TestInMemoryAnnounce(Backed):
    def make(self) -> InMemoryAnnounce:
        self.memory = InMemoryAnnounce()
        self.memory._arrived = FragileList(self.fragile)
        return self.memory

    def received(self) -> list[dict[str, Any]]:
        return [json.loads(envelope.to_json()) for envelope in self.memory.events]


class TestCompositeAnnounce(TestInMemoryAnnounce):
    def make(self) -> Any:
        return CompositeAnnounce([CompositeAnnounce([super().make()])])


class FragileHandler(logging.Handler):
    def __init__(self, fragile: Fragile) -> None:
        super().__init__()
        self.fragile = fragile
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.fragile.touch()
        self.lines.append(self.format(record))


class TestLogAnnounceAtDebug(Backed):
    def make(self) -> LogAnnounce:
        self.handler = FragileHandler(self.fragile)
        logger = logging.Logger("questions")  # noqa: LOG001  # out of the tree, so that nothing else sees it
        logger.addHandler(self.handler)
        return LogAnnounce(logger, level=logging.DEBUG)

    def received(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.handler.lines]


class TestSomethingThatOnlyHasTheShape(Backed):
    """A structural announcer, which may even raise."""

    def make(self) -> AnnounceAdapter:
        contract = self
        self.arrived: list[WaitEnvelope] = []

        class Structural:
            name = "structural"

            def supports(self, transition: Transition) -> bool:
                return transition == "created"

            def announce(self, envelope: WaitEnvelope, transition: Transition) -> Exception | None:
                try:
                    contract.fragile.touch()
                except OSError as error:
                    return error
                contract.arrived.append(envelope)
                return None

        return Structural()

    def received(self) -> list[dict[str, Any]]:
        return [json.loads(envelope.to_json()) for envelope in self.arrived]
