"""A host in miniature: runs a graph, sync or async, and sees what is announced."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_wait import InMemoryAnnounce, Outcome, Question, WaitEnvelope, WaitPublisher
from langgraph_wait import LangGraphAdapter, apublish_interrupts, publish_interrupts, resume_command
from lg_shapes import Graph

APPROVE = {"action": "approve"}
REJECT = {"action": "reject", "reason": "no"}
THREAD = "thread-1"


def config_of(thread_id: str = THREAD) -> Any:
    return {"configurable": {"thread_id": thread_id}}


def answer_to(envelope: WaitEnvelope, answer: Any, **changes: Any) -> dict[str, Any]:
    """The message that answers a question, as an approver's page makes it."""
    return {**envelope.reply_with, "answer": answer, **changes}


@dataclass
class Host:
    """Runs graphs by `invoke` or by `ainvoke`."""

    is_async: bool
    run: Callable[[Any], Any]
    announced: InMemoryAnnounce = field(default_factory=InMemoryAnnounce)

    @property
    def asked(self) -> WaitEnvelope:
        """The question that was announced last."""
        return self.announced.of("created")[-1]

    def invoke(self, graph: Graph, value: Any, thread_id: str = THREAD, **options: Any) -> Any:
        """One run of the graph; nothing is announced."""
        if self.is_async:
            return self.run(graph.ainvoke(value, config_of(thread_id), **options))
        return graph.invoke(value, config_of(thread_id), **options)

    def publish(self, result: Any, thread_id: str = THREAD) -> list[WaitEnvelope]:
        """Announce what a run stopped on."""
        if self.is_async:
            publication = self.run(apublish_interrupts(result, thread_id, self.announced))
        else:
            publication = publish_interrupts(result, thread_id, self.announced)
        publication.raise_for_failures()
        return list(publication)

    def start(self, graph: Graph, value: Any, thread_id: str = THREAD) -> list[WaitEnvelope]:
        """Run the graph on an input, and announce what it stopped on."""
        return self.publish(self.invoke(graph, value, thread_id), thread_id)

    def send(self, graph: Graph, message: Mapping[str, Any]) -> Any:
        """Run the graph on an answer."""
        return self.invoke(graph, resume_command(message), message["thread_id"])


@dataclass
class Router:
    """A `WaitPublisher`, driven as the host is."""

    host: Host
    publisher: WaitPublisher

    @classmethod
    def of(cls, host: Host, graph: Graph, **options: Any) -> "Router":
        return cls(host, WaitPublisher(LangGraphAdapter(graph, **options), announce=host.announced))

    def handle(self, message: Mapping[str, Any]) -> Outcome:
        if self.host.is_async:
            return self.host.run(self.publisher.ahandle(message))
        return self.publisher.handle(message)

    def start(self, value: Any, start_id: str | None = "start-1", thread_id: str = THREAD) -> Outcome:
        message = {"thread_id": thread_id, "input": value, "start_id": start_id}
        return self.handle({name: part for name, part in message.items() if part is not None})

    def pending(self, thread_id: str = THREAD) -> list[Question]:
        if self.host.is_async:
            return self.host.run(self.publisher.apending(thread_id))
        return self.publisher.pending(thread_id)

    def open(self) -> list[WaitEnvelope]:
        """What is open, as announced last."""
        created = {event.question_id: event for event in self.host.announced.of("created")}
        return [created[question.id] for question in self.pending()]
