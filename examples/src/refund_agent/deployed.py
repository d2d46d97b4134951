"""The scenarios against a deployed stack: the same messages, handled by its functions instead of here."""

import contextlib
import json
import time
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_wait import Outcome

from refund_agent import aws
from refund_agent.report import Report, plural
from refund_agent.resources import Resources
from refund_agent.seen import Seen
from refund_agent.world import World

PATIENCE_SECONDS = 120.0
"""How long anything in the account may take before the scenarios give up on it."""
POLL_SECONDS = 0.3
ARRIVAL_SECONDS = 1
"""How long a queue is listened to before it counts as empty."""


class GaveUp(Exception):
    """What was waited for has not happened."""


class NotEmpty(Exception):
    """The stack holds what an earlier run, or somebody's real refunds, have left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """A deployed stack.

    Attributes:
        resources: Its queues, topic and tables.
        agent: The name of the function that handles the entry queue.
        sweep: The name of the function that runs every minute.
    """

    resources: Resources
    agent: str
    sweep: str


@contextlib.contextmanager
def attached(stack_name: str, *, clear: bool) -> Generator[Stack]:
    """Find a stack by its outputs, and listen to its topic for as long as this lasts.

    Args:
        stack_name: As it was deployed, where boto3 points.
        clear: Delete what its tables and queues hold; otherwise they have to be empty.

    Raises:
        NotEmpty: They are not.
    """
    cloudformation = aws.client("cloudformation")
    (found,) = cloudformation.describe_stacks(StackName=stack_name)["Stacks"]
    outputs: dict[str, str] = {each["OutputKey"]: each["OutputValue"] for each in found["Outputs"]}
    with listening(outputs["TopicArn"]) as announcements_queue_url:
        resources = Resources(
            entry_queue_url=outputs["EntryQueueUrl"],
            dead_letter_queue_url=outputs["DeadLetterQueueUrl"],
            topic_arn=outputs["TopicArn"],
            announcements_queue_url=announcements_queue_url,
            approvals_table=outputs["ApprovalsTable"],
            checkpoint_table=outputs["CheckpointTable"],
            ledger_table=outputs["LedgerTable"],
        )
        for name in (resources.approvals_table, resources.checkpoint_table, resources.ledger_table):
            empty(name, clear=clear)
        if clear:
            Seen(resources).dead_letters()
        stack = Stack(resources=resources, agent=outputs["AgentFunction"], sweep=outputs["SweepFunction"])
        try:
            yield stack
        finally:
            Agent(stack.agent).reset()
            Agent(stack.sweep).configure(SCENARIO_CLOCK="")


@contextlib.contextmanager
def listening(topic_arn: str) -> Generator[str]:
    """A queue of our own on the topic, for a while."""
    sqs, sns = aws.sqs(), aws.sns()
    name = f"refund-scenarios-{time.time_ns()}"
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    try:
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        allow = {
            "Effect": "Allow",
            "Principal": {"Service": "sns.amazonaws.com"},
            "Action": "sqs:SendMessage",
            "Resource": arn,
            "Condition": {"ArnEquals": {"aws:SourceArn": topic_arn}},
        }
        policy = {"Version": "2012-10-17", "Statement": [allow]}
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(policy)})
        subscription = sns.subscribe(
            TopicArn=topic_arn,
            Protocol="sqs",
            Endpoint=arn,
            Attributes={"RawMessageDelivery": "true"},
            ReturnSubscriptionArn=True,
        )
        try:
            yield url
        finally:
            sns.unsubscribe(SubscriptionArn=subscription["SubscriptionArn"])
    finally:
        sqs.delete_queue(QueueUrl=url)


def empty(table_name: str, *, clear: bool) -> None:
    table = aws.table(table_name)
    key = [part["AttributeName"] for part in table.key_schema]
    while rows := table.scan(ConsistentRead=True)["Items"]:
        if not clear:
            raise NotEmpty(f"{table_name} is not empty; --clear deletes what it holds")
        with table.batch_writer() as batch:
            for row in rows:
                batch.delete_item(Key={name: row[name] for name in key})


@dataclass(frozen=True, slots=True)
class Handled:
    """A line of the agent's log: what became of a message, the how-manyeth time it was delivered."""

    message_id: str
    receives: int
    outcome: Outcome


@dataclass(slots=True)
class Agent:
    """The function behind the entry queue.

    Attributes:
        name: Its name.
        since: From when its log is read, in milliseconds since the epoch.
    """

    name: str
    since: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    _log_group: str = ""

    def variables(self) -> dict[str, str]:
        configuration = aws.client("lambda").get_function_configuration(FunctionName=self.name)
        return configuration["Environment"]["Variables"]

    def configure(self, **variables: str) -> None:
        """Change variables of its environment; whatever runs it is then replaced by new processes."""
        client = aws.client("lambda")
        client.update_function_configuration(
            FunctionName=self.name, Environment={"Variables": {**self.variables(), **variables}}
        )
        client.get_waiter("function_updated_v2").wait(FunctionName=self.name)

    def reset(self) -> None:
        """As it was deployed: given what is in its queue, by a clock that is right."""
        if float(self.variables().get("CLOCK_AHEAD_SECONDS", "0")):
            self.configure(CLOCK_AHEAD_SECONDS="0")
        self.listen(on=True)

    def invoke(self, event: Mapping[str, Any]) -> Any:
        client = aws.client("lambda")
        reply = client.invoke(FunctionName=self.name, Payload=json.dumps(event))
        payload = json.loads(reply["Payload"].read())
        if "FunctionError" in reply:
            raise GaveUp(f"{self.name} failed: {payload}")
        return payload

    def listen(self, *, on: bool) -> None:
        """Have it given what is in its queue, or not."""
        client = aws.client("lambda")
        (mapping,) = client.list_event_source_mappings(FunctionName=self.name)["EventSourceMappings"]
        wanted = "Enabled" if on else "Disabled"
        if mapping["State"] != wanted:
            client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=on)
            until(
                lambda: client.get_event_source_mapping(UUID=mapping["UUID"])["State"] == wanted,
                f"the mapping is {wanted}",
            )

    def handled(self) -> list[Handled]:
        """What its log says, oldest first."""
        if not self._log_group:
            configuration = aws.client("lambda").get_function_configuration(FunctionName=self.name)
            self._log_group = configuration["LoggingConfig"]["LogGroup"]
        pages = aws.client("logs").get_paginator("filter_log_events")
        pages = pages.paginate(logGroupName=self._log_group, startTime=self.since)
        lines: list[str] = [event["message"] for page in pages for event in page["events"]]
        return [read for line in lines if (read := handled_in(line))]


def handled_in(line: str) -> Handled | None:
    if not line.startswith("{"):
        return None
    entry = json.loads(line)
    if "message_id" not in entry:
        return None
    outcome = Outcome(
        entry["message"],
        entry.get("thread_id"),
        question_id=entry.get("question_id"),
        detail=entry.get("detail", ""),
        acknowledge=entry["acknowledged"],
    )
    return Handled(entry["message_id"], entry["receives"], outcome)


class DeployedWorld(World):
    """The world around a deployed agent.

    What the agent did is known from its log, where each delivery has a line.

    Args:
        stack: The stack.
        report: What a person sees.
    """

    def __init__(self, stack: Stack, report: Report) -> None:
        self._agent = Agent(stack.agent)
        self._sweep_function = Agent(stack.sweep)
        self._due = 0
        self._known: set[tuple[str, int]] = set()
        self._by_hand = False
        super().__init__(stack.resources, report)
        self.seen = Seen(stack.resources, wait_seconds=ARRIVAL_SECONDS)
        self._agent.reset()
        if not self._sweep_function.variables().get("SCENARIO_CLOCK"):
            self._sweep_function.configure(SCENARIO_CLOCK="1")

    def answer(self, thread_id: str, answer: Any, *, by: str) -> bool:
        sent = super().answer(thread_id, answer, by=by)
        self._due += sent
        return sent

    def send(self, thread_id: str, body: Any, *, say: str = "") -> None:
        super().send(thread_id, body, say=say)
        self._due += 1

    def put_forward(self, *, hours: float) -> None:
        super().put_forward(hours=hours)
        self._agent.configure(CLOCK_AHEAD_SECONDS=str(self.clock.ahead))

    def deliver_by_hand(self) -> None:
        self._by_hand = True
        self._agent.listen(on=False)

    def work(self) -> list[Outcome]:
        if self._by_hand:
            self._agent.listen(on=True)
        outcomes = self._await(self._due)
        self._due = 0
        if self._by_hand:
            self._agent.listen(on=False)
        return outcomes

    def handle_and_die(self) -> list[Outcome]:
        deliveries = self._worker.receive(at_most=10)
        records = [
            {
                "messageId": delivery.message_id,
                "receiptHandle": delivery.receipt,
                "body": delivery.body,
                "attributes": {
                    "MessageGroupId": delivery.group,
                    "ApproximateReceiveCount": str(delivery.receives),
                    "SentTimestamp": str(int(delivery.sent_at * 1000)),
                },
                "messageAttributes": {},
                "eventSource": "aws:sqs",
            }
            for delivery in deliveries
        ]
        self._agent.invoke({"Records": records})
        outcomes = self._await(len(deliveries))
        self.report.say("agent", f"dies before it has deleted {plural(len(deliveries), 'message')}")
        self.give_back(deliveries)
        self._replace_processes()
        return outcomes

    def sweep(self) -> None:
        swept = self._sweep_function.invoke({"clock_ahead_seconds": self.clock.ahead})
        self._due += swept["defaulted"] + swept["sent"]
        if swept["defaulted"]:
            self.report.say("sweep", "the deadline has passed: answers the default")

    def restart(self) -> None:
        super().restart()
        self._replace_processes()

    def _replace_processes(self) -> None:
        self._agent.configure(CLOCK_AHEAD_SECONDS=str(self.clock.ahead), STARTED_AT=str(time.time_ns()))

    def _await(self, count: int) -> list[Outcome]:
        """The outcomes of the next so many deliveries."""
        found: list[Handled] = []

        def all_there() -> bool:
            found[:] = [
                each for each in self._agent.handled() if (each.message_id, each.receives) not in self._known
            ]
            return len(found) >= count

        until(all_there, f"{plural(count, 'message')} handled")
        self._known |= {(each.message_id, each.receives) for each in found}
        for each in found:
            self._tell(each.outcome, receives=each.receives)
        return [each.outcome for each in found]


def until(so: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while not so():
        if time.monotonic() > give_up:
            raise GaveUp(f"after {PATIENCE_SECONDS:g} s it is still not so that {what}")
        time.sleep(POLL_SECONDS)
