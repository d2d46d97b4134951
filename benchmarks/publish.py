"""What publishing costs beside the plain loop that calls each service once per question, in turn, in one run.

`make bench` prints the table. The services are a local server's, 20 ms of round trip away, which shares the
machine with us. A time that misses its target is marked and fails nothing, since the machine may be busy; a
number of calls above its target fails.
"""

import argparse
import logging
import os
import socket
import sys
import time
import uuid
from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple

import boto3
from agent_wait import (
    BaseAnnounce,
    InMemoryAnnounce,
    Publication,
    Question,
    WaitEnvelope,
    WaitPolicy,
    WebhookAnnounce,
    publish,
)
from agent_wait_aws import DynamoDbAnnounce, EventBridgeAnnounce, SnsAnnounce, SqsAnnounce, group_id
from far_away import HOST, far_away
from local_aws import LocalAws

ROUND_TRIP = 20.0  # milliseconds
PLENTY = 300.0  # seconds: a budget that is not what is measured
STANDARD = ("sns", "sqs", "events", "dynamodb")
ORDERED = ("sns", "fifo", "events", "dynamodb")
POLICY = WaitPolicy(timeout="P3D", default={"action": "reject"}, tags={"group": "finance"})


class Cost(NamedTuple):
    """What a way of publishing took.

    Attributes:
        milliseconds: Wall time.
        calls: Requests that left.
    """

    milliseconds: float
    calls: int


class Calls:
    """Counts the requests of every client of a session."""

    def __init__(self) -> None:
        self.made = 0
        self.session: Any = boto3.session.Session()
        self.session.events.register("before-send", self._count)

    def _count(self, **_: object) -> None:
        self.made += 1

    def cost(self, run: Callable[[], object]) -> Cost:
        made, started = self.made, time.perf_counter()
        run()
        return Cost((time.perf_counter() - started) * 1000, self.made - made)


class Places:
    """Where questions go: a topic, queues, a bus and a table, new ones each time, made without the detour."""

    def __init__(self, endpoint: str) -> None:
        name = f"bench-{uuid.uuid4().hex}"
        session: Any = boto3.session.Session()
        make: Callable[[str], Any] = lambda service: session.client(service, endpoint_url=endpoint)  # noqa: E731
        fifo = {"FifoQueue": "true"}
        self.topic: str = make("sns").create_topic(Name=name)["TopicArn"]
        self.queue: str = make("sqs").create_queue(QueueName=name)["QueueUrl"]
        self.fifo: str = make("sqs").create_queue(QueueName=f"{name}.fifo", Attributes=fifo)["QueueUrl"]
        make("events").create_event_bus(Name=name)
        self.bus = self.table = name
        make("dynamodb").create_table(
            TableName=name,
            KeySchema=[
                {"AttributeName": "pk", "KeyType": "HASH"},
                {"AttributeName": "sk", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in ("pk", "sk")],
            BillingMode="PAY_PER_REQUEST",
        )

    def announcers(self, session: Any, services: Sequence[str]) -> list[BaseAnnounce]:
        """Ours, with warm clients."""
        every = {
            "sns": SnsAnnounce(self.topic, session=session),
            "sqs": SqsAnnounce(self.queue, session=session),
            "fifo": SqsAnnounce(self.fifo, session=session),
            "events": EventBridgeAnnounce(self.bus, session=session),
            "dynamodb": DynamoDbAnnounce(self.table, session=session),
        }
        chosen = [every[service] for service in services]
        for announcer in chosen:
            announcer.warm()
        return list(chosen)

    def calls(self, session: Any) -> dict[str, Callable[[WaitEnvelope], object]]:
        """What a host that knows boto3 and nothing of us would write, one call each."""
        sns, sqs, events, dynamodb = map(session.client, STANDARD)
        return {
            "sns": lambda envelope: sns.publish(TopicArn=self.topic, Message=envelope.to_json()),
            "sqs": lambda envelope: sqs.send_message(QueueUrl=self.queue, MessageBody=envelope.to_json()),
            "fifo": lambda envelope: sqs.send_message(
                QueueUrl=self.fifo,
                MessageBody=envelope.to_json(),
                MessageGroupId=group_id(envelope.thread_id),
                MessageDeduplicationId=uuid.uuid4().hex,
            ),
            "events": lambda envelope: events.put_events(
                Entries=[
                    {
                        "EventBusName": self.bus,
                        "Source": "bench",
                        "DetailType": envelope.type,
                        "Detail": envelope.to_json(),
                    }
                ]
            ),
            "dynamodb": lambda envelope: dynamodb.put_item(
                TableName=self.table,
                Item={
                    "pk": {"S": f"THREAD#{envelope.thread_id}"},
                    "sk": {"S": f"WAIT#{envelope.ask_id}"},
                    "envelope": {"S": envelope.to_json()},
                },
                ConditionExpression="attribute_not_exists(pk)",
            ),
        }


def questions(count: int) -> list[Question]:
    """Some 700 bytes each in an envelope of some 1,200, of one run and so of one thread."""
    return [
        Question(
            f"q-{uuid.uuid4().hex}",
            {
                "function": "issue_refund",
                "args": {
                    "order_id": f"o-{number}",
                    "amount": "41000.00",
                    "note": "The customer says that the parcel never came. " * 12,
                },
            },
            POLICY,
            fingerprint=f"sha256:{uuid.uuid4().hex * 2}",
            asked_at=1_796_065_207.0,
        )
        for number in range(count)
    ]


def envelopes(count: int) -> Publication:
    return publish(questions(count), "thread-1", InMemoryAnnounce())


def plain_loop(endpoint: str, count: int) -> dict[str, Cost]:
    """Every service once for each question, one after the other; what each service took of it."""
    counted = Calls()
    services = Places(endpoint).calls(counted.session)
    for call in services.values():
        call(envelopes(1)[0])  # opens the connections
    milliseconds = dict.fromkeys(services, 0.0)
    made = dict.fromkeys(services, 0)
    for envelope in envelopes(count):
        for service, call in services.items():
            cost = counted.cost(lambda call=call, envelope=envelope: call(envelope))
            milliseconds[service] += cost.milliseconds
            made[service] += cost.calls
    return {service: Cost(milliseconds[service], made[service]) for service in services}


def ours(endpoint: str, count: int, services: Sequence[str], runs: int) -> Cost:
    """One publish to all of the services: the median of several, each to new places."""
    counted = Calls()
    costs: list[Cost] = []
    for _ in range(runs):
        announcers = Places(endpoint).announcers(counted.session, services)
        send(min(count, 80), announcers, "warm-up")  # opens the connections, as many as it takes
        costs.append(counted.cost(lambda announcers=announcers: send(count, announcers)))
    assert len({cost.calls for cost in costs}) == 1, costs
    return sorted(costs)[runs // 2]


def send(count: int, announcers: Sequence[BaseAnnounce], thread_id: str = "thread-1") -> None:
    publish(questions(count), thread_id, announcers, budget=PLENTY).raise_for_failures()


def one_question_on(port: int, runs: int = 21) -> float:
    """Milliseconds of one question to four announcers with warm clients, where a reply costs a round trip."""
    session: Any = boto3.session.Session()
    at: Callable[[str], Any] = lambda service: session.client(service, endpoint_url=f"http://{HOST}:{port}")  # noqa: E731
    announcers: list[BaseAnnounce] = [
        SnsAnnounce("arn:aws:sns:us-east-1:123456789012:questions", client=at("sns")),
        SqsAnnounce(f"http://{HOST}:{port}/123456789012/questions", client=at("sqs")),
        EventBridgeAnnounce("questions", client=at("events")),
        DynamoDbAnnounce("questions", client=at("dynamodb")),
    ]
    send(1, announcers)
    return median(Calls().cost(lambda: send(1, announcers)).milliseconds for _ in range(runs))


def one_that_hangs(budget: float) -> float:
    """Milliseconds of a publish to one announcer that hangs and to one that does not."""
    with socket.create_server((HOST, 0)) as silent:  # connections wait to be accepted
        url = f"http://{HOST}:{silent.getsockname()[1]}/questions"
        memory = InMemoryAnnounce()
        started = time.perf_counter()
        publication = publish(
            questions(1), "thread-1", [WebhookAnnounce(url, timeout=PLENTY), memory], budget=budget
        )
        taken = time.perf_counter() - started
    assert len(publication.failures) == len(memory.events) == 1
    return taken * 1000


class Table:
    """The lines, and whether a target that is no matter of time was missed."""

    def __init__(self) -> None:
        self.missed = False
        print(f"{'':46} {'loop ms':>9} {'calls':>6} {'ours ms':>9} {'calls':>6} {'faster':>7} {'target':>7}")

    def compare(self, what: str, loop: Cost, own: Cost, *, faster: float | None, fewer: float | None) -> None:
        ratio = loop.milliseconds / own.milliseconds
        missed = "" if faster is None or ratio >= faster else "  missed"
        if fewer is not None and own.calls * fewer > loop.calls:
            self.missed = True
            missed += f"  MISSED: calls, at most a {fewer:g}th"
        target = "" if faster is None else f"{faster:g}x"
        print(
            f"{what:46} {loop.milliseconds:9.0f} {loop.calls:6} {own.milliseconds:9.1f} {own.calls:6}"
            f" {ratio:6.1f}x {target:>7}{missed}",
            flush=True,
        )

    def bound(self, what: str, milliseconds: float, limit: float) -> None:
        missed = "" if milliseconds <= limit else "  missed"
        print(f"{what:46} {'':9} {'':6} {milliseconds:9.1f} {'':6} {'':7} {limit:5.0f}ms{missed}", flush=True)


def total(loop: dict[str, Cost], services: Sequence[str]) -> Cost:
    return Cost(*map(sum, zip(*(loop[service] for service in services), strict=True)))


def compared(table: Table, endpoint: str, many: int, runs: int) -> None:
    loop = plain_loop(endpoint, many)
    full = many >= 500
    table.compare(
        f"{many} questions: SNS, SQS, EventBridge, DynamoDB",
        total(loop, STANDARD),
        ours(endpoint, many, STANDARD, runs),
        faster=40 if full else None,
        fewer=10 if many >= 20 else None,
    )
    table.compare(
        f"{many}, the queue FIFO and all in one group",
        total(loop, ORDERED),
        ours(endpoint, many, ORDERED, runs),
        faster=15 if full else None,
        fewer=10 if many >= 20 else None,
    )
    table.compare(
        f"{many} to a FIFO queue alone, at most 10x",
        loop["fifo"],
        ours(endpoint, many, ("fifo",), runs),
        faster=None,
        fewer=None,
    )
    few = [plain_loop(endpoint, 5) for _ in range(runs)]
    for services, kind in ((STANDARD, "a standard queue"), (ORDERED, "a FIFO queue")):
        table.compare(
            f"5 questions to the four, {kind}",
            sorted(total(one, services) for one in few)[runs // 2],
            ours(endpoint, 5, services, 2 * runs + 1),
            faster=8,
            fewer=None,
        )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=500, help="fewer take seconds, and have no target")
    parser.add_argument("--runs", type=int, default=5, help="of ours; the median counts")
    logging.getLogger("agent_wait").addHandler(logging.NullHandler())  # what hangs is meant to
    many, runs = (arguments := parser.parse_args()).questions, arguments.runs
    with (
        LocalAws() as aws,
        aws.in_environment(),
        far_away("proxy", ROUND_TRIP, int(aws.endpoint.rpartition(":")[2])) as port,
        far_away("canned", ROUND_TRIP) as canned,
    ):
        direct = aws.endpoint
        os.environ["AWS_ENDPOINT_URL"] = f"http://{HOST}:{port}"
        busy = f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
        print(f"{ROUND_TRIP:g} ms of added round trip; {busy}\n")
        table = Table()
        compared(table, direct, many, runs)
        table.bound("1 question to the four, on canned replies", one_question_on(canned), ROUND_TRIP + 10)
        for budget in (0.2, 1.0):
            table.bound(
                f"1 to one that hangs, with {budget * 1000:g} ms", one_that_hangs(budget), budget * 1000 + 10
            )
    return int(table.missed)


if __name__ == "__main__":
    sys.exit(main())
