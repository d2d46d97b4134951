"""Each role on a local AWS that looks at policies: enough for all that is done with it, and what for.

The local server lets `sns:Publish` through whatever the role says; that this statement is there is asserted
on the template alone.
"""

import json
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from lambda_runtime import Function, FunctionFailed
from local_aws import LocalAws
from local_stack import ACCOUNT, ALL_WELL, REGION, batch, deploy, request, template_of
from refund_agent import aws

pytestmark = pytest.mark.timeout(300)


ACTING = ("AWS::Lambda::EventSourceMapping", "AWS::Events::Rule", "AWS::Lambda::Permission")


def for_the_test(template: dict[str, Any]) -> dict[str, Any]:
    """Without what would act by itself; over plain HTTP; with roles that the test may take."""
    resources = template["Resources"]
    for name, each in list(resources.items()):
        document = each.get("Properties", {}).get("PolicyDocument", {})
        if each["Type"] in ACTING or "aws:SecureTransport" in json.dumps(document):
            del resources[name]
        elif each["Type"] == "AWS::IAM::Role":
            each["Properties"]["AssumeRolePolicyDocument"]["Statement"].append(
                {
                    "Effect": "Allow",
                    "Action": "sts:AssumeRole",
                    "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"},
                }
            )
        for statement in document.get("Statement", ()):
            # Where it looks at policies, the local server takes every schedule to be in the default group.
            if "scheduler:CreateSchedule" in statement["Action"]:
                statement["Resource"] = f"arn:aws:scheduler:{REGION}:{ACCOUNT}:schedule/default/aw-*"
    return template


@pytest.fixture(scope="module")
def outputs(assembly: Path) -> Iterator[dict[str, str]]:
    with LocalAws(options={"AUTH": "true"}) as local_aws, local_aws.in_environment():
        yield deploy(assembly, for_the_test(template_of(assembly))) | local_aws.settings


class Role:
    """A function's role, of whose policy a statement can be taken away for a while."""

    def __init__(self, function_name: str) -> None:
        self.function = aws.client("lambda").get_function_configuration(FunctionName=function_name)
        self.name = self.function["Role"].rpartition("/")[2]

    def credentials(self) -> dict[str, str]:
        taken = aws.client("sts").assume_role(RoleArn=self.function["Role"], RoleSessionName="function")
        return {
            "AWS_ACCESS_KEY_ID": taken["Credentials"]["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": taken["Credentials"]["SecretAccessKey"],
            "AWS_SESSION_TOKEN": taken["Credentials"]["SessionToken"],
        }

    @contextmanager
    def without(self, action: str, resource: str) -> Generator[None]:
        iam = aws.client("iam")
        (policy,) = iam.list_role_policies(RoleName=self.name)["PolicyNames"]
        document = iam.get_role_policy(RoleName=self.name, PolicyName=policy)["PolicyDocument"]
        kept = [
            each
            for each in document["Statement"]
            if action not in each["Action"] or resource not in json.dumps(each["Resource"])
        ]
        assert len(kept) == len(document["Statement"]) - 1
        changed = json.dumps({**document, "Statement": kept})
        iam.put_role_policy(RoleName=self.name, PolicyName=policy, PolicyDocument=changed)
        try:
            yield
        finally:
            iam.put_role_policy(RoleName=self.name, PolicyName=policy, PolicyDocument=json.dumps(document))


class Run:
    """A function of the stack, run here with nothing but its role."""

    def __init__(self, asset: Any, client: Path, settings: dict[str, str], function_name: str) -> None:
        self.role = Role(function_name)
        environment = {
            **settings,
            **self.role.function["Environment"]["Variables"],
            **self.role.credentials(),
            "SCENARIO_CLOCK": "1",
        }
        self.function = Function(asset.folder, self.role.function["Handler"], client, environment)


@pytest.fixture(scope="module")
def run(asset: Any, client: Path, outputs: dict[str, str]) -> Iterator[Callable[[str], Run]]:
    started: dict[str, Run] = {}
    settings = {name: value for name, value in outputs.items() if name.startswith("AWS_")}

    def run(output: str) -> Run:
        if output not in started:
            started[output] = Run(asset, client, settings, outputs[output])
        return started[output]

    yield run
    for each in started.values():
        each.function.kill()


@pytest.fixture
def agent(run: Callable[[str], Run]) -> Run:
    return run("AgentFunction")


@pytest.fixture
def sweep(run: Callable[[str], Run]) -> Run:
    return run("SweepFunction")


def question_of(outputs: dict[str, str], thread_id: str) -> dict[str, Any]:
    table = aws.table(outputs["ApprovalsTable"])
    (row,) = table.query(
        KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": f"THREAD#{thread_id}"}
    )["Items"]
    return json.loads(str(row["reply_with"]))


def test_the_agent_s_role_is_enough_to_ask_to_pay_to_notify_and_to_set_aside(
    agent: Run, outputs: dict[str, str]
) -> None:
    asking = batch(("m1", "t-1", request("t-1", "o-1002", "41000.00")), ("m2", "t-0", "refund me!"))
    assert agent.function.invoke(asking) == ALL_WELL

    answer = {**question_of(outputs, "t-1"), "answer": {"action": "approve"}}
    assert agent.function.invoke(batch(("m3", "t-1", json.dumps(answer)))) == ALL_WELL
    assert aws.table(outputs["LedgerTable"]).scan(Select="COUNT")["Count"] == 2


@pytest.mark.parametrize(
    ("action", "resource", "message"),
    [
        ("dynamodb:Query", "Checkpoints", request("t-2", "o-1001", "120.00")),
        ("dynamodb:UpdateItem", "Approvals", request("t-3", "o-1003", "18250.50")),
        ("scheduler:CreateSchedule", "aw-*", request("t-9", "o-1004", "9999.99")),
        ("dynamodb:PutItem", "Ledger", request("t-4", "o-1007", "4800.00")),
        ("sqs:SendMessage", "DeadLetters", "refund me!"),
    ],
    ids=lambda value: value if ":" in value and "{" not in value else "",
)
def test_without_a_grant_the_agent_s_message_fails_and_with_it_succeeds(
    agent: Run, action: str, resource: str, message: str
) -> None:
    with agent.role.without(action, resource), pytest.raises(FunctionFailed, match="All records failed"):
        agent.function.invoke(batch(("m1", "t", message)))

    assert agent.function.invoke(batch(("m1", "t", message))) == ALL_WELL


def test_the_mapping_reads_the_queue_by_the_agent_s_role_and_not_without_its_grant(
    agent: Run, outputs: dict[str, str]
) -> None:
    credentials: Any = {name.lower(): value for name, value in agent.role.credentials().items()}
    sqs = boto3.client("sqs", **credentials)
    url = outputs["EntryQueueUrl"]
    aws.sqs().send_message(QueueUrl=url, MessageBody="something", MessageGroupId="t")

    with agent.role.without("sqs:ReceiveMessage", "Queue"), pytest.raises(ClientError, match="AccessDenied"):
        sqs.receive_message(QueueUrl=url)
    message: Any
    (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    with pytest.raises(ClientError, match="AccessDenied"):
        sqs.send_message(QueueUrl=url, MessageBody="not its business", MessageGroupId="t")


@pytest.mark.parametrize(
    ("thread_id", "action", "resource", "hours"),
    [
        ("t-5", "dynamodb:Query", "by_status", (73,)),
        ("t-6", "dynamodb:UpdateItem", "Approvals", (73,)),
        ("t-7", "sqs:SendMessage", "Queue", (73,)),
        # What was answered at the first sweep is compared with its thread at the second.
        ("t-8", "dynamodb:GetItem", "Checkpoints", (73, 75)),
    ],
)
def test_the_sweep_s_role_is_enough_and_each_grant_is_needed(
    agent: Run, sweep: Run, thread_id: str, action: str, resource: str, hours: tuple[int, ...]
) -> None:
    agent.function.invoke(batch(("m1", thread_id, request(thread_id, "o-1008", "15000.00"))))
    *before, last = ({"clock_ahead_seconds": each * 3600} for each in hours)
    for each in before:
        sweep.function.invoke(each)

    with sweep.role.without(action, resource), pytest.raises(FunctionFailed, match="AccessDenied"):
        sweep.function.invoke(last)
    assert sweep.function.invoke(last).keys() == {"defaulted", "sent", "closed", "reopened"}
