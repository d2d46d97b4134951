"""Contract suites and stand-ins for testing what is built on agent-wait."""

import sys

# What a failed assertion says is pytest's doing, for modules that it is told of before they are imported.
if "pytest" in sys.modules:
    sys.modules["pytest"].register_assert_rewrite(
        "agent_wait.testing._framework_contract", "agent_wait.testing._rehearsal"
    )

from agent_wait.testing._announcer_contract import AnnouncerContract
from agent_wait.testing._framework_contract import FrameworkContract
from agent_wait.testing._handle import AdapterHandle, Handle, Script, ToolCall, Turn
from agent_wait.testing._stub_framework import Parked, StubFramework

__all__ = [
    "AdapterHandle",
    "AnnouncerContract",
    "FrameworkContract",
    "Handle",
    "Parked",
    "Script",
    "StubFramework",
    "ToolCall",
    "Turn",
]
