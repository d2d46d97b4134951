"""The approvals row, both ways."""

import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from agent_wait import QuestionError, WaitEnvelope

from agent_wait_aws._keys import fit_bytes
from agent_wait_aws._text import carried

PARTITION_KEY_BYTES = 2048
"""Bytes of a partition key. Developer Guide, "Constraints in Amazon DynamoDB"."""
SORT_KEY_BYTES = 1024
"""Bytes of a sort key. The same page."""
NEVER = "never"

# Someone else's JSON goes in as JSON text: DynamoDB's own maps end at 32 levels and its numbers at 38 digits
# and 10^125, and they make one number of 1 and 1.0.
_JSON_TEXT = frozenset({"question", "answer_schema", "default", "source", "reply_to", "reply_with"})
_TEXT_MAPS = frozenset({"correlation", "tags"})
_FIELDS = tuple(field.name for field in fields(WaitEnvelope))

Attributes = dict[str, dict[str, Any]]


def row_key(thread_id: str, ask_id: str) -> dict[str, str]:
    """The key of a question's row, for `boto3.resource("dynamodb").Table`.

    Args:
        thread_id: As `reply_with` has it.
        ask_id: Likewise.

    Returns:
        `{"pk": "THREAD#<thread_id>", "sk": "WAIT#<ask_id>"}`; an id too long for a DynamoDB key (2,048 and
        1,024 bytes) is hashed.
    """
    return {
        "pk": fit_bytes("THREAD#", thread_id, PARTITION_KEY_BYTES),
        "sk": fit_bytes("WAIT#", ask_id, SORT_KEY_BYTES),
    }


def envelope_of(row: Mapping[str, Any]) -> WaitEnvelope:
    """The envelope that a row of the approvals table holds.

    A row that is open or answered, or was closed after it had been open, gives the `wait.created` envelope
    that opened it, equal to what every other announcer sent but for `event_id`.

    Args:
        row: An item of the table, as `boto3.resource("dynamodb").Table` gives it (`{"pk": "THREAD#..."}`) or
            as `boto3.client("dynamodb")` and a stream do (`{"pk": {"S": "THREAD#..."}}`). Attributes that are
            not the envelope's are ignored.

    Raises:
        QuestionError: Not such a row; `path` names the field.
    """
    data: dict[str, Any] = {}
    for name in _FIELDS:
        if name in row and (value := _plain(row[name])) is not None:
            data[name] = _read(name, value)
    return WaitEnvelope.from_json(json.dumps(data, default=str))


def item_of(envelope: WaitEnvelope) -> Attributes:
    """The key and the envelope's fields; what is null is left out, but for `expires_at`."""
    item = key_of(envelope)
    for name in _FIELDS:
        value = getattr(envelope, name)
        if name == "expires_at":
            item[name] = {"S": value or NEVER}
        elif value is not None:
            item[name] = _written(name, value)
    return item


def key_of(envelope: WaitEnvelope) -> Attributes:
    """The row's key."""
    return {name: {"S": text} for name, text in row_key(envelope.thread_id, envelope.ask_id).items()}


def item_size(item: Mapping[str, Mapping[str, Any]]) -> int:
    """Bytes, as DynamoDB counts them, numbers rounded up. Developer Guide, "Item sizes and formats"."""
    return sum(len(name.encode()) + _size(value) for name, value in item.items())


def _written(name: str, value: Any) -> dict[str, Any]:
    if name in _JSON_TEXT:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return {"S": carried(text)}
    if name in _TEXT_MAPS:
        return {"M": {key: {"S": text} for key, text in value.items()}}
    if name == "allowed_actions":
        return {"L": [{"S": action} for action in value]}
    return {"N": str(value)} if name == "attempt" else {"S": value}


def _read(name: str, value: Any) -> Any:
    try:
        if name in _JSON_TEXT:
            return json.loads(value)
        if name == "attempt":
            return int(value)
    except (TypeError, ValueError) as error:
        raise QuestionError("is not as the announcer writes it", name) from error
    return None if name == "expires_at" and value == NEVER else value


def _plain(value: Any) -> Any:
    """An attribute value without its type, if it has one."""
    match value:
        case {"S": text} | {"N": text}:
            return text
        case {"L": items}:
            return [_plain(item) for item in items]
        case {"M": members}:
            return {key: _plain(member) for key, member in members.items()}
        case {"NULL": True}:
            return None
        case _:
            return value


def _size(value: Mapping[str, Any]) -> int:
    match value:
        case {"S": text}:
            return len(text.encode())
        case {"L": items}:
            return 3 + sum(1 + _size(item) for item in items)
        case {"M": members}:
            return 3 + sum(1 + len(key.encode()) + _size(member) for key, member in members.items())
        case {"N": number}:
            return len(number) // 2 + 2
        case _:
            return 1
