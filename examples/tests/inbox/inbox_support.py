"""The page on a real table and queue, with a clock of the test's own and people who need no password."""

import html
import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from agent_wait import FakeClock, Question, WaitEnvelope, WaitPolicy, publish
from agent_wait_aws import DynamoDbAnnounce, row_key
from inbox import build_app
from refund_agent import aws
from refund_agent.approvals import Approval, Approvals
from refund_agent.resources import Resources
from starlette.requests import Request
from starlette.testclient import TestClient

REFUND: dict[str, Any] = {"order_id": "o-1002", "amount": "41000.00", "reason": "rusty"}
REFUND_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "action": {"const": "approve"},
                "args": {
                    "type": "object",
                    "properties": {
                        "order_id": {"type": "string"},
                        "amount": {
                            "anyOf": [
                                {"type": "number", "exclusiveMinimum": 0.0, "maximum": 999999999999.99},
                                {"type": "string"},
                            ]
                        },
                        "reason": {"type": "string"},
                    },
                    "additionalProperties": False,
                },
            },
            "required": ["action"],
        },
        {"type": "object", "properties": {"action": {"const": "reject"}}, "required": ["action"]},
    ]
}


def user_by_header(request: Request) -> str | None:
    """The hook, as behind a proxy that signs people in."""
    return request.headers.get("x-user")


class Desk:
    """Questions on a table, and people in front of the page."""

    def __init__(self, resources: Resources) -> None:
        self.resources = resources
        self.clock = FakeClock()
        self.announce = DynamoDbAnnounce(resources.approvals_table, clock=self.clock)
        self.app = build_app(
            resources,
            current_user=user_by_header,
            session_secret="made up",
            hosts=["testserver", "127.0.0.1"],
            clock=self.clock,
            look_every=0.01,
        )
        self.approvals = Approvals(resources, clock=self.clock)
        self._asked = 0

    def client(self, user: str | None = "mia") -> TestClient:
        headers = {"x-user": user} if user else {}
        return TestClient(self.app, headers=headers, follow_redirects=False)

    def ask(
        self,
        question: Any = None,
        *,
        thread_id: str = "t-1",
        timeout: str | None = "P3D",
        attempt: int = 1,
        fingerprint: str = "",
        error: str | None = None,
        **policy: Any,
    ) -> WaitEnvelope:
        self._asked += 1
        policy = {"allowed_actions": ("approve", "reject"), "answer_schema": REFUND_SCHEMA, **policy}
        question = question or {"function": "issue_refund", "args": REFUND}
        is_call = isinstance(question, dict) and "function" in question
        asked = Question(
            f"q-{self._asked}",
            question,
            WaitPolicy(timeout=timeout, **policy),
            fingerprint=fingerprint or f"sha256:{self._asked:064x}",
            asked_at=self.clock.now(),
            attempt=attempt,
            error=error,
            source={"function": "issue_refund" if is_call else None, "framework": "langgraph"},
        )
        publication = publish([asked], thread_id, self.announce, clock=self.clock)
        publication.raise_for_failures()
        return publication[0]

    def row(self, question: WaitEnvelope) -> Approval:
        rows = self.approvals.of_thread(question.thread_id)
        [row] = [each for each in rows if each.question.ask_id == question.ask_id]
        return row

    def change(self, question: WaitEnvelope, /, **values: Any) -> None:
        """Write into the row, past everybody."""
        aws.table(self.resources.approvals_table).update_item(
            Key=row_key(question.thread_id, question.ask_id),
            UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in values),
            ExpressionAttributeNames={f"#{name}": name for name in values},
            ExpressionAttributeValues={f":{name}": value for name, value in values.items()},
        )

    def close(self, question: WaitEnvelope) -> None:
        self.change(question, status="closed")

    def queued(self) -> list[dict[str, Any]]:
        """What is in the agent's queue, which is emptied."""
        url = self.resources.entry_queue_url
        bodies: list[dict[str, Any]] = []
        while messages := aws.sqs().receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                aws.sqs().delete_message(QueueUrl=url, ReceiptHandle=message.get("ReceiptHandle", ""))
                bodies.append(json.loads(message.get("Body", "")))
        return bodies


def path_of(question: WaitEnvelope, path: str = "/question") -> str:
    return f"{path}?{urlencode({'thread': question.thread_id, 'ask': question.ask_id})}"


def token_in(text: str) -> str:
    found = re.search(r'name="form_token" value="([^"]+)"', text)
    assert found, "no form on the page"
    return html.unescape(found[1])


def send(client: TestClient, question: WaitEnvelope, form: Mapping[str, str]) -> Any:
    return client.post(path_of(question, "/answer"), data=dict(form))


def post(client: TestClient, question: WaitEnvelope, action: str, **fields: str) -> Any:
    """Open the question, fill in the form, press a button; gives the response."""
    token = token_in(client.get(path_of(question)).text)
    return send(client, question, {"form_token": token, "action": action, **fields})


def threads_in(text: str) -> list[str]:
    """The questions that a list shows, in order, by their threads."""
    return re.findall(r'<h2><a href="/question\?thread=([^&"]*)', text)
