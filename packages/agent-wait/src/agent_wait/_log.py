"""The announcer that writes a log line."""

import logging
from collections.abc import Iterable

from agent_wait._announcer import BaseAnnounce, one_line
from agent_wait._envelope import WaitEnvelope
from agent_wait._types import Transition

_SHOWN = (
    "type",
    "event_id",
    "dedupe_key",
    "thread_id",
    "question_id",
    "attempt",
    "allowed_actions",
    "asked_at",
    "expires_at",
    "tags",
)


class LogAnnounce(BaseAnnounce):
    """One line for each envelope: a JSON object in printable ASCII.

    It holds ids, allowed actions, times and tags. At `DEBUG` and below it is the whole envelope with the
    question; above that nothing of the question is written, whatever level the logger is at.

    Args:
        logger: None for the logger `agent_wait`. Python shows `INFO` only where logging is configured.
        level: Of the line, such as `logging.INFO`.
        only: The transitions it wants; None for all.
    """

    def __init__(
        self,
        logger: logging.Logger | None = None,
        *,
        level: int = logging.INFO,
        only: Iterable[Transition] | None = None,
    ) -> None:
        super().__init__(only=only)
        self._logger = logger or logging.getLogger("agent_wait")
        self._level = level

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        """Write the line."""
        del transition
        data = envelope.to_dict()
        if self._level > logging.DEBUG:
            data = {name: data[name] for name in _SHOWN}
        self._logger.log(self._level, "%s", one_line(data))
