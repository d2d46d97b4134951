"""Contract suites and stand-ins for testing what is built on agent-wait."""

from agent_wait.testing._announcer_contract import AnnouncerContract
from agent_wait.testing._stub_framework import Parked, StubFramework

__all__ = ["AnnouncerContract", "Parked", "StubFramework"]
