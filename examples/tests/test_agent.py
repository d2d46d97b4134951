"""The refund agent with a scripted model in charge."""

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from agent_wait import InMemoryAnnounce, WaitPublisher
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_wait import LangGraphAdapter
from refund_agent.agent import build_agent
from refund_agent.payments import SqliteLedger


class ScriptedModel(GenericFakeChatModel):
    """Says what it is told to, and keeps the names of the tools it is given."""

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self


def calls(name: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": "call_0", "type": "tool_call"}])


REFUND = {"order_id": "o-1002", "amount": "41000.00", "reason": "never delivered"}


class Conversation:
    """One thread of the agent: a customer, and somebody in finance."""

    def __init__(self, folder: Path, *says: AIMessage) -> None:
        self.ledger = SqliteLedger(folder / "ledger.db")
        self.announced = InMemoryAnnounce()
        script: Iterator[AnyMessage] = iter(says)
        agent = build_agent(ScriptedModel(messages=script), self.ledger, InMemorySaver())
        self.publisher = WaitPublisher(LangGraphAdapter(agent), announce=self.announced)
        self.publisher.handle(
            {
                "thread_id": "chat-1",
                "start_id": "message-1",
                "input": {"messages": [("user", "Order o-1002 never came. I want my money back.")]},
            }
        )

    def answer(self, answer: Any) -> list[AnyMessage]:
        """Answer the open question; gives what the model has seen and said."""
        reply = self.announced.of("created")[-1].reply_with
        return self.publisher.handle({**reply, "answer": answer, "answered_by": "mia"}).result["messages"]

    def refunds(self) -> list[Decimal]:
        return [entry.amount for entry in self.ledger.entries()]


@pytest.fixture
def asks_for(tmp_path: Path) -> Callable[[str], Conversation]:
    """A conversation in which the model looks the order up and then wants to refund an amount."""
    return lambda amount: Conversation(
        tmp_path,
        calls("look_up_order", order_id="o-1002"),
        calls("issue_refund", **{**REFUND, "amount": amount}),
        AIMessage("That is settled."),
    )


def test_the_model_s_large_refund_waits_for_finance(asks_for: Callable[[str], Conversation]) -> None:
    conversation = asks_for("41000.00")
    assert conversation.announced.last.question == {"function": "issue_refund", "args": REFUND}
    assert conversation.refunds() == []
    *_, seen, said = conversation.answer({"action": "approve", "args": {"amount": "300.00"}})
    assert seen.content == "300.00 was refunded on order o-1002"
    assert said.content == "That is settled."
    assert conversation.refunds() == [Decimal("300.00")]


def test_a_rejection_reaches_the_model_and_moves_nothing(asks_for: Callable[[str], Conversation]) -> None:
    conversation = asks_for("41000.00")
    *_, seen, _ = conversation.answer({"action": "reject", "reason": "it was delivered"})
    assert "it was delivered" in seen.content
    assert conversation.refunds() == []


def test_the_model_s_small_refund_goes_through(asks_for: Callable[[str], Conversation]) -> None:
    conversation = asks_for("19.90")
    assert not conversation.announced.events
    assert conversation.refunds() == [Decimal("19.90")]


def test_no_approval_overrules_the_shop_s_own_rules(asks_for: Callable[[str], Conversation]) -> None:
    conversation = asks_for("41000.01")
    *_, seen, _ = conversation.answer({"action": "approve"})
    assert seen.content == "not refunded: only 41000.00 was paid"
    assert conversation.refunds() == []
