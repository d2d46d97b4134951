"""Agents of Pydantic AI on scripted models, and a store, for the tests."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from agent_wait import Question
from pydantic_ai import Agent, DeferredToolRequests, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel
from pydantic_ai_wait import PydanticAIFramework

Ctx = RunContext[Any]
Turn = str | Sequence[tuple[str, str, Mapping[str, Any]]]

APPROVE = {"action": "approve"}
REJECT = {"action": "reject", "reason": "no"}


class Script:
    """A model that says one turn after the other: a text, or tool calls as `(name, id, args)`.

    Which turn it is at is told by the responses in the history, so that a fresh process goes on where the
    last one stopped.
    """

    def __init__(self, *turns: Turn) -> None:
        self.turns = turns
        self.specs: dict[str, dict[str, Any]] = {}

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        turn = self.turn_after(messages, info)
        if isinstance(turn, str):
            return ModelResponse(parts=[TextPart(turn)])
        return ModelResponse(
            parts=[ToolCallPart(name, dict(args), tool_call_id=call) for name, call, args in turn]
        )

    def turn_after(self, messages: list[ModelMessage], info: AgentInfo) -> Turn:
        self.specs = {spec.name: spec.parameters_json_schema for spec in info.function_tools}
        return self.turns[sum(isinstance(message, ModelResponse) for message in messages)]

    async def stream(
        self, messages: list[ModelMessage], info: AgentInfo
    ) -> AsyncIterator[str | DeltaToolCalls]:
        turn = self.turn_after(messages, info)
        if isinstance(turn, str):
            yield turn
            return
        for place, (name, call, args) in enumerate(turn):
            yield {place: DeltaToolCall(name, json.dumps(args), tool_call_id=call)}


def make_agent(tools: Sequence[Callable[..., Any]], *turns: Turn, **options: Any) -> Agent[Any, Any]:
    script = Script(*turns)
    return Agent(
        FunctionModel(script, stream_function=script.stream),
        tools=list(tools),
        output_type=options.pop("output_type", [str, DeferredToolRequests]),
        **options,
    )


class MemoryStore:
    """Rows by thread, as a store keeps them; `saves` counts."""

    def __init__(self) -> None:
        self.rows: dict[str, bytes] = {}
        self.saves = 0
        self.fails = 0

    def load(self, thread_id: str) -> bytes | None:
        return self.rows.get(thread_id)

    def save(self, thread_id: str, data: bytes) -> None:
        if self.fails:
            self.fails -= 1
            raise OSError("the disk is full")
        self.saves += 1
        self.rows[thread_id] = data

    def read(self, thread_id: str) -> dict[str, Any]:
        return json.loads(self.rows[thread_id])


def questions_in(result: Any) -> list[Question]:
    return [Question.unpack(*found) for found in PydanticAIFramework().interrupts_in(result)]


def returns_in(messages: Sequence[ModelMessage]) -> dict[str, Any]:
    """What each tool call returned, by its id; the newest, where ids repeat."""
    return {
        part.tool_call_id: part.content
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
