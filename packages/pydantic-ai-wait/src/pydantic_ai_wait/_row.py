"""What the adapter keeps of a thread: one JSON document in the host's store."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from agent_wait import WaitError
from pydantic import TypeAdapter
from pydantic_ai import DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

_REQUESTS = TypeAdapter(DeferredToolRequests)


class Store(Protocol):
    """Where threads are kept. Called from any thread, for one thread of conversation at a time."""

    def load(self, thread_id: str) -> bytes | None:
        """What was saved last; None for a thread that never was."""
        ...

    def save(self, thread_id: str, data: bytes, /) -> object:
        """Replace what is there, all of it or nothing, and return once it is durable."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A thread.

    Attributes:
        history: All messages.
        requests: What the last run stopped on.
        inbox: Answers that wait for the rest, or that a run failed on.
        failed: The last run had the answers of the inbox, and raised.
        starts: The last 16 start ids, oldest first.
        closed: The questions that the last run had answers to, packed, by their ids.
    """

    history: tuple[ModelMessage, ...] = ()
    requests: DeferredToolRequests | None = None
    inbox: tuple[Mapping[str, Any], ...] = ()
    failed: bool = False
    starts: tuple[str, ...] = ()
    closed: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def to_bytes(self) -> bytes:
        """UTF-8 JSON."""
        requests = None if self.requests is None else json.loads(_REQUESTS.dump_json(self.requests))
        written: dict[str, Any] = {
            "v": 1,
            "history": json.loads(ModelMessagesTypeAdapter.dump_json(list(self.history))),
            "requests": requests,
            "inbox": list(self.inbox),
            "failed": self.failed,
            "starts": list(self.starts),
            "closed": dict(self.closed),
        }
        return json.dumps(written, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes | None) -> "Row | None":
        """Read back what `to_bytes` made, of this or an earlier release.

        Raises:
            WaitError: It has been damaged, or is something else.
        """
        if data is None:
            return None
        try:
            read: Any = json.loads(data)
            requests = read.get("requests")
            return cls(
                history=tuple(ModelMessagesTypeAdapter.validate_json(json.dumps(read.get("history") or []))),
                requests=None if requests is None else _REQUESTS.validate_json(json.dumps(requests)),
                inbox=tuple(cast("list[Mapping[str, Any]]", read.get("inbox") or [])),
                failed=bool(read.get("failed")),
                starts=tuple(read.get("starts") or ()),
                closed=dict(read.get("closed") or {}),
            )
        except (ValueError, AttributeError, TypeError) as error:
            raise WaitError("what the store has for this thread is no row of ours, or damaged") from error
