"""What the AWS announcers share: a lazy client, and entries that fail one by one."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from agent_wait import BaseAnnounce, Transition, WaitEnvelope

from agent_wait_aws._clients import LazyClient
from agent_wait_aws._faults import as_announce_error, too_large
from agent_wait_aws._send import Entry, Wire, send_all

C = TypeVar("C")
T = TypeVar("T")


def message_limit(max_bytes: int) -> int:
    """The `MaximumMessageSize` of a topic or a queue, in bytes.

    Raises:
        ValueError: Not one that SNS and SQS allow: 1,024 to 1,048,576.
    """
    if not 1024 <= max_bytes <= 1_048_576:
        raise ValueError(f"max_bytes is 1,024 to 1,048,576, not {max_bytes}")
    return max_bytes


class AwsAnnounce(BaseAnnounce, Generic[C]):
    """An announcer on one boto3 client."""

    def __init__(self, name: str, client: LazyClient[C], only: Iterable[Transition] | None) -> None:
        super().__init__(only=only)
        self.name = name
        self._lazy = client

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"

    def warm(self) -> None:
        """Make the boto3 client now, say in a Lambda's init, and not at the first publish; calls nothing."""
        self._lazy.get()

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        """Deliver one envelope."""
        (error,) = self.deliver_many([envelope], transition)
        if error is not None:
            raise error

    @abstractmethod
    def deliver_many(
        self, envelopes: Sequence[WaitEnvelope], transition: Transition
    ) -> Sequence[Exception | None]:
        """Deliver several; one entry an envelope, None for delivered."""

    @property
    def _client(self) -> C:
        return self._lazy.get()

    def _prepare(
        self, envelopes: Sequence[WaitEnvelope], make: Callable[[int, WaitEnvelope], T]
    ) -> tuple[list[T], dict[int, Exception]]:
        """What can be sent, and why the others cannot, by index: an odd envelope fails alone."""
        made: list[T] = []
        failures: dict[int, Exception] = {}
        for index, envelope in enumerate(envelopes):
            try:
                made.append(make(index, envelope))
            except Exception as error:  # noqa: BLE001  # whatever it is, it is reported
                failures[index] = as_announce_error(error, self.name)
        return made, failures


class BatchAnnounce(AwsAnnounce[C]):
    """An announcer on a service that takes entries in batches."""

    _most = 10
    _limit: int

    def deliver_many(
        self,
        envelopes: Sequence[WaitEnvelope],
        transition: Transition,  # noqa: ARG002  # each envelope says it by its `type`
    ) -> Sequence[Exception | None]:
        """Deliver several; one entry an envelope, None for delivered."""
        entries, failures = self._prepare(envelopes, self._fitting)
        wire = Wire(announcer=self.name, send=self._send, most=self._most, limit=self._limit)
        failures |= send_all(entries, wire)
        return [failures.get(index) for index in range(len(envelopes))]

    @abstractmethod
    def _entry(self, index: int, envelope: WaitEnvelope) -> Entry: ...

    @abstractmethod
    def _send(self, entries: Sequence[Entry]) -> Mapping[int, Exception]: ...

    def _fitting(self, index: int, envelope: WaitEnvelope) -> Entry:
        entry = self._entry(index, envelope)
        if entry.size > self._limit:
            raise too_large(entry.size, self._limit, self.name)
        return entry
