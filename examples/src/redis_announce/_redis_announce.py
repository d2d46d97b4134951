from collections.abc import Iterable, Sequence

from agent_wait import BaseAnnounce, Transition, WaitEnvelope
from redis import Redis


class RedisAnnounce(BaseAnnounce):
    """Adds each envelope to a Redis stream, as JSON in the field `envelope`."""

    def __init__(
        self, client: Redis, stream: str = "questions", *, only: Iterable[Transition] | None = None
    ) -> None:
        super().__init__(only=only)
        self.client = client
        self.stream = stream

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        self.client.xadd(self.stream, {"envelope": envelope.to_json()})

    def deliver_many(
        self, envelopes: Sequence[WaitEnvelope], transition: Transition
    ) -> Sequence[Exception | None]:
        pipeline = self.client.pipeline(transaction=False)
        for envelope in envelopes:
            pipeline.xadd(self.stream, {"envelope": envelope.to_json()})
        replies = pipeline.execute(raise_on_error=False)
        return [reply if isinstance(reply, Exception) else None for reply in replies]
