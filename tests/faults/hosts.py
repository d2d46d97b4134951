"""Hosts: one as the documentation has it, and ten that each make one well-known mistake."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from agent_wait import (
    AnnounceAdapter,
    BaseAnnounce,
    Clock,
    FrameworkAdapter,
    Outcome,
    Publication,
    ThreadState,
    WaitEnvelope,
    WaitPublisher,
    current_wait,
)
from agent_wait import _router as router
from agent_wait._question import Question
from agent_wait._types import Transition
from langgraph.pregel import Pregel
from langgraph_wait import LangGraphAdapter

Acknowledge = Callable[[Outcome], None]
HANG_BUDGET = 0.05
"""Seconds that announcing may take where a backend hangs on purpose."""


class Host:
    """Hands each message to `WaitPublisher.handle`, and acknowledges what its outcome says.

    Args:
        graph: The agent.
        announce: Where its questions go.
        clock: For deadlines.
        budget: Seconds that one round of announcing may take.
    """

    def __init__(
        self, graph: Any, announce: Sequence[AnnounceAdapter], clock: Clock, budget: float = 10.0
    ) -> None:
        self.graph = graph
        self.publisher = WaitPublisher(
            self.adapter(graph),
            announce=[self.announcer(each) for each in announce],
            clock=clock,
            budget=budget,
            late_answers="refuse",
        )

    def adapter(self, graph: Any) -> FrameworkAdapter:
        """What drives the agent; one of another framework comes with its adapter."""
        return LangGraphAdapter(graph) if isinstance(graph, Pregel) else graph

    def announcer(self, announcer: AnnounceAdapter) -> AnnounceAdapter:
        """What an announcer becomes in the hands of this host."""
        return announcer

    def receive(self, message: Any, sent_at: float, acknowledge: Acknowledge) -> Outcome:
        """Handle one delivery; an acknowledged message does not come again."""
        outcome = self.publisher.handle(message, sent_at=sent_at)
        if outcome.acknowledge:
            acknowledge(outcome)
        return outcome

    async def areceive(self, message: Any, sent_at: float, acknowledge: Acknowledge) -> Outcome:
        """As `receive`, awaited."""
        outcome = await self.publisher.ahandle(message, sent_at=sent_at)
        if outcome.acknowledge:
            acknowledge(outcome)
        return outcome

    def key(self) -> str:
        """Under what the body that runs now has its effect."""
        wait = current_wait()
        assert wait is not None
        return wait.idempotency_key


class AcknowledgesEarly(Host):
    """Takes the message off the queue, and then handles it."""

    def receive(self, message: Any, sent_at: float, acknowledge: Acknowledge) -> Outcome:
        acknowledge(Outcome("started", None, acknowledge=True))
        return self.publisher.handle(message, sent_at=sent_at)


class HealsOnlyOnAStart(Host):
    """Takes unfinished work up when its start comes again, and never on behalf of an answer."""

    def receive(self, message: Any, sent_at: float, acknowledge: Acknowledge) -> Outcome:
        if isinstance(message, Mapping) and "question_id" not in message:
            return super().receive(message, sent_at, acknowledge)
        with patch.object(router, "is_to_be_continued", lambda *_: False):
            return super().receive(message, sent_at, acknowledge)


class _ReadsNext(LangGraphAdapter):
    def state(self, thread_id: str) -> ThreadState:
        state = super().state(thread_id)
        after = self._graph.get_state(self.config_for(thread_id)).next
        return replace(state, unfinished=state.unfinished and bool(after))


class ReadsNextForUnfinishedWork(Host):
    """Takes a thread for finished when LangGraph's `next` is empty."""

    def adapter(self, graph: Any) -> FrameworkAdapter:
        return _ReadsNext(graph)


class _ForgetsStarts(LangGraphAdapter):
    def invoke(self, value: Any, config: Any) -> Any:
        if not isinstance(value, Mapping):
            config = {**config, "metadata": {}}
        return super().invoke(value, config)


class ForgetsTheStartIdOnAResume(Host):
    """Stores the start's id with the start alone."""

    def adapter(self, graph: Any) -> FrameworkAdapter:
        return _ForgetsStarts(graph)


class RepublishesByRunning(Host):
    """Runs the agent on its input again to learn what it waits on."""

    def receive(self, message: Any, sent_at: float, acknowledge: Acknowledge) -> Outcome:
        fields = _fields(message)
        if "input" in fields and "question_id" not in fields:
            outcome = self.publisher.invoke(fields["input"], fields["thread_id"])
            if outcome.acknowledge:
                acknowledge(outcome)
            return outcome
        return super().receive(message, sent_at, acknowledge)


class TrustsTheMessage(Host):
    """Takes an answer for the open question of that id, whatever else the message says of it."""

    def receive(self, message: Any, sent_at: float, acknowledge: Acknowledge) -> Outcome:
        fields = _fields(message)
        for question in self.publisher.pending(fields["thread_id"]) if _names_a_thread(fields) else ():
            if question.id == fields.get("question_id"):
                message = {**fields, **_names(question)}
        return super().receive(message, sent_at, acknowledge)


class SwallowsFailures(Host):
    """Logs what an announcer could not take, and goes on."""

    def receive(self, message: Any, sent_at: float, acknowledge: Acknowledge) -> Outcome:
        outcome = self.publisher.handle(message, sent_at=sent_at)
        calm = replace(outcome, publication=Publication(outcome.publication), acknowledge=True)
        acknowledge(calm)
        return calm


class NoIdempotencyKey(Host):
    """Has each effect under a key made on the spot."""

    def key(self) -> str:
        return secrets.token_hex(16)


class AppliesAStaleAnswer(Host):
    """Gives an answer to whatever question is open on its thread."""

    def receive(self, message: Any, sent_at: float, acknowledge: Acknowledge) -> Outcome:
        fields = _fields(message)
        if "answer" in fields and _names_a_thread(fields):
            pending = self.publisher.pending(fields["thread_id"])
            if pending and all(question.id != fields.get("question_id") for question in pending):
                message = {**fields, **_names(pending[0])}
        return super().receive(message, sent_at, acknowledge)


def _fields(message: Any) -> dict[str, Any]:
    return message if isinstance(message, dict) else {}  # pyright: ignore[reportUnknownVariableType]  # of any shape


def _names_a_thread(fields: Mapping[str, Any]) -> bool:
    return isinstance(fields.get("thread_id"), str) and fields["thread_id"] != ""


def _names(question: Question) -> dict[str, Any]:
    return {"question_id": question.id, "fingerprint": question.fingerprint, "ask_id": None}


class _OnlyCreated(BaseAnnounce):
    def __init__(self, announcer: Any) -> None:
        super().__init__(only=("created",))
        self.name = announcer.name
        self._announcer = announcer

    def deliver(self, envelope: WaitEnvelope, transition: Transition) -> None:
        self._announcer.deliver(envelope, transition)


class NeverCloses(Host):
    """Announces questions, and never that they are closed."""

    def announcer(self, announcer: AnnounceAdapter) -> AnnounceAdapter:
        return _OnlyCreated(announcer)


BROKEN: dict[type[Host], frozenset[int]] = {
    AcknowledgesEarly: frozenset({1, 5}),
    HealsOnlyOnAStart: frozenset({1, 5, 7}),
    ReadsNextForUnfinishedWork: frozenset({1, 5}),
    ForgetsTheStartIdOnAResume: frozenset({2, 4, 5}),
    RepublishesByRunning: frozenset({1, 2, 4, 5}),
    TrustsTheMessage: frozenset({3}),
    SwallowsFailures: frozenset({1, 6}),
    NoIdempotencyKey: frozenset({4}),
    AppliesAStaleAnswer: frozenset({3}),
    NeverCloses: frozenset({7}),
}
"""The promises that each of the broken hosts may be caught at."""
