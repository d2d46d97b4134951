"""An agent process that is killed at a marked point, with SIGKILL, so that it cleans nothing up.

`python -m refund_agent.deaths` reads from standard input whose process it is, what it is to handle, and where
it dies. The agent itself knows nothing of this: the point is marked from outside.
"""

import functools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from agent_wait_aws import DynamoDbAnnounce, SnsAnnounce
from langgraph_checkpoint_aws import DynamoDBSaver
from langgraph_wait import LangGraphAdapter

from refund_agent import host
from refund_agent.payments import DynamoDbLedger
from refund_agent.resources import Resources
from refund_agent.worker import Delivery, Worker

Mark = Callable[[], None]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def before(owner: type, method: str, when: Callable[..., bool] = lambda *_: True) -> None:
    """Die instead of calling the method."""
    original: Any = getattr(owner, method)

    @functools.wraps(original)
    def marked(*args: Any, **kwargs: Any) -> Any:
        if when(*args):
            die()
        return original(*args, **kwargs)

    setattr(owner, method, marked)


def after(owner: type, method: str, when: Callable[..., bool] = lambda *_: True) -> None:
    """Die as soon as the method has returned."""
    original: Any = getattr(owner, method)

    @functools.wraps(original)
    def marked(*args: Any, **kwargs: Any) -> Any:
        returned = original(*args, **kwargs)
        if when(*args):
            die()
        return returned

    setattr(owner, method, marked)


def between_the_announcers() -> None:
    """The topic has been told, the table never is: announcers run side by side."""

    def hang(*_: Any) -> Any:
        threading.Event().wait()

    setattr(DynamoDbAnnounce, "deliver_many", hang)  # noqa: B010  # of another type, which is the point
    after(SnsAnnounce, "deliver_many")


POINTS: dict[str, Mark] = {
    "between its run and the announcement": lambda: after(LangGraphAdapter, "invoke"),
    "between the announcers": between_the_announcers,
    "before it has deleted the message": lambda: before(Worker, "settle"),
    "while its run is stored": lambda: before(DynamoDBSaver, "put_writes"),
    "between the refund and the checkpoint": lambda: after(
        DynamoDbLedger, "put_once", lambda _, entry: entry.kind == "refund"
    ),
    "between the answered node and the next": lambda: before(
        DynamoDbLedger, "put_once", lambda _, entry: entry.kind == "notice"
    ),
}
"""Where it dies."""


def work_and_die(resources: Resources, delivery: Delivery, at: str) -> None:
    """Handle one message as the worker does, in this process, which does not survive it."""
    POINTS[at]()
    publisher = host.build_publisher(resources)
    worker = Worker(resources, lambda it: host.handle(publisher, it.body, sent_at=it.sent_at))
    worker.settle(delivery, worker.handle(delivery))


def let_die(resources: Resources, delivery: Delivery, at: str) -> int:
    """Have a process of its own handle one message and die of it; returns its status, -9 when it did."""
    told = json.dumps({"resources": asdict(resources), "delivery": asdict(delivery), "at": at})
    command = [sys.executable, "-m", "refund_agent.deaths"]
    return subprocess.run(command, input=told, text=True, check=False).returncode


def main() -> int:
    told: Any = json.load(sys.stdin)
    work_and_die(Resources(**told["resources"]), Delivery(**told["delivery"]), told["at"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
