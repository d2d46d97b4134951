"""From a call to what is to be done with it: the one road that every waiting function takes."""

import sys
from collections.abc import Callable, Mapping
from typing import Any, cast

from agent_wait import _identity
from agent_wait._answer import judge, wrapped_part
from agent_wait._canonical import encode, text_of, to_plain
from agent_wait._clock import Clock
from agent_wait._errors import QuestionError, QuestionTooLarge, WaitError
from agent_wait._framework import Framework
from agent_wait._known_types import MASK, REDACTED
from agent_wait._question import pack
from agent_wait._types import JSON

MAX_QUESTION_BYTES = 200 * 1024
_MAX_ERROR = 1_000
_MAX_ATTEMPTS = 10_000


class Named:
    """A question with what names it."""

    __slots__ = ("encoded", "fingerprint", "identity", "question")

    def __init__(self, question: JSON, encoded: str, identity: JSON, fingerprint: str) -> None:
        self.question = question
        self.encoded = encoded
        self.identity = identity
        self.fingerprint = fingerprint


class Given:
    """An answer that reached the call it names.

    Attributes:
        answer: As it was sent.
        edits: What an approval changes, converted; None when the answer is given back in the body's place.
        answered_by: Who gave it, as the host says.
        question_id: The id it was sent under; None when it was given by the framework's own means.
    """

    __slots__ = ("answer", "answered_by", "edits", "question_id")

    def __init__(
        self, answer: Any, edits: Mapping[str, Any] | None, answered_by: str | None, question_id: str | None
    ) -> None:
        self.answer = answer
        self.edits = edits
        self.answered_by = answered_by
        self.question_id = question_id


def name_question(framework: Framework, question: JSON, call_args: Mapping[str, Any]) -> Named:
    """Name a question that is plain already. Asks the framework for the call's identity, once."""
    encoded = encode(question)
    identity = framework.call_identity(question, call_args)
    return Named(question, encoded, identity, _identity.fingerprint(encoded, identity))


def check_size(named: Named) -> None:
    """Refuse a question that no carrier would take.

    Raises:
        QuestionTooLarge: Above 200 KiB of canonical JSON.
    """
    if len(named.encoded) * 4 <= MAX_QUESTION_BYTES or len(named.encoded.encode()) <= MAX_QUESTION_BYTES:
        return
    path = _largest(named.question)
    raise QuestionTooLarge(
        f"the question is {len(named.encoded.encode()):,} bytes of JSON, above {MAX_QUESTION_BYTES:,}; "
        "pass a reference (a key, a URL) and let the body load what it names",
        path,
    )


class Asker:
    """What is the same for every ask of one waiting function, or of `ask()` with one policy.

    Args:
        framework: Where the run is parked.
        policy: The packed policy.
        source: The packed source.
        clock: For `asked_at`, where the framework does not know.
        schema: The answer schema, asked for when something is to be parked.
    """

    def __init__(
        self,
        framework: Framework,
        policy: dict[str, JSON],
        source: dict[str, JSON],
        clock: Clock,
        schema: Callable[[], JSON],
    ) -> None:
        self._framework = framework
        self._policy = policy
        self._source = source
        self._clock = clock
        self._schema = schema

    def value(
        self,
        named: Named,
        call_args: Mapping[str, Any],
        *,
        attempt: int = 1,
        error: str | None = None,
        at: float | None = None,
    ) -> dict[str, JSON]:
        """The value to park on."""
        asked_at = at if at is not None else self._framework.asked_at(call_args)
        return pack(
            named.question,
            self._policy,
            self._source,
            fingerprint=named.fingerprint,
            attempt=attempt,
            asked_at=self._clock.now() if asked_at is None else asked_at,
            error=error,
            answer_schema=self._schema(),
            traceparent=current_traceparent(),
            call=named.identity,
        )

    def ask(
        self,
        named: Named,
        call_args: Mapping[str, Any],
        read: Callable[[Any], Mapping[str, Any] | None],
    ) -> Given:
        """Park, or come back with an answer that names this call and can be used.

        Args:
            named: The question.
            call_args: See `Framework`.
            read: The edits of an answer, None for one that is given back, or a `QuestionError` for one
                that cannot be used: the question is then asked again.
        """
        error: str | None = None
        at: float | None = None
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            value = self.value(named, call_args, attempt=attempt, error=error, at=at)
            reply = self._framework.interrupt(value, call_args)
            wrapped = wrapped_part(reply)
            at = None if wrapped is None else wrapped.get("at")
            if wrapped is not None and wrapped["fingerprint"] != named.fingerprint:
                error = "the answer was for another question"
                continue
            answer = reply if wrapped is None else wrapped["answer"]
            try:
                edits = read(answer)
            except QuestionError as unusable:
                error = text_of(str(unusable))[:_MAX_ERROR]
                continue
            if wrapped is None:
                return Given(answer, edits, None, None)
            return Given(answer, edits, wrapped.get("answered_by"), wrapped.get("question_id"))
        raise WaitError(
            f"{self._framework.name} gave {_MAX_ATTEMPTS} unusable answers to one question without parking"
        )


def usable_edits(
    answer: Any,
    shown: Mapping[str, JSON],
    convert: Callable[[Mapping[str, JSON]], Mapping[str, Any]],
) -> Mapping[str, Any] | None:
    """What an answer changes: the answer table of the contract, for a function without a decision.

    Args:
        answer: As it was sent.
        shown: The published arguments as they were published; empty with `question=`.
        convert: From JSON to what the function takes.

    Returns:
        The edits, empty for a plain approval; None when the body does not run.

    Raises:
        QuestionError: The answer cannot be used.
    """
    verdict = judge(answer)
    if verdict.does == "give":
        return None
    if verdict.does == "again":
        raise QuestionError(verdict.detail)
    if verdict.detail is None:
        return {}
    sent = cast("dict[str, JSON]", to_plain(verdict.detail, lenient=True))
    unknown = [name for name in sent if name not in shown]
    if unknown:
        raise QuestionError("is no argument that was shown", unknown[0])
    edits = {name: value for name, value in sent.items() if encode(value) != encode(shown[name])}
    for name, value in edits.items():
        _refuse_masks(value, shown[name], name)
    if not edits:
        return {}
    try:
        return convert(edits)
    except QuestionError:
        raise
    except Exception as error:
        raise QuestionError(f"the edits could not be read: {type(error).__name__}") from error


def _refuse_masks(value: JSON, shown: JSON, path: str) -> None:
    """Refuse an edit that would put a mask that was shown in the place of a secret."""
    masks = {mask for mask in (MASK, REDACTED) if _holds(shown, mask)}
    if any(_holds(value, mask) for mask in masks):
        raise QuestionError(
            "has a mask where a secret was: send it without any change, or all of it anew", path
        )


def _holds(value: JSON, text: str) -> bool:
    if isinstance(value, dict):
        return any(_holds(item, text) for item in value.values())
    if isinstance(value, list):
        return any(_holds(item, text) for item in value)
    return value == text


def current_traceparent() -> str | None:
    """The W3C trace context of the span that is current, when OpenTelemetry is in use."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None:
        return None
    context = trace.get_current_span().get_span_context()
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def _largest(question: JSON) -> str:
    args = question.get("args") if isinstance(question, dict) else None
    if not isinstance(args, dict) or not args:
        return "question"
    return f"args.{max(args, key=lambda name: len(encode(args[name]).encode()))}"
