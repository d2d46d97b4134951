"""Envelopes to announcers, side by side, with everything that went wrong on the way."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from threading import TIMEOUT_MAX
from typing import Any, TypeAlias, cast, final

from agent_wait._announcer import (
    UNKNOWN,
    AnnounceAdapter,
    BaseAnnounce,
    attempt,
    name_of,
    not_awaited,
    report_failure,
)
from agent_wait._envelope import WaitEnvelope
from agent_wait._errors import AnnounceError, AnnounceFailed
from agent_wait._fan_out import Job, afan_out, fan_out
from agent_wait._publication import Failure, Publication
from agent_wait._types import Transition

Announce: TypeAlias = AnnounceAdapter | Iterable[AnnounceAdapter]
"""What every `announce=` takes."""


def deliver(
    envelopes: Sequence[WaitEnvelope], transition: Transition, announce: Announce, budget: float = 10.0
) -> Publication:
    """Hand ready envelopes to every announcer and wait for at most `budget` seconds.

    Raises:
        TypeError: Something in `announce` is no announcer.
        ValueError: `budget` is not a positive number of seconds.
    """
    envelopes = tuple(envelopes)  # which no announcer can take anything out of
    lanes = _lanes(envelopes, transition, announce, budget)
    fan_out([lane.job for lane in lanes])
    return _publication(envelopes, lanes)


async def adeliver(
    envelopes: Sequence[WaitEnvelope], transition: Transition, announce: Announce, budget: float = 10.0
) -> Publication:
    """As `deliver`, awaited; announcers with an `adeliver` of their own run on the event loop."""
    envelopes = tuple(envelopes)
    lanes = _lanes(envelopes, transition, announce, budget)
    await afan_out([lane.job for lane in lanes])
    return _publication(envelopes, lanes)


def as_announcers(announce: Announce) -> tuple[AnnounceAdapter, ...]:
    """One announcer or several, as a tuple.

    Raises:
        TypeError: Something among them is no announcer.
    """
    if _announces(announce):
        return (cast("AnnounceAdapter", announce),)
    if isinstance(announce, str | bytes | type) or not isinstance(announce, Iterable):
        raise TypeError(f"announce= takes an announcer or a sequence of them, not {_described(announce)}")
    several = tuple(announce)
    for one in several:
        if not _announces(one):
            raise TypeError(f"{_described(one)} is no announcer: it needs name, supports() and announce()")
    return several


def checked_budget(budget: float) -> float:
    """The budget, if it is one.

    Raises:
        ValueError: It is not a positive, finite number of seconds.
    """
    if not 0 < budget <= TIMEOUT_MAX:
        raise ValueError(f"budget is a positive number of seconds, not {budget!r}")
    return budget


@final
class CompositeAnnounce(BaseAnnounce):
    """Several announcers as one, called side by side.

    In a publish each of them counts as if it were listed itself, also in `failures`.

    Args:
        announcers: Nested composites flatten.
        budget: Seconds that each may take, if the publish has not fewer.
        only: The transitions that any of them is given; None for all.

    Raises:
        TypeError: Something among them is no announcer.
        ValueError: `budget` is not a positive number of seconds.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        raise TypeError("a publish takes a composite apart, so what a subclass overrides would not be called")

    def __init__(
        self,
        announcers: Iterable[AnnounceAdapter],
        *,
        budget: float = 10.0,
        only: Iterable[Transition] | None = None,
    ) -> None:
        super().__init__(only=only)
        self.announcers: tuple[AnnounceAdapter, ...] = as_announcers(announcers)
        self.budget: float = checked_budget(budget)

    def announce(self, envelope: WaitEnvelope, transition: Transition) -> Exception | None:
        """Announce through all; returns the one error, or an `AnnounceFailed` of several."""
        return self.deliver_many([envelope], transition)[0]

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        """Deliver through all; raises the one error, or an `AnnounceFailed` of several."""
        error = self.announce(envelope, transition)
        if error is not None:
            raise error

    def deliver_many(
        self, envelopes: Sequence[WaitEnvelope], transition: Transition
    ) -> Sequence[Exception | None]:
        """Deliver all through all."""
        return _joined(deliver(envelopes, transition, self, self.budget))

    async def adeliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        """As `deliver`, awaited."""
        error = _joined(await adeliver([envelope], transition, self, self.budget))[0]
        if error is not None:
            raise error


class _Lane:
    """What one announcer does in one publish: its envelopes one after the other, or in one batch."""

    def __init__(
        self,
        announcer: AnnounceAdapter,
        envelopes: Sequence[WaitEnvelope],
        transition: Transition,
        budget: float,
    ) -> None:
        self.announcer: Any = announcer
        self.envelopes = envelopes
        self.transition: Transition = transition
        self.budget = budget
        self.entries: list[Exception | None] = []
        kind = type(announcer)  # not its `__class__`, which a proxy or a mock has of what it stands for
        ours = issubclass(kind, BaseAnnounce) and kind.announce is BaseAnnounce.announce
        self.one = attempt if ours else _announced
        self.batch = ours and len(envelopes) > 1 and _is_faster(kind, "deliver_many")
        awaited = ours and not self.batch and _is_faster(kind, "adeliver")
        self.job = Job(announcer, self._run, self._arun if awaited else None, budget=budget)

    def _run(self, job: Job) -> None:
        if not self.announcer.supports(self.transition):
            self.entries = [None] * len(self.envelopes)
        elif self.batch:
            self.entries = _checked(
                self.announcer.deliver_many(self.envelopes, self.transition), len(self.envelopes)
            )
        else:
            for envelope in self.envelopes:
                if job.abandoned:
                    return
                self.entries.append(self.one(self.announcer, envelope, self.transition))

    async def _arun(self) -> None:
        if not self.announcer.supports(self.transition):
            self.entries = [None] * len(self.envelopes)
            return
        for envelope in self.envelopes:
            if self.job.abandoned:  # and the announcer would not be cancelled
                return
            try:
                await self.announcer.adeliver(envelope, self.transition)
            except Exception as error:  # noqa: BLE001  # the host reads it in `failures`
                self.entries.append(error)
            else:
                self.entries.append(None)

    def failures(self) -> Iterator[Failure]:
        """What was not delivered, as far as is known now; reported as it is named."""
        name, error = name_of(self.announcer), self.job.error
        entries = list(self.entries)  # one that was abandoned may still be adding to them
        for index, envelope in enumerate(self.envelopes):
            if index < len(entries):
                entry = entries[index]
            elif error is None:
                entry = AnnounceError(f"no answer within {self.budget:g} s: {UNKNOWN}")
            else:
                entry = error
            if isinstance(entry, Exception):
                report_failure(name, envelope, entry)
                yield Failure(name, envelope, entry)


def _lanes(
    envelopes: Sequence[WaitEnvelope], transition: Transition, announce: Announce, budget: float
) -> list[_Lane]:
    leaves = _leaves(as_announcers(announce), transition, checked_budget(budget))
    return [_Lane(announcer, envelopes, transition, seconds) for announcer, seconds in leaves if envelopes]


def _leaves(
    several: Iterable[AnnounceAdapter], transition: Transition, budget: float
) -> Iterator[tuple[AnnounceAdapter, float]]:
    for announcer in several:
        if type(announcer) is not CompositeAnnounce:
            yield announcer, budget
        elif announcer.supports(transition):
            yield from _leaves(announcer.announcers, transition, min(budget, announcer.budget))


def _publication(envelopes: Sequence[WaitEnvelope], lanes: Sequence[_Lane]) -> Publication:
    failures = [failure for lane in lanes for failure in lane.failures()]
    for lane in lanes:
        if lane.job.error is not None and not isinstance(lane.job.error, Exception):
            raise lane.job.error  # KeyboardInterrupt, SystemExit, CancelledError pass
    return Publication(envelopes, failures)


def _announced(
    announcer: AnnounceAdapter, envelope: WaitEnvelope, transition: Transition
) -> Exception | None:
    """Announce through something that may not keep to the rule that it never raises."""
    announce: Callable[[WaitEnvelope, Transition], object] = announcer.announce
    try:
        result = announce(envelope, transition)
    except Exception as error:  # noqa: BLE001  # contained, whatever it is
        return error
    return not_awaited(result, "announce", "subclass BaseAnnounce and write adeliver") or _entry(result)


def _checked(result: object, count: int) -> list[Exception | None]:
    """One entry an envelope, whatever `deliver_many` returned."""
    wrong = not_awaited(result, "deliver_many", "override adeliver instead")
    gave = f"a {type(result).__name__}"
    if wrong is None and isinstance(result, Sequence):
        entries = cast("Sequence[object]", result)
        if len(entries) == count:
            return [_entry(entry) for entry in entries]
        gave = f"{len(entries)}"
    return [wrong or AnnounceError(f"deliver_many owes {count} entries, gave {gave}: {UNKNOWN}")] * count


def _entry(result: object) -> Exception | None:
    if result is None or isinstance(result, Exception):
        return result
    return TypeError(f"an announcer returns None or an exception, not {type(result).__name__}: {UNKNOWN}")


def _joined(publication: Publication) -> list[Exception | None]:
    errors: dict[int, list[Exception]] = {id(envelope): [] for envelope in publication}
    for failure in publication.failures:
        errors[id(failure.envelope)].append(failure.error)
    return [_one_of(errors[id(envelope)]) for envelope in publication]


def _one_of(errors: Sequence[Exception]) -> Exception | None:
    if len(errors) > 1:
        return AnnounceFailed(f"{len(errors)} announcers failed", errors)
    return errors[0] if errors else None


def _is_faster(kind: type, method: str) -> bool:
    """Whether the class overrides `method` no further up than `deliver`, which it must agree with."""
    first = next(base for base in kind.__mro__ if not vars(base).keys().isdisjoint((method, "deliver")))
    return method in vars(first) and first is not BaseAnnounce


def _announces(value: object) -> bool:
    methods = (getattr(value, name, None) for name in ("supports", "announce"))
    return not isinstance(value, type) and all(map(callable, methods))


def _described(value: object) -> str:
    return f"the class {value.__name__} (make one first)" if isinstance(value, type) else type(value).__name__
