"""Tags as message attributes of SNS and SQS, by rule and not by an error from AWS."""

import logging
import re
from collections.abc import Mapping

from agent_wait import WaitEnvelope

from agent_wait_aws._text import is_carried

MOST = 10
"""SQS quota; SNS hands a message with more to a raw-delivery queue's dead letters instead of the queue."""

# 1 to 256 of letters, digits, `_`, `-` and `.`, no `.` at either end or twice in a row, nothing that starts
# like AWS's own (SQS and SNS Developer Guides, "message attributes").
_NAME = re.compile(r"(?!aws\.|amazon\.)[a-z0-9_-]+(\.[a-z0-9_-]+)*", re.IGNORECASE | re.ASCII)
_TYPE = "String"

_log = logging.getLogger("agent_wait_aws")


def message_attributes(envelope: WaitEnvelope) -> dict[str, dict[str, str]]:
    """`type`, `thread_id` and the tags, sorted by name, as far as they can be attributes and there is room.

    What cannot be one is in the body all the same; a log line names it.
    """
    own = {"type": envelope.type, "thread_id": envelope.thread_id}
    chosen = {name: value for name, value in own.items() if _is_value(value)}
    left_out: list[str] = []
    for name, value in sorted(envelope.tags.items()):
        if name not in own and len(chosen) < MOST and _is_name(name) and _is_value(value):
            chosen[name] = value
        else:
            left_out.append(name)
    if left_out:
        _log.warning("tags %r of %r are in the body only", left_out, envelope.dedupe_key)
    return {name: {"DataType": _TYPE, "StringValue": value} for name, value in chosen.items()}


def attributes_size(attributes: Mapping[str, Mapping[str, str]]) -> int:
    """Bytes, as SNS and SQS count them: name, type and value."""
    return sum(
        len(name) + len(_TYPE) + len(value["StringValue"].encode()) for name, value in attributes.items()
    )


def _is_name(name: str) -> bool:
    return len(name) <= 256 and _NAME.fullmatch(name) is not None


def _is_value(value: object) -> bool:
    return isinstance(value, str) and value != "" and is_carried(value)
