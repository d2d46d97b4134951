"""What a finished run stopped on, from its return value, whatever call of Pydantic AI's made it."""

from collections.abc import Sequence
from typing import Any, cast

from pydantic_ai import DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.result import StreamedRunResult, StreamedRunResultSync
from pydantic_ai.run import AgentRun, AgentRunResult, AgentRunResultEvent

from pydantic_ai_wait._questions import parked_values, requests_in


def interrupts_in(result: Any) -> list[tuple[str, Any]]:
    """What a run stopped on: `(id, value)`, each once, in the order of the calls; `[]` when it ran through.

    Reads the result of `run` and `run_sync`; the run of `iter`, once it has ended; the last event of
    `run_stream_events`, or a list of its events; a history; a `DeferredToolRequests`, such as
    `await stream.get_output()`. From requests alone, without a history, calls of functions that never heard
    of us have no fingerprint; from a history alone, they are not told at all.

    Raises:
        TypeError: It is no result: a coroutine, a stream, a run that has not ended, or something else.
    """
    requests, history = read(result)
    return [] if requests is None else list(parked_values(requests, history).items())


def read(result: Any) -> tuple[DeferredToolRequests | None, list[ModelMessage]]:
    """The requests that a run ended with, if any, and its history.

    Raises:
        TypeError: See `interrupts_in`.
    """
    match result:
        case DeferredToolRequests():
            return result, []
        case AgentRunResult():
            return _of_run(cast("AgentRunResult[Any]", result))
        case AgentRunResultEvent():
            return _of_run(cast("AgentRunResultEvent[Any]", result).result)
        case AgentRun():
            ended = cast("AgentRun[Any, Any]", result).result
            if ended is None:
                raise TypeError("the run has not ended: iterate it to its end first")
            return _of_run(ended)
        case StreamedRunResult() | StreamedRunResultSync():
            raise TypeError("a streamed run is read with get_output(): hand on what that gives")
        case list() | tuple():
            return _of_sequence(cast("Sequence[Any]", result))
        case _:
            raise TypeError(f"{type(result).__name__} is no result of a Pydantic AI run")


def _of_run(result: AgentRunResult[Any]) -> tuple[DeferredToolRequests | None, list[ModelMessage]]:
    output = result.output
    return (output if isinstance(output, DeferredToolRequests) else None), result.all_messages()


def _of_sequence(items: Sequence[Any]) -> tuple[DeferredToolRequests | None, list[ModelMessage]]:
    if all(isinstance(item, (ModelRequest, ModelResponse)) for item in items):
        history = list(items)
        requests = requests_in(history)
        return (requests if requests.approvals else None), history
    for item in reversed(items):
        if isinstance(item, AgentRunResultEvent):
            return _of_run(cast("AgentRunResultEvent[Any]", item).result)
    raise TypeError("the list has neither messages nor the last event of a run")
