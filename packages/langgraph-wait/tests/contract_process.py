"""One message to an agent in a store that any process can open: a program for `in_new_process`."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import contract_stores
from agent_wait import InMemoryAnnounce, Outcome, WaitPublisher, current_wait
from contract_graphs import GraphHandle, agent
from langgraph_wait import wait

_THREAD = "thread-1"


def in_new_process(store: str, place: str, message: Any, *, awaited: bool = False, seed: int = 0) -> Any:
    """What became of the message: the outcome's kind, what was announced, and the bodies that ran.

    Args:
        store: A class of `contract_stores`.
        place: What it takes.
        message: Goes through `WaitPublisher.handle`, or `ahandle`.
        awaited: Which.
        seed: Of the process's hashes.
    """
    here = str(Path(__file__).parent)
    kept = {
        name: value for name, value in os.environ.items() if name.startswith(("AWS_", "PATH", "NO_PROXY"))
    }
    done = subprocess.run(
        [sys.executable, __file__, store, place, json.dumps(message), str(int(awaited))],
        capture_output=True,
        check=False,
        text=True,
        env={**kept, "PYTHONPATH": here, "PYTHONHASHSEED": str(seed)},
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _main(store: str, place: str, message: str, awaited: str) -> None:
    ran: list[Any] = []

    @wait
    def refund(order_id: str, amount: int) -> str:
        """Refund an order."""
        current = current_wait()
        assert current is not None
        ran.append([order_id, amount, current.idempotency_key])
        return "refunded"

    calls = [("refund", f"call_{n}", {"order_id": f"o-{n}", "amount": n}) for n in range(2)]
    handle = GraphHandle(agent, [refund], [calls, "done"], getattr(contract_stores, store)(place), _THREAD)
    announced = InMemoryAnnounce()

    async def ahandle() -> Outcome:
        async with handle.aadapter() as adapter:
            return await WaitPublisher(adapter, announce=announced).ahandle(json.loads(message))

    if awaited == "1":
        outcome = asyncio.run(ahandle())
    else:
        with handle.adapter() as adapter:
            outcome = WaitPublisher(adapter, announce=announced).handle(json.loads(message))
    created = [[one.dedupe_key, one.asked_at, one.reply_with] for one in announced.of("created")]
    sys.stdout.write(json.dumps({"kind": outcome.kind, "created": created, "ran": ran}))


if __name__ == "__main__":
    _main(*sys.argv[1:])
