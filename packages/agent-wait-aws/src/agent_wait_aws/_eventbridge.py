"""Questions on an EventBridge bus."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from agent_wait import Transition, WaitEnvelope

from agent_wait_aws._announce import BatchAnnounce
from agent_wait_aws._clients import LazyClient, Session, region_of_arn
from agent_wait_aws._faults import entry_error, unconfirmed
from agent_wait_aws._send import Entry
from agent_wait_aws._text import carried

BATCH = 10
"""Entries of a PutEvents. Service model 2015-10-07, PutEventsRequestEntryList."""
MAX_BYTES = 999_999
"""Bytes of all entries of a PutEvents: less than 1 MB. Service model 2015-10-07, PutEvents."""
TIME_BYTES = 14
"""What EventBridge counts for an entry's `Time`. User Guide, "Calculating PutEvents event entry size"."""

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{8})([0-9a-f]{24})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


class EventBridgeClient(Protocol):
    """The call that is made of a boto3 `events` client."""

    def put_events(self, *args: Any, **kwargs: Any) -> Any:
        """Put up to ten events."""
        ...


class EventBridgeAnnounce(BatchAnnounce[EventBridgeClient]):
    """Put each envelope on an EventBridge bus.

    `detail-type` is `wait.created` or `wait.resumed`, `detail` the envelope, `time` when it happened: when
    the question was asked, or when the run was seen to have moved past it. The asking run's trace context
    goes along as an X-Ray trace header.

    Safe from several threads. Needs `events:PutEvents` on the bus.

    Args:
        bus_name: The bus, by name or ARN.
        source: The events' source, for rules to match; not one of AWS's own (`aws.`).
        client: A boto3 `events` client; None makes one when first needed, with boto3's standard retries.
        region_name: None is the bus's, if an ARN names it, else the session's.
        session: A boto3 session to make the client from; None is boto3's default one, or one that all
            announcers share.
        only: The transitions it wants, such as `("created",)`; None for all.

    Raises:
        ValueError: An empty name, a source that EventBridge refuses, or an `only` that names no transition.
    """

    def __init__(
        self,
        bus_name: str,
        *,
        source: str = "agent-wait",
        client: EventBridgeClient | None = None,
        region_name: str | None = None,
        session: Session | None = None,
        only: Iterable[Transition] | None = None,
    ) -> None:
        if not bus_name:
            raise ValueError("bus_name is empty")
        if not source or source.lower().startswith("aws."):
            raise ValueError(f"a source is not empty and does not begin with aws., as {source!r} does")
        lazy = LazyClient(
            "events", client=client, region_name=region_name or region_of_arn(bus_name), session=session
        )
        super().__init__(f"eventbridge:{bus_name.rpartition('/')[2]}", lazy, only)
        self._bus_name = bus_name
        self._source = source
        self._limit = MAX_BYTES
        self._most = BATCH

    def _entry(self, index: int, envelope: WaitEnvelope) -> Entry:
        detail = carried(envelope.to_json())
        request: dict[str, Any] = {
            "EventBusName": self._bus_name,
            "Source": self._source,
            "DetailType": envelope.type,
            "Detail": detail,
        }
        if (time := happened_at(envelope)) is not None:
            request["Time"] = time
        if (trace := trace_header(envelope.traceparent)) is not None:
            request["TraceHeader"] = trace
        size = TIME_BYTES + sum(len(part.encode()) for part in (self._source, envelope.type, detail))
        return Entry(index=index, size=size, request=request)

    def _send(self, entries: Sequence[Entry]) -> Mapping[int, Exception]:
        reply = self._client.put_events(Entries=[entry.request for entry in entries])
        results = reply.get("Entries", ())
        failures: dict[int, Exception] = {}
        for place in range(len(entries)):
            result: Mapping[str, str] = results[place] if place < len(results) else {}
            if result.get("ErrorCode"):
                failures[place] = entry_error(result["ErrorCode"], result.get("ErrorMessage", ""), self.name)
            elif not result.get("EventId"):
                failures[place] = unconfirmed(self.name)
        return failures


def happened_at(envelope: WaitEnvelope) -> datetime | None:
    """When the question was asked or closed; None, which EventBridge reads as now, if it does not say."""
    try:
        return datetime.fromisoformat(str(envelope.to_cloudevent()["time"]))
    except ValueError:
        return None


def trace_header(traceparent: str | None) -> str | None:
    """A W3C trace context as an X-Ray trace header; None for what is no trace context."""
    found = _TRACEPARENT.fullmatch(traceparent or "")
    if found is None:
        return None
    sampled = int(found[4], 16) & 1
    return f"Root=1-{found[1]}-{found[2]};Parent={found[3]};Sampled={sampled}"
