"""Questions on an SQS queue."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from agent_wait import Transition, WaitEnvelope

from agent_wait_aws._announce import BatchAnnounce, message_limit
from agent_wait_aws._attributes import attributes_size, message_attributes
from agent_wait_aws._clients import LazyClient, Session
from agent_wait_aws._faults import batch_failures
from agent_wait_aws._keys import fit, group_id
from agent_wait_aws._send import Entry
from agent_wait_aws._text import carried

BATCH = 10
"""Entries of a SendMessageBatch. Service model 2012-11-05, SendMessageBatch."""
MAX_BYTES = 1_048_576
"""Bytes of a message, and of a batch, body and attributes, unless the queue's `MaximumMessageSize` says
otherwise. Service model 2012-11-05, SendMessageBatch."""

_REGION = re.compile(r"https?://(?:sqs\.([a-z0-9-]+)|([a-z0-9-]+)\.queue)\.amazonaws\.com")

GroupId = str | Callable[[WaitEnvelope], str]


class SqsClient(Protocol):
    """The calls that are made of a boto3 `sqs` client."""

    def send_message(self, *args: Any, **kwargs: Any) -> Any:
        """Send one message."""
        ...

    def send_message_batch(self, *args: Any, **kwargs: Any) -> Any:
        """Send up to ten."""
        ...


class SqsAnnounce(BatchAnnounce[SqsClient]):
    """Send each envelope to an SQS queue, as the JSON text of `WaitEnvelope.to_json()`.

    Message attributes are those of `SnsAnnounce`. On a FIFO queue the deduplication id is the `dedupe_key`,
    so that SQS itself drops a repeat within five minutes; after a message that failed the rest of its group
    is not sent, and reported.

    Safe from several threads. Needs `sqs:SendMessage` on the queue.

    Args:
        queue_url: The queue; `.fifo` at its end makes it a FIFO one.
        group_id: The message group: one for all, or a function of the envelope. Any non-empty text: what SQS
            would not take is hashed. None is `group_id(thread_id)` on a FIFO queue and no group on a standard
            one, where a group makes it a fair queue.
        client: A boto3 `sqs` client; None makes one when first needed, with boto3's standard retries.
        region_name: None is the queue's, if its URL names it, else the session's.
        session: A boto3 session to make the client from; None is boto3's default one, or one that all
            announcers share.
        max_bytes: The queue's `MaximumMessageSize`, 1,024 to 1,048,576.
        only: The transitions it wants, such as `("created",)`; None for all.

    Raises:
        ValueError: An empty URL or group, a `max_bytes` out of range, or an `only` that names no transition.
    """

    def __init__(
        self,
        queue_url: str,
        *,
        group_id: GroupId | None = None,
        client: SqsClient | None = None,
        region_name: str | None = None,
        session: Session | None = None,
        max_bytes: int = MAX_BYTES,
        only: Iterable[Transition] | None = None,
    ) -> None:
        if not queue_url:
            raise ValueError("queue_url is empty")
        if group_id == "":
            raise ValueError("group_id is empty")
        lazy = LazyClient(
            "sqs", client=client, region_name=region_name or region_of_url(queue_url), session=session
        )
        super().__init__(f"sqs:{queue_url.rpartition('/')[2]}", lazy, only)
        self._queue_url = queue_url
        self._group = group_id
        self._limit = message_limit(max_bytes)
        self._most = BATCH

    def _entry(self, index: int, envelope: WaitEnvelope) -> Entry:
        body = carried(envelope.to_json())
        attributes = message_attributes(envelope)
        request: dict[str, Any] = {"MessageBody": body, "MessageAttributes": attributes}
        fifo = self._queue_url.endswith(".fifo")
        group = self._group_of(envelope, fifo=fifo)
        if group is not None:
            request["MessageGroupId"] = group
        if fifo:
            request["MessageDeduplicationId"] = fit(envelope.dedupe_key)
        size = len(body.encode()) + attributes_size(attributes)
        return Entry(index=index, size=size, request=request, group=group if fifo else None)

    def _group_of(self, envelope: WaitEnvelope, *, fifo: bool) -> str | None:
        if self._group is None:
            return group_id(envelope.thread_id) if fifo else None
        group = self._group if isinstance(self._group, str) else self._group(envelope)
        if not group:
            raise ValueError("group_id gave an empty group")
        return fit(group)

    def _send(self, entries: Sequence[Entry]) -> Mapping[int, Exception]:
        if len(entries) == 1:
            self._client.send_message(QueueUrl=self._queue_url, **entries[0].request)
            return {}
        batch = [{"Id": str(place), **entry.request} for place, entry in enumerate(entries)]
        reply = self._client.send_message_batch(QueueUrl=self._queue_url, Entries=batch)
        return batch_failures(reply, len(batch), self.name)


def region_of_url(queue_url: str) -> str | None:
    """The region that a queue's URL names, if it is one of AWS."""
    found = _REGION.match(queue_url)
    return found and (found[1] or found[2])
