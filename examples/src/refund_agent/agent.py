"""The same with a language model in charge; what it may do alone, and what it has to ask, stays the same."""

from typing import Any

from agent_wait import JSON
from langchain.agents import create_agent  # pyright: ignore[reportUnknownVariableType]  # generic in middleware
from langchain_core.tools import tool
from langgraph_wait import wait

from refund_agent.graph import FINANCE, Declined, Money, above_limit, pay_back
from refund_agent.payments import Ledger
from refund_agent.shop import find_order

PROMPT = (
    "You handle requests for refunds. Look the order up before you refund anything, and say what was done."
)


def build_agent(model: Any, ledger: Ledger, checkpointer: Any) -> Any:
    """A `create_agent` agent, for `LangGraphAdapter` as the graph is; its input is `{"messages": [...]}`.

    Args:
        model: A chat model, or the name of one such as `anthropic:claude-sonnet-4-5`, which needs that
            provider's langchain package, and its key in the environment.
        ledger: Where money is moved.
        checkpointer: Any LangGraph saver; a durable one, since a question may be open for days.
    """

    @tool
    def look_up_order(order_id: str) -> str:
        """Tell who bought what under an order's number, and what they paid."""
        order = find_order(order_id)
        return f"{order.customer} paid {order.paid} for {order.item}" if order else "there is no such order"

    @tool
    @wait(FINANCE, when=above_limit)
    def issue_refund(order_id: str, amount: Money, reason: str) -> str | JSON:
        """Refund an amount on an order. Large ones wait for somebody in finance, who may change them."""
        try:
            entry = pay_back(ledger, order_id, amount, reason)
        except Declined as why:
            return f"not refunded: {why}"
        return f"{entry.amount} was refunded on order {entry.order_id}"

    tools = [look_up_order, issue_refund]
    return create_agent(model, tools, system_prompt=PROMPT, checkpointer=checkpointer)  # pyright: ignore[reportUnknownVariableType]  # generic in middleware
