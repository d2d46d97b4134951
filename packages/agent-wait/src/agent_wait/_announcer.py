"""The interface between an envelope and the place it is put."""

import inspect
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, runtime_checkable

from agent_wait._envelope import WaitEnvelope
from agent_wait._errors import AnnounceError
from agent_wait._fan_out import Job, afan_out
from agent_wait._types import JSON, Transition

UNKNOWN = "unknown, may have arrived"
"""What is to be said of an envelope that was sent, or may have been, and not confirmed."""

_log = logging.getLogger("agent_wait")
_TRANSITIONS = frozenset[Transition](("created", "resumed"))


@runtime_checkable
class AnnounceAdapter(Protocol):
    """Anything that can announce; it need not subclass `BaseAnnounce`.

    It may be called from several threads at once, none of which runs an event loop, and again with the same
    envelope, whose `dedupe_key` is then the same.
    """

    @property
    def name(self) -> str:
        """Who it is, in failures and logs."""
        ...

    def supports(self, transition: Transition) -> bool:
        """Whether it wants envelopes of this transition."""
        ...

    def announce(self, envelope: WaitEnvelope, transition: Transition) -> Exception | None:
        """Put the envelope where it belongs; returns what went wrong, and never raises.

        None means delivered. Whatever else is returned, or raised all the same, is a failure.
        """
        ...


class BaseAnnounce:
    """Write `deliver` and you have a conforming announcer.

    An announcer may be called from several threads at once, and twice with the same envelope; the
    envelope's `dedupe_key` is then the same. Override `deliver_many` for a backend with a batch call and
    `adeliver` for one with an async client: they make it faster, never different. A subclass that overrides
    `deliver` again is called through that, not through the faster ones it inherits.

    Give the backend's client timeouts: a call that never returns costs the host a thread, and after eight
    of them this announcer is no longer called. What goes wrong is for the host to read in `failures`; the
    log has the type of an error and never its message, which may hold anything.

    Attributes:
        name: Who it is, in failures and logs. The class's name, unless the class or the instance sets one.
        only: The transitions it wants; None for all.

    Args:
        only: The transitions it wants, such as `("created",)`; None for all.

    Raises:
        ValueError: `only` is empty or names an unknown transition.
    """

    name: str = ""
    only: frozenset[Transition] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in vars(cls):
            cls.name = cls.__name__

    def __init__(self, *, only: Iterable[Transition] | None = None) -> None:
        if only is not None:
            self.only = frozenset(only)
            if not self.only or not self.only <= _TRANSITIONS:
                raise ValueError(f'only= takes some of ("created", "resumed"), not {only!r}')

    def supports(self, transition: Transition) -> bool:
        """Whether this announcer wants envelopes of `transition`."""
        return self.only is None or transition in self.only

    def announce(self, envelope: WaitEnvelope, transition: Transition) -> Exception | None:
        """Deliver one envelope; log and return what went wrong instead of raising it.

        An envelope of a transition that it does not support is left alone. `KeyboardInterrupt`,
        `SystemExit` and `CancelledError` pass.
        """
        try:
            error = attempt(self, envelope, transition) if self.supports(transition) else None
        except Exception as raised:  # noqa: BLE001  # never raises, whatever `supports` does
            error = raised
        if error is not None:
            report_failure(name_of(self), envelope, error)
        return error

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        """Put one envelope where it belongs. The one method to write; raise freely."""
        raise NotImplementedError(f"{type(self).__name__} has no deliver()")

    def deliver_many(
        self, envelopes: Sequence[WaitEnvelope], transition: Transition
    ) -> Sequence[Exception | None]:
        """Deliver several in order; one entry an envelope, None for delivered.

        Raising says that what became of any of them is not known.
        """
        return [attempt(self, envelope, transition) for envelope in envelopes]

    async def adeliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        """As `deliver`, awaited. Only announcers that override it are awaited on the event loop.

        The default calls `deliver` on a thread of its own and never blocks the loop; cancelled, it leaves
        the thread to itself.
        """
        failed: list[Exception | None] = []
        job = Job(self, lambda _: failed.append(attempt(self, envelope, transition)), budget=None)
        await afan_out([job])
        error = failed[0] if job.error is None else job.error
        if error is not None:
            raise error


def name_of(announcer: object) -> str:
    """Its `name`, or its class's where that is no text."""
    try:
        name = getattr(announcer, "name", None)
    except Exception:  # noqa: BLE001  # it may be a property that raises
        name = None
    return name if isinstance(name, str) and name else type(announcer).__name__


def attempt(announcer: BaseAnnounce, envelope: WaitEnvelope, transition: Transition) -> Exception | None:
    """Deliver one envelope and return what went wrong."""
    deliver: Callable[[WaitEnvelope, Transition], object] = announcer.deliver
    try:
        result = deliver(envelope, transition)
    except Exception as error:  # noqa: BLE001  # the host reads it in `failures`
        return error
    return not_awaited(result, "deliver", "override adeliver instead")


def not_awaited(result: object, method: str, cure: str) -> Exception | None:
    """The error of a method that turned out to be `async`, so that calling it did nothing."""
    if not inspect.iscoroutine(result):
        return None
    result.close()
    return TypeError(f"{method} is async, so nothing was sent: {cure}")


def report_failure(announcer: str, envelope: WaitEnvelope, error: Exception) -> None:
    """One line at ERROR: who, which question, what kind of error; none of its text, nor the question's."""
    line: dict[str, JSON] = {
        "announcer": announcer,
        "error": type(error).__name__,
        "type": envelope.type,
        "thread_id": envelope.thread_id,
        "question_id": envelope.question_id,
        "dedupe_key": envelope.dedupe_key,
        "event_id": envelope.event_id,
    }
    if isinstance(error, AnnounceError):
        line["retryable"] = error.retryable
        error.announcer = error.announcer or announcer
    with suppress(Exception):  # a handler that raises must not turn a contained failure into one that is not
        _log.error("announce failed: %s", one_line(line))


def one_line(data: Mapping[str, JSON]) -> str:
    """JSON in printable ASCII: no id can break the line or steer a terminal."""
    return json.dumps(data)
