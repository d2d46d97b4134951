"""`mode="async"`: the question goes out and the agent goes on."""

from collections.abc import Iterable, Mapping
from typing import Any

from agent_wait import _identity
from agent_wait._announcer import AnnounceAdapter
from agent_wait._asking import Named, check_size, current_traceparent
from agent_wait._canonical import encode
from agent_wait._clock import Clock
from agent_wait._deliver import Announce, CompositeAnnounce, adeliver, as_announcers, deliver
from agent_wait._envelope import WaitEnvelope, envelope_for
from agent_wait._errors import AnnounceError
from agent_wait._policy import WaitPolicy
from agent_wait._publication import Publication
from agent_wait._question import Question
from agent_wait._types import JSON


class Announced:
    """The announcers of one function in `mode="async"`.

    Args:
        announce: One announcer or several.
        clock: For `asked_at`.

    Raises:
        TypeError: Something in `announce` is no announcer.
    """

    def __init__(self, announce: Announce, clock: Clock) -> None:
        self._announcers = as_announcers(announce)
        self._wanting = sum(1 for _ in _wanting(self._announcers))
        self._clock = clock

    def publish(self, question: JSON, thread_id: str, **declared: Any) -> dict[str, JSON]:
        """Announce the question and say what became of it."""
        envelope = self._envelope(question, thread_id, **declared)
        return self._status(envelope, deliver([envelope], "created", self._announcers))

    async def apublish(self, question: JSON, thread_id: str, **declared: Any) -> dict[str, JSON]:
        """As `publish`, awaited."""
        envelope = self._envelope(question, thread_id, **declared)
        return self._status(envelope, await adeliver([envelope], "created", self._announcers))

    def _envelope(
        self,
        question: JSON,
        thread_id: str,
        *,
        policy: WaitPolicy,
        function: str,
        framework: str,
        schema: JSON,
        shown: JSON,
    ) -> WaitEnvelope:
        encoded = encode(question)
        fingerprint = _identity.fingerprint(encoded, None)
        check_size(Named(question, encoded, None, fingerprint))
        asked = Question(
            _identity.async_question_id(thread_id, function, shown),
            question,
            policy,
            fingerprint=fingerprint,
            asked_at=self._clock.now(),
            source={"function": function, "framework": framework, "mode": "async"},
            answer_schema=schema if isinstance(schema, Mapping) else None,
            traceparent=current_traceparent(),
        )
        return envelope_for(asked, thread_id, clock=self._clock)

    def _status(self, envelope: WaitEnvelope, publication: Publication) -> dict[str, JSON]:
        function = None if envelope.source is None else envelope.source["function"]
        said: dict[str, JSON] = {
            "status": "pending_approval",
            "question_id": envelope.question_id,
            "function": function,
        }
        if len(publication.failures) >= self._wanting:
            why = "; ".join(f"{f.announcer}: {_reason(f.error)}" for f in publication.failures)
            said["status"] = "not_announced"
            said["error"] = why or "no announcer takes created questions"
        return said


def _reason(error: Exception) -> str:
    """What the agent's model may read: a foreign error's text can hold an address, or the question itself."""
    return str(error) if isinstance(error, AnnounceError) else type(error).__name__


def _wanting(announcers: Iterable[AnnounceAdapter]) -> Iterable[AnnounceAdapter]:
    for announcer in announcers:
        if not announcer.supports("created"):
            continue
        if type(announcer) is CompositeAnnounce:
            yield from _wanting(announcer.announcers)
        else:
            yield announcer
