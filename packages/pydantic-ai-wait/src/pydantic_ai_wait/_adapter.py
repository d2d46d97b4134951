"""`PydanticAIAdapter`: an agent, as `WaitPublisher` drives it."""

import asyncio
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agent_wait import JSON, Clock, Question, QuestionClosed, SystemClock, Taken, ThreadState, ask_id
from pydantic_ai import DeferredToolRequests, DeferredToolResults
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.run import AgentRunResult

from pydantic_ai_wait._deferred import combine, questions_of, unusable
from pydantic_ai_wait._row import Row, Store

_STARTS = "agent_wait_starts"
_GIVEN_AT = "given_at"
_KEPT = ("thread_id", "question_id", "ask_id", "fingerprint", "answer", "answered_by")


@dataclass(frozen=True, slots=True)
class _Resume:
    message: Mapping[str, Any]
    question: Question


class _Continue:
    """Run once more with the answers that the run failed on."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one `invoke` does: a run, or keeping an answer. `row` is what is stored if the run raises."""

    row: Row
    runs: bool
    arguments: Mapping[str, Any]


class PydanticAIAdapter:
    """An agent whose threads are kept in a store of the host's.

    History, requests, answers that wait for others and start ids of a thread are one document, written once
    after each run. Pydantic AI itself keeps nothing: what a run did before it died is done again when its
    message comes again, approved bodies with the same `idempotency_key`.

    Args:
        agent: With `DeferredToolRequests` among its output types.
        store: `load(thread_id) -> bytes | None` and `save(thread_id, data)`, which replaces atomically. Both
            are called on a worker thread by the async methods.
        deps: The agent's dependencies, for every run.
        clock: For when an answer was given. None: the machine's.

    Raises:
        ValueError: The agent could not stop on a question.
    """

    name = "pydantic-ai"

    def __init__(
        self, agent: AbstractAgent[Any, Any], store: Store, *, deps: Any = None, clock: Clock | None = None
    ) -> None:
        if not _has_requests(agent.output_type):
            raise ValueError(
                "the agent could not stop on a question: Agent(..., output_type=[str, DeferredToolRequests])"
            )
        self._agent = agent
        self._store = store
        self._deps = deps
        self._clock = clock or SystemClock()

    def config_for(self, thread_id: str, starts: Sequence[str] = ()) -> Mapping[str, Any]:
        """The thread and its start ids; whatever else a host adds goes to `agent.run` by keyword."""
        return {"thread_id": thread_id, _STARTS: tuple(starts)}

    def state(self, thread_id: str) -> ThreadState:
        """What the thread is, from the store."""
        return _state(Row.from_bytes(self._store.load(thread_id)))

    async def astate(self, thread_id: str) -> ThreadState:
        """As `state`, awaited."""
        return _state(Row.from_bytes(await asyncio.to_thread(self._store.load, thread_id)))

    def invoke(self, value: Any, config: Mapping[str, Any]) -> AgentRunResult[Any] | None:
        """Run the agent and store the thread; None when the answer is kept until the others are in.

        Args:
            value: A prompt, a `DeferredToolResults` of the host's own, or what this adapter made.
            config: See `config_for`.

        Raises:
            QuestionClosed: The question is no longer open; nothing was run.
        """
        thread_id = config["thread_id"]
        plan = self._plan(value, config, Row.from_bytes(self._store.load(thread_id)))
        result: AgentRunResult[Any] | None = None
        if plan.runs:
            try:
                result = self._agent.run_sync(**plan.arguments)
            except Exception:
                if plan.row.failed:
                    self._store.save(thread_id, plan.row.to_bytes())
                raise
        self._store.save(thread_id, _after(plan, result).to_bytes())
        return result

    async def ainvoke(self, value: Any, config: Mapping[str, Any]) -> AgentRunResult[Any] | None:
        """As `invoke`, awaited."""
        thread_id = config["thread_id"]
        stored = await asyncio.to_thread(self._store.load, thread_id)
        plan = self._plan(value, config, Row.from_bytes(stored))
        result: AgentRunResult[Any] | None = None
        if plan.runs:
            try:
                result = await self._agent.run(**plan.arguments)
            except Exception:
                if plan.row.failed:
                    await asyncio.to_thread(self._store.save, thread_id, plan.row.to_bytes())
                raise
        await asyncio.to_thread(self._store.save, thread_id, _after(plan, result).to_bytes())
        return result

    def resume_value(
        self, message: Mapping[str, Any], question: Question, *, taken: Taken | None = None
    ) -> Any:
        """What `invoke` takes to give the message's answer to the question."""
        del taken
        kept = {name: message[name] for name in _KEPT if message.get(name) is not None or name == "answer"}
        return _Resume({**kept, _GIVEN_AT: self._clock.now()}, question)

    def continue_value(self) -> Any:
        """What `invoke` takes to run once more with the answers that a run failed on."""
        return _Continue()

    def refusal(self, question: Question, answer: JSON) -> str | None:
        """Why a tool that never heard of us could not be given this answer; a wait asks again instead."""
        return unusable(question, answer)

    def _plan(self, value: Any, config: Mapping[str, Any], stored: Row | None) -> _Plan:
        thread_id, starts = config["thread_id"], tuple(config.get(_STARTS, ()))
        row = replace(stored or Row(), starts=starts)
        arguments = {key: config[key] for key in config if key not in ("thread_id", _STARTS)}
        arguments["conversation_id"] = thread_id
        if row.history:
            arguments["message_history"] = list(row.history)
        if self._deps is not None:
            arguments.setdefault("deps", self._deps)
        if isinstance(value, DeferredToolResults):
            return _Plan(row, True, {**arguments, "deferred_tool_results": value})
        if not isinstance(value, _Resume | _Continue):
            return _Plan(row, True, {**arguments, "user_prompt": value})
        inbox = _inbox(value, row, thread_id)
        answers = combine(
            inbox,
            row.requests or DeferredToolRequests(),
            row.history,
            given_at=lambda message: message[_GIVEN_AT],
        )
        row = replace(row, inbox=tuple(inbox), failed=not answers.missing)
        return _Plan(row, not answers.missing, {**arguments, "deferred_tool_results": answers.results})


def _inbox(value: _Resume | _Continue, row: Row, thread_id: str) -> list[Mapping[str, Any]]:
    """The inbox with one more answer, which takes the place of one that a run failed on."""
    if isinstance(value, _Continue):
        if not row.inbox:
            raise QuestionClosed("there is nothing to go on with")
        return list(row.inbox)
    asked = value.question
    stands = questions_of(row.requests, row.history).get(asked.id) if row.requests else None
    if stands is None or ask_id(thread_id, stands) != ask_id(thread_id, asked):
        raise QuestionClosed("the question is no longer open")
    others = [message for message in row.inbox if message["question_id"] != asked.id]
    if len(others) < len(row.inbox) and not row.failed:
        raise QuestionClosed("the question has been answered")
    return [*others, value.message]


def _after(plan: _Plan, result: AgentRunResult[Any] | None) -> Row:
    if result is None:
        return plan.row
    output = result.output
    requests = output if isinstance(output, DeferredToolRequests) else None
    answered = {} if plan.row.requests is None else questions_of(plan.row.requests, plan.row.history)
    return Row(
        history=tuple(result.all_messages()),
        requests=requests,
        starts=plan.row.starts,
        closed={name: question.pack() for name, question in answered.items()},
    )


def _state(row: Row | None) -> ThreadState:
    if row is None:
        return ThreadState(known=False)
    questions = {} if row.requests is None else questions_of(row.requests, row.history)
    answered = {message["question_id"]: message for message in row.inbox}
    kept = {} if row.failed else answered
    return ThreadState(
        known=True,
        pending=tuple(question for question in questions.values() if question.id not in kept),
        starts=row.starts,
        kept=tuple(question for question in questions.values() if question.id in kept),
        closed=tuple(Question.unpack(name, packed) for name, packed in row.closed.items()),
        taken={
            name: Taken(answer=message["answer"], resume_id=name)
            for name, message in answered.items()
            if row.failed and name in questions
        },
    )


def _has_requests(output_type: Any) -> bool:
    """Whether an output type, a list of them or a union has `DeferredToolRequests`."""
    if isinstance(output_type, (list, tuple)):
        return any(_has_requests(one) for one in output_type)  # pyright: ignore[reportUnknownVariableType]  # of any type
    return output_type is DeferredToolRequests or any(
        _has_requests(one) for one in typing.get_args(output_type)
    )
