"""Agents of Pydantic AI and of Strands in the same world: a model asks for refunds, and tells the customer.

What they cannot promise is stated in `docs/frameworks.md`. Here it shows in this: nothing of a run of
Pydantic AI is stored before its end, so that there is one write to die at; to Strands an exception of a tool
is its result, so that no work of its agents is made to fail.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, RunContext
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_wait import PydanticAIAdapter
from pydantic_ai_wait import wait as wait_in_pydantic_ai
from strands import Agent as StrandsAgent
from strands import tool as strands_tool  # pyright: ignore[reportUnknownVariableType]  # of any schema
from strands.models.model import Model
from strands.session.file_session_manager import FileSessionManager
from strands_wait import StrandsAdapter
from strands_wait import wait as wait_in_strands

from faults.graphs import AMOUNT, OUTSIDE, POLICY, as_result
from faults.life import Life

ITEMS = "ABC"


class Store:
    """Rows by thread, each written as a whole or not at all."""

    def __init__(self, rows: dict[str, bytes], life: Life) -> None:
        self._rows, self._life = rows, life

    def load(self, thread_id: str) -> bytes | None:
        return self._rows.get(thread_id)

    def save(self, thread_id: str, data: bytes) -> None:
        with self._life.around("put"):
            self._rows[thread_id] = data


@wait_in_pydantic_ai(POLICY)
def _refund(ctx: RunContext[Any], run: str, item: str, amount: int) -> str:
    """Refund an item."""
    return OUTSIDE.get().pay(run, item, amount)


def _speak(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    run, results = "", dict[str, Any]()
    for message in messages:
        for part in message.parts if isinstance(message, ModelRequest) else ():
            if isinstance(part, UserPromptPart):
                run, results = str(part.content), {}
            elif isinstance(part, ToolReturnPart):
                results[part.tool_call_id.removeprefix("call_")] = part.content
    if results:
        OUTSIDE.get().tell(run, results)
        return ModelResponse(parts=[TextPart("done")])
    return ModelResponse(
        parts=[
            ToolCallPart("_refund", {"run": run, "item": item, "amount": AMOUNT}, tool_call_id=f"call_{item}")
            for item in ITEMS
        ]
    )


_agent: Agent[Any, Any] = Agent(
    FunctionModel(_speak), tools=[_refund], output_type=[str, DeferredToolRequests]
)


def pydantic_ai(rows: dict[str, bytes], folder: Path, life: Life) -> Any:
    """An adapter on an agent of Pydantic AI."""
    return PydanticAIAdapter(_agent, Store(rows, life))


class MortalSessions(FileSessionManager):
    """Sessions in files, whose every write is one that the process may die of."""

    life: Life

    def create_message(self, *args: Any, **kwargs: Any) -> None:
        with self.life.around("writes"):
            super().create_message(*args, **kwargs)

    def update_message(self, *args: Any, **kwargs: Any) -> None:
        with self.life.around("writes"):
            super().update_message(*args, **kwargs)

    def update_agent(self, *args: Any, **kwargs: Any) -> None:
        with self.life.around("put"):
            super().update_agent(*args, **kwargs)


@strands_tool(context=True)
@wait_in_strands(POLICY)
def refund(run: str, item: str, amount: int) -> str:
    """Refund an item."""
    return OUTSIDE.get().pay(run, item, amount)


class Script(Model):
    """The model of the Strands agents."""

    def update_config(self, **model_config: Any) -> None:
        """There is none."""

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        run, results = _read(messages)
        yield {"messageStart": {"role": "assistant"}}
        if results:
            OUTSIDE.get().tell(run, results)
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": "done"}}}
            yield {"contentBlockStop": {}}
        else:
            for item in ITEMS:
                call = {"name": "refund", "toolUseId": f"call_{item}"}
                given = f'{{"run": "{run}", "item": "{item}", "amount": {AMOUNT}}}'
                yield {"contentBlockStart": {"start": {"toolUse": call}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": given}}}}
                yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if results else "tool_use"}}


def _read(messages: Sequence[Mapping[str, Any]]) -> tuple[str, dict[str, Any]]:
    run, results = "", dict[str, Any]()
    for message in messages:
        for block in message["content"]:
            if message["role"] == "user" and "text" in block:
                run, results = block["text"], {}
            elif "toolResult" in block:
                found = block["toolResult"]
                name = found["toolUseId"].removeprefix("call_")
                results[name] = as_result(found["content"][0]["text"])
    return run, results


def strands(rows: dict[str, bytes], folder: Path, life: Life) -> Any:
    """An adapter on agents of Strands."""

    def make_agent(thread_id: str) -> StrandsAgent:
        MortalSessions.life = life
        sessions = MortalSessions(session_id=thread_id, storage_dir=str(folder))
        return StrandsAgent(model=Script(), tools=[refund], callback_handler=None, session_manager=sessions)

    return StrandsAdapter(make_agent)


OTHERS = {"pydantic_ai": pydantic_ai, "strands": strands}
"""What makes an adapter for one life of a process, by the framework."""
