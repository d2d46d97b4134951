import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from agent_wait import WaitEnvelope
from agent_wait_aws import _clients
from hypothesis import HealthCheck, settings
from local_aws import LocalAws
from moto import mock_aws

REGION = "us-east-1"

# No test is a matter of time, on however busy a machine.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture(autouse=True)
def no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees whatever account the machine is set up for, nor another test's session."""
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    settings = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(_clients, "_own_session", None)


@pytest.fixture
def moto() -> Iterator[None]:
    """An AWS inside this process, for what it gets right: see also `ministack`."""
    with mock_aws():
        yield


@pytest.fixture(scope="session")
def local_aws() -> Iterator[LocalAws]:
    with LocalAws() as server:
        yield server


@pytest.fixture
def ministack(local_aws: LocalAws, monkeypatch: pytest.MonkeyPatch) -> str:
    """An AWS over HTTP, where boto3 clients go by themselves: FIFO, transactions, schedules."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", local_aws.endpoint)
    return local_aws.endpoint


@pytest.fixture
def make_envelope() -> Callable[..., WaitEnvelope]:
    """An envelope of its own `question_id`, with any field set otherwise."""

    def make(question_id: str = "q-1", thread_id: str = "thread-1", **fields: Any) -> WaitEnvelope:
        type_ = fields.pop("type", "wait.created")
        ask_id = fields.pop("ask_id", f"{question_id}:0123456789abcdef")
        data: dict[str, Any] = {
            "type": type_,
            "event_id": "01KB9Z3Y8ZV5T0W3Q2R1P0N9M8",
            "dedupe_key": f"{type_}:{ask_id}",
            "thread_id": thread_id,
            "question_id": question_id,
            "question": {"function": "issue_refund", "args": {"order_id": "o-1", "amount": "41000.00"}},
            "fingerprint": "sha256:" + "ab" * 32,
            "allowed_actions": ("approve", "reject"),
            "asked_at": "2026-11-30T20:44:52Z",
            "source": {"function": "issue_refund", "framework": "langgraph"},
            "reply_with": {
                "thread_id": thread_id,
                "question_id": question_id,
                "ask_id": ask_id,
                "fingerprint": "sha256:" + "ab" * 32,
                "answer": None,
            },
            **fields,
        }
        return WaitEnvelope(**data)

    return make


class FakeClient:
    """A boto3 client that notes its calls and answers as told, a reply a call, then that all is well."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.replies: list[Any] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(**kwargs: Any) -> Any:
            self.calls.append((name, kwargs))
            reply: Any = self.replies.pop(0) if self.replies else all_is_well(kwargs)
            if isinstance(reply, Exception):
                raise reply
            return reply

        return call


def all_is_well(request: dict[str, Any]) -> dict[str, Any]:
    """What a service says of a batch that it took, whichever it is."""
    entries: list[dict[str, Any]] = request.get("Entries") or request.get("PublishBatchRequestEntries") or []
    return {
        "Successful": [{"Id": entry["Id"]} for entry in entries if "Id" in entry],
        "Entries": [{"EventId": "e"} for _ in entries],
    }


@pytest.fixture
def client() -> Any:
    return FakeClient()
