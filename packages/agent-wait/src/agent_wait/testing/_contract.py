"""What all contract suites are: tests that nobody passes by rewriting them."""

import functools
import sys
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

AWAITED = "_when_awaited"
"""How the name of a rule's test ends that awaits what another calls."""


class Contract:
    """A suite, to be subclassed in a test module.

    An inherited test can be overridden by one that pytest expects to fail, `@pytest.mark.xfail(strict=True,
    reason="...")`, and by no other.

    Raises:
        TypeError: Where a subclass is defined that overrides a test, or has a limit that names none or has no
            reason.
    """

    cannot: ClassVar[Mapping[str, str]] = {}
    """The tests that are expected to fail, by name, each with the reason; one that passes all the same fails.

    A name without `_when_awaited` stands for both tests of a rule.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, value in list(vars(cls).items()):
            if name.startswith("test_") and _inherits(cls, name) and not _is_expected_to_fail(value):
                raise TypeError(f"{cls.__name__} overrides {name}: declare it in `cannot`, with the reason")
        for name, reason in vars(cls).get("cannot", {}).items():
            tests = [one for one in (name, name + AWAITED) if hasattr(cls, one)]
            if not tests or not reason:
                raise TypeError(f"{cls.__name__} cannot {name!r}: it is no test, or has no reason")
            for test in tests:
                setattr(cls, test, _expecting_failure(getattr(cls, test), reason))


def _inherits(cls: type, name: str) -> bool:
    return any(name in vars(base) for base in cls.__mro__[1:])


def _is_expected_to_fail(test: object) -> bool:
    marks: list[Any] = getattr(test, "pytestmark", [])
    return any(
        mark.name == "xfail" and mark.kwargs.get("strict") is True and mark.kwargs.get("reason")
        for mark in marks
    )


def _expecting_failure(test: Callable[[Any], None], reason: str) -> Callable[[Any], None]:
    @functools.wraps(test)
    def run(self: Any) -> None:
        try:
            test(self)
        except Exception:  # noqa: BLE001  # a limit may show in any way
            if "pytest" in sys.modules:
                sys.modules["pytest"].xfail(reason)
            return
        raise AssertionError(f"it can: take {test.__name__} out of `cannot` ({reason})")

    return run
