"""What is kept about the waits of one tool call: in the requests, in the history, and beside the answer."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any, cast

from agent_wait import JSON
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart

KEY = "agent_wait"
"""Where a `Record` stands in an `ApprovalRequired`'s, a `ModelResponse`'s and a tool call's metadata."""

NOTHING = object()
"""No answer; None is one."""

_writing = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """An answer that a wait of the call has been given.

    Attributes:
        reply: As `wrap_answer` made it, or raw.
        attempt: Of the ask that it answered.
    """

    reply: Any
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The waits of one tool call.

    Attributes:
        open: The value that the call is parked on.
        given: By fingerprint, what the waits before the open one were answered. A tool call has room for
            one answer, so that those of its earlier waits travel along.
        reply: The answer to the open one, wrapped; `NOTHING` without one.
    """

    open: Mapping[str, Any]
    given: Mapping[str, Given]
    reply: Any = NOTHING

    @property
    def fingerprint(self) -> str | None:
        """Of the open ask."""
        return self.open["__ask__"].get("fingerprint")

    @property
    def attempt(self) -> int:
        """Of the open ask."""
        return self.open["__ask__"].get("attempt", 1)

    def is_same_ask(self, other: "Record") -> bool:
        """Whether both are about one ask."""
        return (self.fingerprint, self.attempt) == (other.fingerprint, other.attempt)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON data, read back by `record_in`."""
        given = {name: {"reply": one.reply, "attempt": one.attempt} for name, one in self.given.items()}
        written: dict[str, Any] = {"v": 1, "open": dict(self.open), "given": given}
        return written if self.reply is NOTHING else {**written, "reply": self.reply}


def record_in(metadata: Any) -> Record | None:
    """The record in a tool call's metadata; None where there is none, or it has been damaged."""
    if not isinstance(metadata, Mapping):
        return None
    return _read(cast("Mapping[str, Any]", metadata).get(KEY))


def record_of(response: ModelResponse | None, tool_call_id: str) -> Record | None:
    """The record of a call in the response that made it."""
    kept: Any = (response.metadata or {}).get(KEY) if response is not None else None
    return _read(cast("Mapping[str, Any]", kept).get(tool_call_id)) if isinstance(kept, Mapping) else None


def write_record(response: ModelResponse | None, tool_call_id: str, record: Record) -> None:
    """Keep the record in the response, where the history keeps it and no model sees it."""
    if response is None:
        return
    with _writing:  # tools of one response run side by side in threads
        metadata = response.metadata or {}
        kept: Mapping[str, Any] = metadata.get(KEY) or {}
        response.metadata = {**metadata, KEY: {**kept, tool_call_id: record.to_json()}}


def response_of(messages: Sequence[ModelMessage], tool_call_id: str | None = None) -> ModelResponse | None:
    """The newest response, or the newest that made this call: servers use an id again in every turn."""
    for message in reversed(messages):
        if isinstance(message, ModelResponse) and (
            tool_call_id is None or any(part.tool_call_id == tool_call_id for part in calls_of(message))
        ):
            return message
    return None


def calls_of(response: ModelResponse) -> Iterator[ToolCallPart]:
    """The response's calls of tools of ours."""
    return (part for part in response.parts if isinstance(part, ToolCallPart))


def identity(response: ModelResponse | None, tool_call_id: str) -> list[JSON]:
    """What tells a call from that of another turn with the same id."""
    if response is None:
        return [None, None, tool_call_id]
    return [response.run_id, response.timestamp.astimezone(UTC).isoformat(), tool_call_id]


def _read(written: Any) -> Record | None:
    try:
        given = {
            str(name): Given(reply=one["reply"], attempt=int(one["attempt"]))
            for name, one in cast("dict[str, Any]", written.get("given") or {}).items()
        }
        record = Record(open=written["open"], given=given, reply=written.get("reply", NOTHING))
        return record if isinstance(record.attempt, int) else None  # pyright: ignore[reportUnnecessaryIsInstance]  # read from outside
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
