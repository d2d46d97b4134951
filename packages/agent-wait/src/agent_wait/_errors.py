"""Every error that agent-wait raises on purpose.

WaitError
├── PolicyError (ValueError)        a `WaitPolicy` that cannot be meant
├── QuestionError (ValueError)      a question that cannot be published; `.path` says which part
│   └── QuestionTooLarge            above 200 KiB; `.path` names the largest argument
├── QuestionClosed                  the framework says that the question is no longer open
├── AnnounceError                   an announcer failed; `.announcer`, `.retryable`
└── AnnounceFailed (ExceptionGroup) several of those, from `Publication.raise_for_failures()`

Wrong arguments stay `TypeError` and `ValueError`.
"""

from collections.abc import Sequence
from typing import Any


class WaitError(Exception):
    """The base of everything that agent-wait raises on purpose."""


class PolicyError(WaitError, ValueError):
    """A policy that contradicts itself or cannot be meant, raised where it is written."""


class QuestionError(WaitError, ValueError):
    """A question that cannot be published as it is.

    Attributes:
        path: Where in the question, such as `args.order.items[3]`; empty for the whole.
    """

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path


class QuestionTooLarge(QuestionError):
    """A question above 200 KiB of canonical JSON; `path` names the largest argument."""


class QuestionClosed(WaitError):
    """Raised by `FrameworkAdapter.invoke`: the question was open when read and no longer is.

    Nothing was run. `WaitPublisher` turns it into the outcome `already_answered`.
    """


class AnnounceError(WaitError):
    """What an announcer could not do.

    Attributes:
        announcer: The announcer's `name`.
        retryable: Whether the same publish may succeed later. A repeat is always harmless, since the
            `dedupe_key` is the same.
    """

    def __init__(self, message: str, *, announcer: str = "", retryable: bool = True) -> None:
        super().__init__(message)
        self.announcer = announcer
        self.retryable = retryable


class AnnounceFailed(WaitError, ExceptionGroup[Exception]):
    """All that went wrong in one publication, from `Publication.raise_for_failures()`."""

    def derive(self, excs: Sequence[Any]) -> "AnnounceFailed":
        """Keep the type when the group is split."""
        return AnnounceFailed(self.message, excs)
