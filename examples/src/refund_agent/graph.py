"""The agent: look the order up, decide, refund, notify. Refunds above 5,000 wait for somebody in finance."""

from decimal import Decimal
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from agent_wait import JSON, WaitPolicy, current_wait
from langgraph.graph import END, START, StateGraph
from langgraph_wait import wait
from pydantic import Field

from refund_agent.payments import MOST, Entry, Ledger, payable
from refund_agent.shop import find_order

FREE_LIMIT = Decimal("5000.00")

FINANCE = WaitPolicy(
    timeout="P3D",
    default={"action": "reject", "reason": "nobody answered within three days"},
    tags={"team": "finance"},
)

Money = Annotated[Decimal, Field(gt=0, le=MOST, decimal_places=2)]
"""What an approver may set the amount to; anything else is asked again, with the reason."""


class Request(TypedDict):
    """A request for a refund, and what has become of it."""

    request_id: str
    order_id: str
    amount: Decimal
    reason: str
    customer: NotRequired[str]
    status: NotRequired[Literal["due", "refunded", "rejected", "declined"]]
    detail: NotRequired[str]


class Declined(Exception):
    """The shop's own rules say no, whoever has approved."""


def build_graph(ledger: Ledger, checkpointer: Any) -> Any:
    """The compiled graph.

    Args:
        ledger: Where money is moved and customers are told.
        checkpointer: Any LangGraph saver; a durable one, since a question may be open for days.
    """

    # An answer that is no approval is returned in the body's place, whatever somebody has sent.
    @wait(FINANCE, when=above_limit)
    def issue_refund(order_id: str, amount: Money, reason: str) -> Entry | JSON:
        return pay_back(ledger, order_id, amount, reason)

    def refund(state: Request) -> dict[str, Any]:
        try:
            outcome = issue_refund(state["order_id"], state["amount"], state["reason"])
        except Declined as why:
            return {"status": "declined", "detail": str(why)}
        if isinstance(outcome, Entry):
            return {"status": "refunded", "amount": outcome.amount}
        return {"status": "rejected", "detail": reason_in(outcome)}

    def notify(state: Request) -> None:
        ledger.notify(state["order_id"], notice_for(state), key=state["request_id"])

    graph = StateGraph(Request)
    graph.add_node("look_up", look_up)
    graph.add_node("decide", decide)
    graph.add_node("refund", refund)
    graph.add_node("notify", notify)
    graph.add_edge(START, "look_up")
    graph.add_edge("look_up", "decide")
    graph.add_conditional_edges("decide", after_decision)
    graph.add_edge("refund", "notify")
    graph.add_edge("notify", END)
    return graph.compile(checkpointer=checkpointer)


def pay_back(ledger: Ledger, order_id: str, amount: Decimal, reason: str) -> Entry:
    """Move the money, once for each approval however often this runs; called from within a wait.

    Raises:
        Declined: The shop's own rules say no.
    """
    approval = current_wait()
    if approval is None:
        raise RuntimeError("money is moved only under a wait")
    check(order_id, amount)
    return ledger.refund(
        order_id, amount, reason, key=approval.idempotency_key, approved_by=approval.answered_by
    )


def above_limit(amount: Decimal, **_: object) -> bool:
    return amount > FREE_LIMIT


def look_up(state: Request) -> dict[str, Any]:
    order = find_order(state["order_id"])
    return {"customer": order.customer if order else "unknown"}


def decide(state: Request) -> dict[str, Any]:
    try:
        check(state["order_id"], state["amount"])
    except Declined as why:
        return {"status": "declined", "detail": str(why)}
    return {"status": "due"}


def after_decision(state: Request) -> Literal["refund", "notify"]:
    return "refund" if state.get("status") == "due" else "notify"


def check(order_id: str, amount: Decimal) -> None:
    order = find_order(order_id)
    if order is None:
        raise Declined("there is no such order")
    if not payable(amount):
        raise Declined("that is no amount to refund")
    if amount > order.paid:
        raise Declined(f"only {order.paid} was paid")


def reason_in(answer: object) -> str:
    match answer:
        case {"reason": str(reason)} if reason:
            return reason
        case _:
            return "it was not approved"


def notice_for(state: Request) -> str:
    dear = f"Dear {state.get('customer')}, "
    if state.get("status") == "refunded":
        return f"{dear}{state['amount']} is on its way back to you for order {state['order_id']}."
    return f"{dear}order {state['order_id']} is not refunded: {state.get('detail')}."
