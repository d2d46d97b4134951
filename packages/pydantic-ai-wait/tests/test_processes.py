"""A thread that is asked in one process and answered in another, over a store of files."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = """
import json, sys
from pathlib import Path
from agent_wait import InMemoryAnnounce, WaitPublisher, current_wait
from pai_support import make_agent
from pydantic_ai_wait import PydanticAIAdapter, wait

folder, message = Path(sys.argv[1]), json.loads(sys.argv[2])

class Files:
    def load(self, thread_id):
        path = folder / thread_id
        return path.read_bytes() if path.exists() else None

    def save(self, thread_id, data):
        (folder / "new").write_bytes(data)
        (folder / "new").replace(folder / thread_id)

@wait
def refund(order: str, amount: float) -> str:
    print(json.dumps({"ran": [order, amount], "key": current_wait().idempotency_key}))
    return "ok"

agent = make_agent([refund], [("refund", "call_0", {"order": "o", "amount": 1.5})], "done")
announced = InMemoryAnnounce()
outcome = WaitPublisher(PydanticAIAdapter(agent, Files()), announce=announced).handle(message)
created = [[e.dedupe_key, e.asked_at, e.reply_with] for e in announced.of("created")]
print(json.dumps({"kind": outcome.kind, "created": created}))
"""


def run(folder: Path, message: dict[str, Any], seed: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), json.dumps(message)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(__file__).parent), "PYTHONHASHSEED": seed, "PATH": ""},
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_process_sees_the_same_question_and_one_of_them_runs_the_body(tmp_path: Path) -> None:
    start = {"thread_id": "t-1", "input": "hi", "start_id": "s-1"}

    [first] = run(tmp_path, start, "1")
    [second] = run(tmp_path, start, "2")
    assert (first["kind"], second["kind"]) == ("started", "republished")
    assert first["created"] == second["created"]

    answer = {**first["created"][0][2], "answer": {"action": "approve"}}
    body, third = run(tmp_path, answer, "3")
    assert body["ran"] == ["o", 1.5]
    assert third["kind"] == "resumed"
    assert run(tmp_path, answer, "4") == [{"kind": "already_answered", "created": []}]
