"""The refund agent's own rules, without AWS: what is asked, what is done, and that it is done once."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from agent_wait import InMemoryAnnounce, Outcome, WaitEnvelope, WaitPublisher
from langgraph.checkpoint.memory import InMemorySaver
from langgraph_wait import LangGraphAdapter
from refund_agent.graph import build_graph
from refund_agent.payments import Entry, SqliteLedger

THREAD = "refund-1"


class DyingLedger(SqliteLedger):
    """Dies once for each kind of entry that it is told, right before or right after it is stored."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.dies_before: set[str] = set()
        self.dies_after: set[str] = set()

    def put_once(self, entry: Entry) -> Entry:
        self._die_if(entry.kind, self.dies_before)
        done = super().put_once(entry)
        self._die_if(entry.kind, self.dies_after)
        return done

    def _die_if(self, kind: str, due: set[str]) -> None:
        if kind in due:
            due.remove(kind)
            raise ConnectionAbortedError(f"died at the {kind}")


class Agent:
    """The agent on an in-memory saver, and what the outside world saw of it."""

    def __init__(self, folder: Path) -> None:
        self.ledger = DyingLedger(folder / "ledger.db")
        self.announced = InMemoryAnnounce()
        graph = build_graph(self.ledger, InMemorySaver())
        self.publisher = WaitPublisher(LangGraphAdapter(graph), announce=self.announced)

    def ask(self, amount: str, *, order_id: str = "o-1002", start_id: str = "request-1") -> Outcome:
        refund = {"order_id": order_id, "amount": Decimal(amount), "reason": "rusty", "request_id": start_id}
        return self.publisher.handle({"thread_id": THREAD, "start_id": start_id, "input": refund})

    def answer(self, answer: Any, *, by: str = "mia") -> Outcome:
        return self.publisher.handle({**self.asked.reply_with, "answer": answer, "answered_by": by})

    @property
    def asked(self) -> WaitEnvelope:
        """The newest question."""
        return self.announced.of("created")[-1]

    @property
    def refunds(self) -> list[Decimal]:
        return [entry.amount for entry in self.ledger.entries() if entry.kind == "refund"]

    @property
    def notices(self) -> list[str]:
        return [entry.text for entry in self.ledger.entries() if entry.kind == "notice"]


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path)


@pytest.mark.parametrize(("amount", "questions"), [("5000.00", 0), ("5000", 0), ("5000.01", 1), ("0.01", 0)])
def test_only_what_is_above_the_limit_is_asked(agent: Agent, amount: str, questions: int) -> None:
    assert agent.ask(amount).kind == "started"
    assert len(agent.announced.of("created")) == questions
    assert agent.refunds == ([] if questions else [Decimal(amount)])


def test_finance_is_asked_with_everything_needed_to_answer(agent: Agent) -> None:
    agent.ask("41000.00")
    asked = agent.asked
    assert asked.question == {
        "function": "issue_refund",
        "args": {"order_id": "o-1002", "amount": "41000.00", "reason": "rusty"},
    }
    assert asked.allowed_actions == ("approve", "reject")
    assert asked.tags == {"team": "finance"}
    assert asked.default == {"action": "reject", "reason": "nobody answered within three days"}
    assert asked.expires_at is not None
    assert asked.answer_schema is not None


def test_an_approval_refunds_what_was_asked_and_says_who_approved(agent: Agent) -> None:
    agent.ask("41000.00")
    assert agent.answer({"action": "approve"}).kind == "resumed"
    [refund] = [entry for entry in agent.ledger.entries() if entry.kind == "refund"]
    assert (refund.amount, refund.approved_by, refund.text) == (Decimal("41000.00"), "mia", "rusty")
    assert agent.notices == ["Dear Kestrel Cycles, 41000.00 is on its way back to you for order o-1002."]


@pytest.mark.requirement("BAD-ANSWER-POISONS-THREAD")
@pytest.mark.parametrize("amount", ["0", "-1", "0.001", "a lot", "NaN", "", None, True, [], "1e999"])
def test_an_amount_that_does_not_fit_is_asked_again_and_moves_nothing(agent: Agent, amount: Any) -> None:
    agent.ask("41000.00")
    agent.answer({"action": "approve", "args": {"amount": amount}})
    assert agent.asked.attempt == 2
    assert "amount" in (agent.asked.error or "")
    assert agent.refunds == []
    agent.answer({"action": "approve", "args": {"amount": "0.10"}})
    assert agent.refunds == [Decimal("0.10")]


@pytest.mark.parametrize(
    "answer",
    [
        {"action": "reject"},
        {"action": "APPROVE"},
        {"action": "reject", "args": {"amount": "1.00"}},
        {"status": "refunded", "amount": "41000.00"},
        {"kind": "refund", "key": "refund:x"},
        "approve",
        True,
        None,
        0,
        "",
        [],
        {},
    ],
)
def test_what_is_no_approval_refunds_nothing_and_tells_the_customer_so(agent: Agent, answer: Any) -> None:
    agent.ask("41000.00")
    assert agent.answer(answer).kind == "resumed"
    assert agent.refunds == []
    assert agent.notices == ["Dear Kestrel Cycles, order o-1002 is not refunded: it was not approved."]


@pytest.mark.parametrize(
    ("order_id", "amount", "why"),
    [
        ("o-1001", "120.01", "only 120.00 was paid"),
        ("o-1002", "0", "that is no amount to refund"),
        ("o-1002", "41000.001", "that is no amount to refund"),
        ("o-9999", "1.00", "there is no such order"),
    ],
)
def test_the_shop_s_own_rules_decline_without_asking(
    agent: Agent, order_id: str, amount: str, why: str
) -> None:
    agent.ask(amount, order_id=order_id)
    assert (len(agent.announced.events), agent.refunds) == (0, [])
    assert [notice.partition(": ")[2] for notice in agent.notices] == [f"{why}."]


@pytest.mark.parametrize(
    ("edit", "why"),
    [({"amount": "41000.01"}, "only 41000.00 was paid"), ({"order_id": "o-9999"}, "there is no such order")],
)
def test_no_approval_overrules_the_shop_s_own_rules(agent: Agent, edit: dict[str, str], why: str) -> None:
    agent.ask("41000.00")
    agent.answer({"action": "approve", "args": edit})
    assert agent.refunds == []
    assert [notice.partition(": ")[2] for notice in agent.notices] == [f"{why}."]


def test_a_second_request_of_the_thread_is_asked_for_itself(agent: Agent) -> None:
    agent.ask("41000.00", start_id="request-1")
    agent.answer({"action": "approve"})
    agent.ask("41000.00", start_id="request-2")
    assert len(agent.announced.of("created")) == 2
    assert agent.refunds == [Decimal("41000.00")]
    agent.answer({"action": "approve"})
    assert agent.refunds == [Decimal("41000.00")] * 2
    assert len(agent.notices) == 2


@pytest.mark.parametrize("amount", ["100.00", "41000.00"])
def test_dying_right_after_an_effect_does_not_repeat_it(agent: Agent, amount: str) -> None:
    agent.ledger.dies_after = {"refund", "notice"}

    def deliver() -> Outcome:
        outcome = agent.ask(amount)
        return agent.answer({"action": "approve"}) if agent.announced.events else outcome

    for _ in range(2):
        with pytest.raises(ConnectionAbortedError):
            deliver()
    assert deliver().acknowledge
    assert agent.refunds == [Decimal(amount)]
    assert len(agent.notices) == 1


def test_after_a_body_has_failed_the_question_can_still_be_rejected(agent: Agent) -> None:
    agent.ledger.dies_before = {"refund"}
    agent.ask("41000.00")
    with pytest.raises(ConnectionAbortedError):
        agent.answer({"action": "approve"})
    assert agent.answer({"action": "reject", "reason": "changed our mind"}).kind == "resumed"
    assert agent.notices == ["Dear Kestrel Cycles, order o-1002 is not refunded: changed our mind."]
