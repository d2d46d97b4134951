"""What AWS and botocore raise, as an `AnnounceError` that quotes nothing of the question."""

from collections.abc import Mapping
from typing import Any, cast

from agent_wait import AnnounceError

# Codes that are about what was sent: the same request is refused for ever, and the message that comes with
# them may quote it.
_REFUSED = frozenset(
    {
        "BatchRequestTooLong",
        "InvalidArgument",
        "InvalidAttributeValue",
        "InvalidMessageContents",
        "InvalidParameter",
        "InvalidParameterValue",
        "ItemCollectionSizeLimitExceededException",
        "MalformedDetail",
        "ParameterValueInvalid",
        "SerializationException",
        "ValidationError",
        "ValidationException",
    }
)


def code_of(error: BaseException) -> str:
    """The service's error code, without the namespace that SQS puts before some; empty when it has none."""
    return _short(str(_details(error).get("Code", "")))


def as_announce_error(error: Exception, announcer: str) -> AnnounceError:
    """The same failure, saying whose it is and whether a repeat may help."""
    if isinstance(error, AnnounceError):
        return error
    code = code_of(error)
    if code:
        wrapped = entry_error(code, str(_details(error).get("Message", "")), announcer)
    else:
        text, retryable = _describe(error)
        wrapped = AnnounceError(text, announcer=announcer, retryable=retryable)
    wrapped.__cause__ = error
    return wrapped


def entry_error(code: str, message: str, announcer: str) -> AnnounceError:
    """One entry of a batch that was not taken."""
    refused = _short(code) in _REFUSED
    reason = "refused as it is" if refused else message
    text = f"{code}: {reason}" if reason else code
    return AnnounceError(text or "failed, without a reason", announcer=announcer, retryable=not refused)


def batch_failures(reply: Mapping[str, Any], count: int, announcer: str) -> dict[int, Exception]:
    """The entries of an SNS or SQS batch, their places as ids, that the reply does not say were taken."""
    taken = {entry.get("Id") for entry in reply.get("Successful", ())}
    failed = {entry.get("Id"): entry for entry in reply.get("Failed", ())}
    failures: dict[int, Exception] = {}
    for place in range(count):
        if (entry := failed.get(str(place))) is not None:
            failures[place] = entry_error(entry.get("Code", ""), entry.get("Message", ""), announcer)
        elif str(place) not in taken:
            failures[place] = unconfirmed(announcer)
    return failures


def unconfirmed(announcer: str) -> AnnounceError:
    """An entry of which a reply of 200 says nothing."""
    return AnnounceError("not in the reply: unknown, may have arrived", announcer=announcer)


def too_large(size: int, limit: int, announcer: str) -> AnnounceError:
    """An envelope above what the service carries."""
    text = (
        f"{size} bytes, and at most {limit} are carried: store what is large and ask with a reference to it"
    )
    return AnnounceError(text, announcer=announcer, retryable=False)


def _short(code: str) -> str:
    return code.rpartition(".")[2]


def _details(error: BaseException) -> Mapping[str, Any]:
    """What a `ClientError` says, recognised by what it offers: an injected client may raise its own."""
    response: Any = getattr(error, "response", None)
    return cast(Mapping[str, Any], response).get("Error", {}) if isinstance(response, Mapping) else {}


def _describe(error: Exception) -> tuple[str, bool]:
    from botocore import exceptions  # noqa: PLC0415  # nothing of it is loaded before a client is

    kind = type(error).__name__
    match error:
        case exceptions.ReadTimeoutError() | exceptions.ConnectionClosedError():
            return f"{kind}: no reply, unknown whether it arrived", True
        case exceptions.ParamValidationError():
            return f"{kind}: refused as it is", False
        case exceptions.BotoCoreError():
            return f"{kind}: {error}", True
        case _:  # a TypeError or a UnicodeError may quote what it choked on
            return kind, False
