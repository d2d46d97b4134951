"""What the agent costs under Lambda: starts of its asset, and an ask and an answer on its saver 20 ms away.

`make bench-lambda` prints the tables. Nothing leaves this machine: the asset runs under Lambda's own runtime
client, and the table is one of a local AWS. A figure over its budget is marked and fails nothing.
"""

import argparse
import functools
import importlib
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from agent_wait import InMemoryAnnounce, WaitPublisher
from far_away import far_away
from langgraph_checkpoint_aws import DynamoDBSaver
from langgraph_wait import LangGraphAdapter
from local_aws import LocalAws
from refund_agent.graph import build_graph
from refund_agent.payments import SqliteLedger
from refund_agent.resources import Resources

ROOT = Path(__file__).parent.parent
HANDLER = "refund_agent.lambda_handler.handler"
NOTHING: dict[str, Any] = {"Records": []}
MILLISECONDS = 20.0


def seconds(of: Callable[[], object]) -> float:
    began = time.perf_counter()
    of()
    return time.perf_counter() - began


def load(folder: str, name: str) -> Any:
    sys.path.insert(0, str(ROOT / folder))
    return importlib.import_module(name)


def starts(runs: int, folder: Path) -> None:
    """Cold starts with and without byte code, in turn, and warm invocations."""
    lambda_asset, lambda_runtime = load("tools", "lambda_asset"), load("tests/aws", "lambda_runtime")
    client = lambda_runtime.install_client(folder / "runtime")
    assets = {
        "with byte code": lambda_asset.build(folder / "compiled"),
        "plain": lambda_asset.build(folder / "plain", compiled=False),
    }
    cold: dict[str, list[float]] = {name: [] for name in assets}
    warm: list[float] = []
    with LocalAws() as local_aws, local_aws.in_environment():
        environment = local_aws.settings | variables(Resources.create("starts"))
        for name, asset in list(assets.items()) * runs:

            def start(asset: Any = asset) -> Any:
                function = lambda_runtime.Function(asset.folder, HANDLER, client, environment)
                function.invoke(NOTHING)
                return function

            began = time.perf_counter()
            with start() as function:
                cold[name].append(time.perf_counter() - began)
                warm += [seconds(functools.partial(function.invoke, NOTHING)) for _ in range(100)]
    for asset in assets.values():
        print(asset)
    print("\n| start | median s | best s |\n|---|---|---|")
    for name, took in cold.items():
        print(f"| cold, {name} | {statistics.median(took):.2f} | {min(took):.2f} |")
    compiled, plain = (statistics.median(took) for took in cold.values())
    print(
        f"\ncold start with byte code is {compiled / plain:.2f} of the plain one{over(compiled / plain, 0.5)}"
    )
    median = statistics.median(warm) * 1000
    print(f"warm empty invocation: median {median:.2f} ms{over(median, 5)} (of {len(warm)})")


def over(figure: float, budget: float) -> str:
    return f" OVER {budget:g}" if figure > budget else f" (budget {budget:g})"


def variables(resources: Resources) -> dict[str, str]:
    return {
        "ENTRY_QUEUE_URL": resources.entry_queue_url,
        "ENTRY_QUEUE_ARN": "arn:aws:sqs:us-east-1:000000000000:starts-entry.fifo",
        "DEAD_LETTER_QUEUE_URL": resources.dead_letter_queue_url,
        "TOPIC_ARN": resources.topic_arn,
        "APPROVALS_TABLE": resources.approvals_table,
        "CHECKPOINT_TABLE": resources.checkpoint_table,
        "LEDGER_TABLE": resources.ledger_table,
        "SCHEDULE_GROUP": "starts",
        "SCHEDULE_ROLE_ARN": "arn:aws:iam::000000000000:role/starts",
    }


def on_the_saver(runs: int, folder: Path) -> None:
    """An ask and an answer through `WaitPublisher.handle`, everything but the saver in this process."""
    print(f"\n| durability | message | calls | of them | median ms, {MILLISECONDS:g} ms away |")
    print("|---|---|---|---|---|")
    with LocalAws() as local_aws, local_aws.in_environment():
        table = Resources.create("saver").checkpoint_table
        with far_away("proxy", MILLISECONDS, int(local_aws.endpoint.rpartition(":")[2])) as port:
            for durability in ("sync", "exit"):
                saver = DynamoDBSaver(table, endpoint_url=f"http://127.0.0.1:{port}")
                for line in ask_and_answer(saver, durability, runs, SqliteLedger(folder / durability)):
                    print(f"| `{durability}` | {line}")


def ask_and_answer(
    saver: Any, durability: Literal["sync", "exit"], runs: int, ledger: SqliteLedger
) -> list[str]:
    calls: Counter[str] = Counter()
    saver.client.meta.events.register("before-call.dynamodb", lambda model, **_: calls.update([model.name]))
    announced = InMemoryAnnounce()
    adapter = LangGraphAdapter(build_graph(ledger, saver), durability=durability)
    publisher = WaitPublisher(adapter, announce=announced)

    took: dict[str, list[float]] = {"ask": [], "answer": []}
    made: dict[str, Counter[str]] = {}
    # The first one is not counted: it opens the connections.
    for run in range(runs + 1):
        thread_id = f"{durability}-{run}"
        refund = {
            "request_id": thread_id,
            "order_id": "o-1002",
            "amount": Decimal("41000.00"),
            "reason": "damp",
        }
        ask: dict[str, Any] = {"thread_id": thread_id, "start_id": "1", "input": refund}
        for name in ("ask", "answer"):
            message = ask if name == "ask" else approval(announced)
            calls.clear()
            spent = seconds(functools.partial(publisher.handle, message))
            if run:
                took[name].append(spent)
                made[name] = Counter(calls)
    return [
        f"{name} | {made[name].total()} | {json.dumps(made[name])[1:-1]} "
        f"| {statistics.median(took[name]) * 1000:.0f} |"
        for name in took
    ]


def approval(announced: InMemoryAnnounce) -> dict[str, Any]:
    return {**announced.of("created")[-1].reply_with, "answer": {"action": "approve"}}


def main() -> None:
    parser = argparse.ArgumentParser(description="What the agent costs under Lambda.")
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        starts(runs, Path(folder))
        on_the_saver(runs, Path(folder))


if __name__ == "__main__":
    main()
