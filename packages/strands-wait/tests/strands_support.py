"""Agents of Strands on scripted models, with sessions in files, for the tests."""

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_wait import InMemoryAnnounce, Question, WaitPublisher
from strands import Agent
from strands.models.model import Model
from strands.session.file_session_manager import FileSessionManager
from strands_wait import StrandsAdapter, StrandsFramework

Turn = str | Sequence[tuple[str, str, Mapping[str, Any]]]

APPROVE = {"action": "approve"}
REJECT = {"action": "reject", "reason": "no"}
START = {"thread_id": "t-1", "input": "hi", "start_id": "s-1"}


class Script(Model):
    """Says one turn after the other: a text, or tool calls as `(name, id, args)`.

    Which turn it is at is told by the assistant's messages, so that a fresh process goes on where the last
    one stopped.
    """

    def __init__(self, *turns: Turn) -> None:
        self.turns = turns
        self.asked = 0

    def update_config(self, **model_config: Any) -> None:
        """There is none."""

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        self.asked += 1
        turn = self.turns[sum(message["role"] == "assistant" for message in messages)]
        yield {"messageStart": {"role": "assistant"}}
        if isinstance(turn, str):
            yield {"contentBlockStart": {"start": {}}}
            yield {"contentBlockDelta": {"delta": {"text": turn}}}
            yield {"contentBlockStop": {}}
        else:
            for name, call, args_of_call in turn:
                yield {"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": call}}}}
                yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(args_of_call)}}}}
                yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if isinstance(turn, str) else "tool_use"}}


def make_agent(tools: Sequence[Any], *turns: Turn, **options: Any) -> Agent:
    return Agent(model=Script(*turns), tools=list(tools), callback_handler=None, **options)


class Host:
    """A host with a session a thread under `folder`; a fresh agent for every message, as after a restart."""

    def __init__(self, folder: Path, tools: Sequence[Any], *turns: Turn, **options: Any) -> None:
        self.folder, self.tools, self.turns, self.options = folder, tools, turns, options
        self.announced = InMemoryAnnounce()
        self.adapter = StrandsAdapter(self.agent)
        self.publisher = WaitPublisher(self.adapter, announce=self.announced)
        self.handle = self.publisher.handle

    def agent(self, thread_id: str) -> Agent:
        manager = FileSessionManager(session_id=thread_id, storage_dir=str(self.folder))
        return make_agent(self.tools, *self.turns, session_manager=manager, **self.options)

    def restarted(self) -> "Host":
        return Host(self.folder, self.tools, *self.turns, **self.options)

    def reply(self, answer: Any, place: int = -1) -> dict[str, Any]:
        return {**self.announced.of("created")[place].reply_with, "answer": answer}

    def open_questions(self) -> list[Question]:
        return self.publisher.pending("t-1")

    def returns(self) -> dict[str, str]:
        return returns_in(self.agent("t-1").messages)


def questions_in(result: Any) -> list[Question]:
    return [Question.unpack(*found) for found in StrandsFramework().interrupts_in(result)]


def returns_in(messages: Any) -> dict[str, str]:
    """The text that each tool call returned to the model, by its id."""
    return {
        block["toolResult"]["toolUseId"]: block["toolResult"]["content"][0]["text"]
        for message in messages
        for block in message["content"]
        if "toolResult" in block
    }


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    tool: Any = function
    return tool.tool_spec["inputSchema"]["json"]
