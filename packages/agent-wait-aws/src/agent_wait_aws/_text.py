"""JSON text that every AWS service carries unharmed."""

import re

# SQS takes the characters of XML 1.0 and refuses others with InvalidMessageContents (service model
# 2012-11-05, SendMessage); what SNS, EventBridge and Scheduler take ends in a queue more often than not.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def carried(json_text: str) -> str:
    r"""The same JSON with the characters that SQS refuses as `\uXXXX`."""
    return _FORBIDDEN.sub(lambda match: f"\\u{ord(match[0]):04x}", json_text)


def is_carried(text: str) -> bool:
    """Whether SQS takes the text as it is."""
    return _FORBIDDEN.search(text) is None
