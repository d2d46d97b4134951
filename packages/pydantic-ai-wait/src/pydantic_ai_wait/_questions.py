"""From what a run stopped on to the values that are published and answered."""

from collections.abc import Iterator, Sequence
from typing import Any

from agent_wait import Question, WaitPolicy, canonical_json, fingerprint, to_plain
from pydantic_ai import DeferredToolRequests
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, UserPromptPart

from pydantic_ai_wait._record import KEY, Record, calls_of, identity, record_in, record_of, response_of


def parked_values(
    requests: DeferredToolRequests, history: Sequence[ModelMessage]
) -> dict[str, dict[str, Any]]:
    """The parked value of each request by its id, in the order of the calls.

    A call of a function that never heard of us is a bare question, `{"function", "args"}` and the metadata it
    was deferred with. The history names its turn: without it there is no fingerprint.
    """
    response = response_of(history)
    place = {part.tool_call_id: n for n, part in enumerate(calls_of(response))} if response else {}
    parts = sorted(
        (*requests.approvals, *requests.calls), key=lambda part: place.get(part.tool_call_id, len(place))
    )
    return {part.tool_call_id: _value(part, requests, response) for part in parts}


def record_for(
    requests: DeferredToolRequests, history: Sequence[ModelMessage], tool_call_id: str
) -> Record | None:
    """What is kept about a call: with the requests, or, where a host has lost that, in the history."""
    record = record_in(requests.metadata.get(tool_call_id))
    return record or record_of(response_of(history, tool_call_id), tool_call_id)


def requests_in(history: Sequence[ModelMessage]) -> DeferredToolRequests:
    """The open calls of a history that are ours; of others it does not tell what they wait for."""
    requests = DeferredToolRequests()
    for response, part in _open_calls(history):
        record = record_of(response, part.tool_call_id)
        if record is not None:
            requests.approvals.append(part)
            requests.metadata[part.tool_call_id] = {KEY: record.to_json()}
    return requests


def open_calls(history: Sequence[ModelMessage]) -> list[str]:
    """The ids of the calls at the end of a history that have no return, in order."""
    return [part.tool_call_id for _, part in _open_calls(history)]


def _open_calls(history: Sequence[ModelMessage]) -> Iterator[tuple[ModelResponse, ToolCallPart]]:
    response = response_of(history)
    if response is None:
        return
    after = history[next(n for n, message in enumerate(history) if message is response) + 1 :]
    parts = [part for message in after if isinstance(message, ModelRequest) for part in message.parts]
    if any(isinstance(part, UserPromptPart) for part in parts):
        return
    closed: set[Any] = {getattr(part, "tool_call_id", None) for part in parts}
    for part in calls_of(response):
        if part.tool_call_id not in closed:
            yield response, part


def _value(
    part: ToolCallPart, requests: DeferredToolRequests, response: ModelResponse | None
) -> dict[str, Any]:
    metadata = requests.metadata.get(part.tool_call_id)
    record = record_in(metadata) or record_of(response, part.tool_call_id)
    if record is not None:
        return dict(record.open)
    question: Any = {"function": part.tool_name, "args": part.args_as_dict()}
    if metadata:
        question["metadata"] = metadata
    plain = to_plain(question, lenient=True)
    is_approval = any(one.tool_call_id == part.tool_call_id for one in requests.approvals)
    actions = ("approve", "reject") if is_approval else ("resume",)
    if response is None:
        return Question(part.tool_call_id, plain, WaitPolicy(allowed_actions=actions)).pack()
    call = identity(response, part.tool_call_id)
    return Question(
        part.tool_call_id,
        plain,
        WaitPolicy(allowed_actions=actions),
        fingerprint=fingerprint(canonical_json(plain), call),
        asked_at=response.timestamp.timestamp(),
        call=call,
    ).pack()
