"""Faults as AWS and the network have them, injected between boto3 and the services."""

import http.client
import json
import os
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from agent_wait import AnnounceError, InMemoryAnnounce, Question, WaitPolicy, publish
from agent_wait_aws import (
    DynamoDbAnnounce,
    EventBridgeAnnounce,
    SchedulerAnnounce,
    SnsAnnounce,
    SqsAnnounce,
)
from botocore.config import Config
from botocore.exceptions import ClientError
from local_aws import LocalAws

NOW = 4_000_000_000.0
PATIENCE = 50.0
THROTTLED = {
    "sns": "Throttled",
    "sqs": "RequestThrottled",
    "events": "ThrottlingException",
    "dynamodb": "ThrottlingException",
    "scheduler": "ThrottlingException",
}
LISTED = {
    "sns": "list_topics",
    "sqs": "list_queues",
    "events": "list_rules",
    "dynamodb": "list_tables",
    "scheduler": "list_schedules",
}
every_service = pytest.mark.parametrize("service", THROTTLED)


# It ends with the other end of its standard input, so that it never outlives the tests.
SERVE = """
import os, sys, threading
from microburst.cli import main
threading.Thread(target=lambda: os._exit(len(sys.stdin.buffer.read())), daemon=True).start()
main()
"""


class Proxy:
    """A running `microburst`."""

    def __init__(self, port: int) -> None:
        self.port = port

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        sent = None if body is None else json.dumps(body)
        connection.request(method, f"/_microburst/{path}", sent, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        text = reply.read()
        connection.close()
        assert reply.status < 300, text
        return json.loads(text) if text else None

    def inject(self, **rule: Any) -> None:
        self.ask("PATCH", "rules", [rule])

    def fired(self) -> int:
        return len(self.ask("GET", "fired"))


@pytest.fixture(scope="session")
def running_proxy(local_aws: LocalAws, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    default = Path(__file__).parents[3] / ".venv-ministack/bin/python"
    python = os.environ.get("AGENT_WAIT_MINISTACK_PYTHON", str(default))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("microburst") / "log"
    command = [python, "-c", SERVE, "--upstream", local_aws.endpoint, "--port", str(port)]
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=output) as process,
    ):
        proxy = Proxy(port)
        try:
            deadline = time.monotonic() + 30
            while True:
                try:
                    proxy.ask("GET", "health")
                    break
                except OSError:
                    assert process.poll() is None, log.read_text()
                    assert time.monotonic() < deadline, log.read_text()
                    time.sleep(0.05)
            read_the_models(proxy)
            yield proxy
        finally:
            process.kill()  # it would wait for the connections that it holds


def read_the_models(proxy: Proxy) -> None:
    """Before its first fault of a service the proxy reads its model, for longer than a client waits."""
    session: Any = boto3.session.Session("test", "test", region_name="us-east-1")
    config = Config(retries={"total_max_attempts": 1}, read_timeout=50)
    for service, call in LISTED.items():
        proxy.inject(service=service, error={"code": THROTTLED[service]}, times=1)
        client = session.client(service, endpoint_url=proxy.endpoint, config=config)
        with pytest.raises(ClientError):
            getattr(client, call)()


@pytest.fixture
def proxy(running_proxy: Proxy, ministack: str, monkeypatch: pytest.MonkeyPatch) -> Proxy:
    """What announcers go through; clients of the tests' own go to the services directly."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", running_proxy.endpoint)
    running_proxy.ask("POST", "rules", [])
    running_proxy.ask("DELETE", "fired")
    return running_proxy


class Backend:
    """Something to announce to, and how much has arrived there."""

    def __init__(self, announcer: Any, count: Callable[[], int]) -> None:
        self.announcer = announcer
        self.count = count


@pytest.fixture
def build(proxy: Proxy, ministack: str) -> Callable[..., Backend]:
    name = uuid.uuid4().hex

    def direct(service: str) -> Any:
        session: Any = boto3.session.Session()
        return session.client(service, endpoint_url=ministack)

    def new_queue(suffix: str = "", **attributes: str) -> tuple[str, str, Callable[[], int]]:
        sqs = direct("sqs")
        url = sqs.create_queue(QueueName=f"{name}{suffix}", Attributes=attributes)["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        kept = "ApproximateNumberOfMessages"
        return (
            url,
            arn,
            lambda: int(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[kept])["Attributes"][kept]),
        )

    def make(service: str, **options: Any) -> Backend:
        if service == "sqs":
            url, _, count = new_queue(".fifo", FifoQueue="true")
            return Backend(SqsAnnounce(url, **options), count)
        if service == "sns":
            _, arn, count = new_queue()
            topic = direct("sns").create_topic(Name=name)["TopicArn"]
            direct("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
            return Backend(SnsAnnounce(topic, **options), count)
        if service == "events":
            _, arn, count = new_queue()
            events = direct("events")
            events.create_event_bus(Name=name)
            events.put_rule(
                Name="all", EventBusName=name, EventPattern=json.dumps({"source": ["agent-wait"]})
            )
            events.put_targets(Rule="all", EventBusName=name, Targets=[{"Id": "1", "Arn": arn}])
            return Backend(EventBridgeAnnounce(name, **options), count)
        if service == "dynamodb":
            dynamodb = direct("dynamodb")
            dynamodb.create_table(
                TableName=name,
                KeySchema=[
                    {"AttributeName": "pk", "KeyType": "HASH"},
                    {"AttributeName": "sk", "KeyType": "RANGE"},
                ],
                AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in ("pk", "sk")],
                BillingMode="PAY_PER_REQUEST",
            )
            return Backend(DynamoDbAnnounce(name, **options), lambda: dynamodb.scan(TableName=name)["Count"])
        scheduler = direct("scheduler")
        scheduler.create_schedule_group(Name=name)
        announcer = SchedulerAnnounce(
            group_name=name,
            target_arn="arn:aws:sqs:us-east-1:000000000000:agent",
            role_arn="arn:aws:iam::000000000000:role/scheduler",
            **options,
        )
        return Backend(announcer, lambda: len(scheduler.list_schedules(GroupName=name)["Schedules"]))

    return make


def impatient(service: str) -> Any:
    """A client that tries once."""
    session: Any = boto3.session.Session()
    return session.client(service, config=Config(retries={"total_max_attempts": 1}, read_timeout=20))


def questions(count: int) -> list[Question]:
    policy = WaitPolicy(timeout="P1D", default={"action": "reject"})
    return [
        Question(f"q-{number}-{uuid.uuid4().hex}", "May I?", policy, asked_at=NOW) for number in range(count)
    ]


@every_service
@pytest.mark.parametrize("count", [1, 5])
def test_throttled_once_it_is_sent_again_by_boto3_and_arrives(
    proxy: Proxy, build: Callable[..., Backend], service: str, count: int
) -> None:
    backend = build(service)
    # The proxy gives SQS's codes a namespace that boto3 does not know as throttling; the status it knows.
    proxy.inject(service=service, error={"code": THROTTLED[service], "status": 503}, times=1)

    publication = publish(questions(count), "thread-1", backend.announcer, budget=PATIENCE)

    publication.raise_for_failures()
    assert proxy.fired() == 1
    assert backend.count() == count


@every_service
@pytest.mark.parametrize("count", [1, 5])
def test_throttled_for_good_it_is_a_failure_that_a_repeat_mends(
    proxy: Proxy, build: Callable[..., Backend], service: str, count: int
) -> None:
    backend, other, asked = build(service, client=impatient(service)), InMemoryAnnounce(), questions(count)
    proxy.inject(service=service, error={"code": THROTTLED[service]})

    publication = publish(asked, "thread-1", [backend.announcer, other], budget=PATIENCE)

    assert [failure.envelope for failure in publication.failures] == list(publication)
    for failure in publication.failures:
        assert isinstance(failure.error, AnnounceError)
        assert THROTTLED[service] in str(failure.error)
        assert failure.error.retryable
    assert other.events == list(publication)
    assert backend.count() == 0

    proxy.ask("POST", "rules", [])
    publish(asked, "thread-1", backend.announcer, budget=PATIENCE).raise_for_failures()
    assert backend.count() == count


@every_service
@pytest.mark.parametrize("count", [1, 5])
def test_a_connection_that_is_reset_is_a_failure_of_every_question(
    proxy: Proxy, build: Callable[..., Backend], service: str, count: int
) -> None:
    backend, other = build(service, client=impatient(service)), InMemoryAnnounce()
    proxy.inject(service=service, reset=True)

    publication = publish(questions(count), "thread-1", [backend.announcer, other], budget=PATIENCE)

    assert [failure.envelope for failure in publication.failures] == list(publication)
    assert all(
        isinstance(failure.error, AnnounceError) and failure.error.retryable
        for failure in publication.failures
    )
    assert other.events == list(publication)


@every_service
def test_a_service_that_does_not_answer_costs_the_budget_and_may_have_it(
    proxy: Proxy, build: Callable[..., Backend], service: str
) -> None:
    backend, other = build(service, client=impatient(service)), InMemoryAnnounce()
    proxy.inject(service=service, timeout_ms=10_000)

    publication = publish(questions(1), "thread-1", [backend.announcer, other], budget=1.0)

    (failure,) = publication.failures
    assert "unknown, may have arrived" in str(failure.error)
    assert other.events == list(publication)


@pytest.mark.parametrize("service", ["sqs", "dynamodb", "scheduler"])
@pytest.mark.parametrize("count", [1, 5])
def test_a_reply_lost_on_its_way_back_leaves_one_of_each(
    proxy: Proxy, build: Callable[..., Backend], service: str, count: int
) -> None:
    backend = build(service)
    proxy.inject(service=service, response={"abort_bytes": 0}, times=1)

    publication = publish(questions(count), "thread-1", backend.announcer, budget=PATIENCE)

    publication.raise_for_failures()
    assert proxy.fired() == 1
    assert backend.count() == count


@pytest.mark.parametrize("service", ["sns", "events", "sqs"])
def test_one_call_of_several_that_fails_is_its_own_questions_failure(
    proxy: Proxy, build: Callable[..., Backend], service: str
) -> None:
    # On the FIFO queue the groups are the questions, so that none has to wait for another.
    options: dict[str, Any] = {"group_id": lambda envelope: envelope.question_id} if service == "sqs" else {}
    backend = build(service, client=impatient(service), **options)
    proxy.inject(service=service, error={"code": THROTTLED[service]}, times=1)

    publication = publish(questions(25), "thread-1", backend.announcer, budget=PATIENCE)

    failed = len(publication.failures)
    assert failed in (5, 10, *((3, 4) if service == "sqs" else ()))
    assert backend.count() == 25 - failed


def test_items_of_a_transaction_that_conflict_are_written_one_by_one(
    proxy: Proxy, build: Callable[..., Backend]
) -> None:
    backend = build("dynamodb")
    reasons = [{"Code": "None"}, {"Code": "TransactionConflict", "Message": "ongoing"}, {"Code": "None"}]
    proxy.inject(
        service="dynamodb",
        operation="TransactWriteItems",
        error={"code": "TransactionCanceledException", "fields": {"CancellationReasons": reasons}},
        times=1,
    )

    publish(questions(3), "thread-1", backend.announcer, budget=PATIENCE).raise_for_failures()

    assert proxy.fired() == 1
    assert backend.count() == 3


def test_a_row_that_cannot_be_written_after_all_is_the_one_that_fails(
    proxy: Proxy, build: Callable[..., Backend]
) -> None:
    backend, asked = build("dynamodb", client=impatient("dynamodb")), questions(3)
    reasons = [{"Code": "None"}, {"Code": "ThrottlingError"}, {"Code": "None"}]
    proxy.inject(
        service="dynamodb",
        operation="TransactWriteItems",
        error={"code": "TransactionCanceledException", "fields": {"CancellationReasons": reasons}},
    )
    proxy.inject(
        service="dynamodb",
        operation="PutItem",
        body=f"Item.question_id.S == '{asked[1].id}'",
        error={"code": "ProvisionedThroughputExceededException"},
    )

    publication = publish(asked, "thread-1", backend.announcer, budget=PATIENCE)

    assert [failure.envelope for failure in publication.failures] == [publication[1]]
    assert backend.count() == 2
