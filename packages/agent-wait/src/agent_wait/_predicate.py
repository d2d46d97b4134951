"""The callables that an author hands to `wait`: `when` and `question`."""

import inspect
from collections.abc import Callable, Sequence

from agent_wait._signature import Call


class Predicate:
    """A callable that is given a call's arguments by keyword, with their real values.

    Args:
        function: Takes any of `names` by keyword.
        role: What to call it in errors: `when` or `question`.
        names: Every parameter of the waiting function that may be asked for.
        published: Those that `**kwargs` receives.

    Raises:
        TypeError: It could not be called like that.
    """

    def __init__(
        self, function: Callable[..., object], role: str, names: Sequence[str], published: Sequence[str]
    ) -> None:
        if not callable(function):
            raise TypeError(f"{role}= is a callable that takes the arguments by keyword")
        if role == "question" and inspect.iscoroutinefunction(function):
            raise TypeError("question= is a plain function: nobody awaits it")
        self._function = function
        self._names = _accepted(function, role, names, published)

    def __call__(self, call: Call) -> object:
        return self._function(**{name: call.call_args[name] for name in self._names})

    def is_not_false(self, call: Call) -> bool:
        """Whether a question is to be asked: anything but exactly False, or raising, asks."""
        given = call.call_args
        try:
            said = self._function(**{name: given[name] for name in self._names})
        except Exception:  # noqa: BLE001  # a predicate that cannot tell must not let a call through
            return True
        if said is False:
            return False
        if inspect.iscoroutine(said):
            said.close()
        return True

    async def is_not_false_async(self, call: Call) -> bool:
        """As `is_not_false`, for predicates that may be async."""
        try:
            said = self(call)
            if inspect.isawaitable(said):
                said = await said
        except Exception:  # noqa: BLE001  # as above
            return True
        return said is not False


def _accepted(
    function: Callable[..., object], role: str, names: Sequence[str], published: Sequence[str]
) -> tuple[str, ...]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (ValueError, TypeError):
        return tuple(published)
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        accepted = {*published, *(p.name for p in parameters)}
    else:
        accepted = {p.name for p in parameters}
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(f"{role}= is called by keyword; {parameter.name!r} is positional-only")
        if parameter.name not in names and parameter.default is parameter.empty:
            raise TypeError(f"{role}= asks for {parameter.name!r}, which the function does not have")
    return tuple(name for name in names if name in accepted)
