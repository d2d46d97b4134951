"""Questions on an SNS topic."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from agent_wait import Transition, WaitEnvelope

from agent_wait_aws._announce import BatchAnnounce, message_limit
from agent_wait_aws._attributes import attributes_size, message_attributes
from agent_wait_aws._clients import LazyClient, Session, region_of_arn
from agent_wait_aws._faults import batch_failures
from agent_wait_aws._keys import fit, group_id
from agent_wait_aws._send import Entry
from agent_wait_aws._text import carried

BATCH = 10
"""Entries of a PublishBatch. Service model 2010-03-31, PublishBatch."""
MAX_BYTES = 262_144
"""Bytes of a message, and of a batch, body and attributes, unless the topic's `MaximumMessageSize` says
otherwise. Service model 2010-03-31, PublishInput.Message and PublishBatch."""
SUBJECT = 99
"""Characters of a subject: fewer than 100, no line break or control character. Service model 2010-03-31,
PublishInput.Subject; e-mail endpoints take ASCII that begins with a letter, a digit or punctuation."""


class SnsClient(Protocol):
    """The calls that are made of a boto3 `sns` client."""

    def publish(self, *args: Any, **kwargs: Any) -> Any:
        """Publish one message."""
        ...

    def publish_batch(self, *args: Any, **kwargs: Any) -> Any:
        """Publish up to ten."""
        ...


class SnsAnnounce(BatchAnnounce[SnsClient]):
    """Publish each envelope to an SNS topic, as the JSON text of `WaitEnvelope.to_json()`.

    Message attributes are `type`, `thread_id` and the question's tags, for filter policies. A tag with an
    empty value, with a name that SNS forbids, with one of our own names, or beyond ten in all, is in the body
    only. `Subject` names the function, for people who subscribe by e-mail. On a FIFO topic the group is
    `group_id(thread_id)` and the deduplication id is the `dedupe_key`.

    Safe from several threads. Needs `sns:Publish` on the topic.

    Args:
        topic_arn: The topic; `.fifo` at its end makes it a FIFO one.
        client: A boto3 `sns` client; None makes one when first needed, with boto3's standard retries.
        region_name: None is the topic's.
        session: A boto3 session to make the client from; None is boto3's default one, or one that all
            announcers share.
        max_bytes: The topic's `MaximumMessageSize`, 1,024 to 1,048,576.
        only: The transitions it wants, such as `("created",)`; None for all.

    Raises:
        ValueError: An empty ARN, a `max_bytes` out of range, or an `only` that names no transition.
    """

    def __init__(
        self,
        topic_arn: str,
        *,
        client: SnsClient | None = None,
        region_name: str | None = None,
        session: Session | None = None,
        max_bytes: int = MAX_BYTES,
        only: Iterable[Transition] | None = None,
    ) -> None:
        if not topic_arn:
            raise ValueError("topic_arn is empty")
        lazy = LazyClient(
            "sns", client=client, region_name=region_name or region_of_arn(topic_arn), session=session
        )
        super().__init__(f"sns:{topic_arn.rpartition(':')[2]}", lazy, only)
        self._topic_arn = topic_arn
        self._limit = message_limit(max_bytes)
        self._most = BATCH

    def _entry(self, index: int, envelope: WaitEnvelope) -> Entry:
        body = carried(envelope.to_json())
        attributes = message_attributes(envelope)
        request: dict[str, Any] = {
            "Message": body,
            "Subject": subject_of(envelope),
            "MessageAttributes": attributes,
        }
        group = None
        if self._topic_arn.endswith(".fifo"):
            group = group_id(envelope.thread_id)
            request |= {"MessageGroupId": group, "MessageDeduplicationId": fit(envelope.dedupe_key)}
        size = len(body.encode()) + attributes_size(attributes)
        return Entry(index=index, size=size, request=request, group=group)

    def _send(self, entries: Sequence[Entry]) -> Mapping[int, Exception]:
        if len(entries) == 1:
            self._client.publish(TopicArn=self._topic_arn, **entries[0].request)
            return {}
        batch = [{"Id": str(place), **entry.request} for place, entry in enumerate(entries)]
        reply = self._client.publish_batch(TopicArn=self._topic_arn, PublishBatchRequestEntries=batch)
        return batch_failures(reply, len(batch), self.name)


def subject_of(envelope: WaitEnvelope) -> str:
    """At most 99 printable ASCII characters that name what is asked."""
    asked = "Answer needed" if envelope.type == "wait.created" else "No longer needed"
    name = (envelope.source or {}).get("function") or envelope.question_id
    plain = unicodedata.normalize("NFKD", f"{asked}: {name}").encode("ascii", "ignore").decode()
    return "".join(" " if not " " <= letter <= "~" else letter for letter in plain)[:SUBJECT].rstrip()
