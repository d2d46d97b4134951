import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import pytest
from refund_agent.payments import MOST, Entry, Ledger


def test_a_refund_is_kept_with_everything_about_it(ledger: Ledger) -> None:
    done = ledger.refund("o-1", Decimal("41000.10"), "rusty", key="k-1", approved_by="mia")
    assert done == Entry(
        key="refund:k-1",
        kind="refund",
        order_id="o-1",
        amount=Decimal("41000.10"),
        text="rusty",
        approved_by="mia",
    )
    assert ledger.entries() == [done]


@pytest.mark.parametrize("amount", ["0.01", "0.10", "19.90", "4999.99", "5000", "123456789012.34", str(MOST)])
def test_every_cent_comes_back(ledger: Ledger, amount: str) -> None:
    assert ledger.refund("o-1", Decimal(amount), "rusty", key="k-1").amount == Decimal(amount)
    [entry] = ledger.entries()
    assert entry.amount == Decimal(amount)
    assert entry.amount.as_tuple().exponent == -2


def test_the_same_key_moves_money_once_and_tells_what_was_moved(ledger: Ledger) -> None:
    first = ledger.refund("o-1", Decimal("10.00"), "rusty", key="k-1", approved_by="mia")
    assert ledger.refund("o-2", Decimal("99.00"), "blunt", key="k-1", approved_by="tom") == first
    assert ledger.entries() == [first]


def test_another_key_is_another_refund(ledger: Ledger) -> None:
    ledger.refund("o-1", Decimal("10.00"), "rusty", key="k-1")
    ledger.refund("o-1", Decimal("10.00"), "rusty", key="k-2")
    assert [entry.amount for entry in ledger.entries()] == [Decimal("10.00")] * 2


def test_a_customer_is_told_once_for_a_key_which_is_not_a_refund_s(ledger: Ledger) -> None:
    ledger.refund("o-1", Decimal("10.00"), "rusty", key="k-1")
    told = ledger.notify("o-1", "on its way", key="k-1")
    assert ledger.notify("o-1", "on its way, again", key="k-1") == told
    assert [entry.text for entry in ledger.entries() if entry.kind == "notice"] == ["on its way"]


@pytest.mark.parametrize(
    "amount", ["0", "-1.00", "0.001", "10.005", "NaN", "sNaN", "Infinity", "1E+12", "1E+40"]
)
def test_what_cannot_be_paid_is_refused_and_never_rounded(ledger: Ledger, amount: str) -> None:
    with pytest.raises(ValueError, match="cannot be paid"):
        ledger.refund("o-1", Decimal(amount), "rusty", key="k-1")
    assert ledger.entries() == []


def test_of_many_at_the_same_moment_one_moves_money(ledger: Ledger) -> None:
    start = threading.Barrier(8)

    def refund(cents: int) -> Entry:
        start.wait(timeout=30)
        return ledger.refund("o-1", Decimal(cents).scaleb(-2), "rusty", key="k-1")

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(refund, range(1, 9)))
    assert ledger.entries() == [told[0]]
    assert set(told) == {told[0]}
