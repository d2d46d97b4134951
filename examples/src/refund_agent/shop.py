"""The orders that can be refunded."""

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Order:
    """What was sold, to whom, and what they paid."""

    order_id: str
    customer: str
    item: str
    paid: Decimal


ORDERS = {
    order.order_id: order
    for order in (
        Order("o-1001", "Brightwater Books", "two boxes of paper", Decimal("120.00")),
        Order("o-1002", "Kestrel Cycles", "a frame jig", Decimal("41000.00")),
        Order("o-1003", "Linden Dental", "an autoclave", Decimal("18250.50")),
        Order("o-1004", "Marlow Coffee", "a roaster", Decimal("9999.99")),
        Order("o-1005", "Northgate Theatre", "a lighting desk", Decimal("27400.00")),
        Order("o-1006", "Osprey Sails", "a roll of canvas", Decimal("6300.10")),
        Order("o-1007", "Pinewood School", "forty chairs", Decimal("4800.00")),
        Order("o-1008", "Quarry Bank Press", "a guillotine", Decimal("15000.00")),
        Order("o-1009", "Rookery Farm", "a seed drill", Decimal("22750.25")),
        Order("o-1010", "Saltmarsh Pottery", "a kiln", Decimal("33500.00")),
        Order("o-1011", "Tern Island Ferries", "a winch", Decimal("6300.10")),
    )
}


def find_order(order_id: str) -> Order | None:
    """The order of that number, if there is one."""
    return ORDERS.get(order_id)
