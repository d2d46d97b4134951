"""The approvals inbox: the page on which people answer an agent's questions.

It reads the approvals table and sends answers to the agent's queue, and knows nothing else of the agent, so
that it works with whichever framework asked. `python -m inbox` starts all of it on this machine.
"""

from inbox.app import build_app

__all__ = ["build_app"]
