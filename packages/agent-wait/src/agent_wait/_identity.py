"""What names a question, an ask, and an effect. See the table in `docs/message-formats.md`."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from agent_wait._canonical import encode, text_of, to_plain
from agent_wait._types import JSON, Transition

if TYPE_CHECKING:
    from agent_wait._question import Question


def digest(text: str) -> str:
    """64 hex digits of the SHA-256 of the text in UTF-8."""
    return _sha256()(text.encode()).hexdigest()


@cache
def _sha256() -> Callable[[bytes], Any]:
    from hashlib import sha256  # noqa: PLC0415  # it loads OpenSSL, a good part of what this import would cost

    return sha256


def fingerprint(encoded_question: str, call_identity: JSON) -> str:
    """Names the exact call: `sha256:` and the digest of `[question as published, call identity]`.

    Args:
        encoded_question: Canonical JSON of the question as published, so that a redacted value cannot be
            guessed from the fingerprint.
        call_identity: `Framework.call_identity`.
    """
    encoded_call = "null" if call_identity is None else encode(to_plain(call_identity))
    return f"sha256:{digest(f'[{encoded_question},{encoded_call}]')}"


def ask_id(thread_id: str, question: "Question") -> str:
    """Names one ask of a question: the id, and 16 hex digits that tell attempts and reused ids apart."""
    named = question.question if question.fingerprint is None else question.fingerprint
    return f"{text_of(question.id)}:{digest(encode([text_of(thread_id), named, question.attempt]))[:16]}"


def dedupe_key(transition: Transition, ask: str) -> str:
    """What a consumer deduplicates on."""
    return f"wait.{transition}:{ask}"


def idempotency_key(thread_id: str, scope: JSON, call_fingerprint: str) -> str:
    """Names the effect of one call, for whatever must not happen twice."""
    return digest(encode([text_of(thread_id), to_plain(scope), call_fingerprint]))


def async_question_id(thread_id: str, function: str, args: JSON) -> str:
    """The question's id in `mode="async"`, where no framework gives one."""
    return digest(encode([text_of(thread_id), function, args]))
