"""The names that agent-wait makes of a framework, made of Strands."""

import functools
import inspect
import json
from collections.abc import Callable
from typing import Any, cast

from agent_wait import Wait, make_apublish_interrupts, make_publish_interrupts, make_wait

from strands_wait._call import call_in
from strands_wait._framework import StrandsFramework

_framework = StrandsFramework()
_wait = make_wait(_framework)

publish_interrupts = make_publish_interrupts(_framework)
apublish_interrupts = make_apublish_interrupts(_framework)


@functools.wraps(_wait)
def _wait_for_strands(policy: Any = None, **options: Any) -> Any:
    made = cast("Any", _wait)(policy, **options)
    if isinstance(made, (classmethod, staticmethod)) or hasattr(made, "__wrapped__"):
        return _guarded(made)
    return lambda function: _guarded(made(function))  # pyright: ignore[reportUnknownVariableType]  # a decorator


wait: Wait = cast("Wait", _wait_for_strands)


def _guarded(waiting: Any) -> Any:
    """The function, with an answer that Strands would take for a finished tool result as JSON text."""
    if isinstance(waiting, (classmethod, staticmethod)):
        wrapped = cast("Any", waiting)
        return type(wrapped)(_guarded(wrapped.__func__))
    body: Callable[..., Any]
    if inspect.iscoroutinefunction(waiting):

        async def guarded_async(*args: Any, **kwargs: Any) -> Any:
            return _as_text(await waiting(*args, **kwargs), args, kwargs)

        body = guarded_async
    else:

        def guarded(*args: Any, **kwargs: Any) -> Any:
            return _as_text(waiting(*args, **kwargs), args, kwargs)

        body = guarded
    functools.update_wrapper(body, waiting)
    cast("Any", body).__signature__ = inspect.signature(waiting)
    return body


def _as_text(result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not isinstance(result, dict) or not {"status", "content"} <= result.keys():
        return cast("Any", result)
    call = call_in((*args, *kwargs.values()))
    is_answer = call is not None and call.has_given(cast("object", result))
    return json.dumps(result, ensure_ascii=False) if is_answer else cast("Any", result)
