"""The template as it is synthesised, deployed on a local AWS, whose event source mapping runs the asset."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from local_stack import STACK, Deployed, request, until
from refund_agent import aws, scenarios
from refund_agent.deployed import Agent, DeployedWorld, NotEmpty, Stack, attached
from refund_agent.report import Report
from refund_agent.seen import Seen

pytestmark = pytest.mark.timeout(600)


@pytest.fixture
def stack(deployed: Deployed) -> Iterator[Stack]:
    with attached(STACK, clear=True) as stack:
        yield stack


@pytest.mark.parametrize("letter", [each for each in scenarios.SCENARIOS if each not in scenarios.HERE_ONLY])
def test_the_scenario_holds_on_the_deployed_stack(stack: Stack, letter: str) -> None:
    report = Report(out := io.StringIO())

    status = scenarios.run([letter], report, lambda: DeployedWorld(stack, report))

    assert status == 0, out.getvalue()


def test_a_stack_that_holds_something_is_not_cleared_unless_asked(stack: Stack) -> None:
    aws.table(stack.resources.ledger_table).put_item(Item={"key": "somebody's"})

    with pytest.raises(NotEmpty, match="--clear"), attached(STACK, clear=False):
        pass


def test_what_cannot_be_announced_comes_again_and_holds_up_no_other_thread(stack: Stack) -> None:
    agent = Agent(stack.agent)
    seen = Seen(stack.resources, wait_seconds=1)
    queue = stack.resources.entry_queue_url
    aws.sqs().set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": "2"})
    agent.configure(TOPIC_ARN=stack.resources.topic_arn + "-gone")

    for thread_id, order_id, amount in (("t-1", "o-1002", "41000.00"), ("t-2", "o-1001", "120.00")):
        aws.sqs().send_message(
            QueueUrl=queue, MessageGroupId=thread_id, MessageBody=request(thread_id, order_id, amount)
        )
    until(lambda: [each for each in agent.handled() if not each.outcome.acknowledge])
    until(lambda: seen.refunds("o-1001") == ["120.00"])
    assert seen.questions("t-1") == []
    agent.configure(TOPIC_ARN=stack.resources.topic_arn)

    assert len(until(lambda: seen.questions("t-1"))) == 1
    assert max(each.receives for each in agent.handled() if each.outcome.thread_id == "t-1") > 1


def test_a_deadline_is_a_schedule_in_the_stack_s_own_group(stack: Stack) -> None:
    aws.sqs().send_message(
        QueueUrl=stack.resources.entry_queue_url,
        MessageGroupId="t-3",
        MessageBody=request("t-3", "o-1003", "18250.50"),
    )
    group = Agent(stack.agent).variables()["SCHEDULE_GROUP"]
    scheduler = aws.client("scheduler")

    def targets() -> list[Any]:
        named = [each["Name"] for each in scheduler.list_schedules(GroupName=group)["Schedules"]]
        found = [scheduler.get_schedule(GroupName=group, Name=name)["Target"] for name in named]
        return [each for each in found if each["SqsParameters"] == {"MessageGroupId": "t-3"}]

    (target,) = until(targets)

    assert json.loads(target["Input"])["answer"]["action"] == "reject"
    assert target["Arn"].rpartition(":")[2] == stack.resources.entry_queue_url.rpartition("/")[2]
    assert target["RoleArn"].rpartition("/")[2].startswith(f"{STACK}-DeadlineRole")
