"""A clock for the scenarios, which cannot wait three days."""

import time


class WindableClock:
    """The machine's clock, which a scenario can put forward.

    Args:
        ahead: Seconds it is ahead from the start.
    """

    def __init__(self, ahead: float = 0.0) -> None:
        self.ahead = ahead

    def now(self) -> float:
        return time.time() + self.ahead

    def put_forward(self, *, hours: float) -> None:
        self.ahead += hours * 3600
