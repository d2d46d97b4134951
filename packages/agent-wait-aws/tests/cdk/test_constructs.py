"""What the constructs take, and what each is worth by itself."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def stack(tmp_path: Path) -> Any:
    from aws_cdk import App, Stack

    return Stack(App(outdir=str(tmp_path / "cdk.out")), "Mine")


def resources(stack: Any, kind: str) -> list[Any]:
    from aws_cdk.assertions import Template

    found = Template.from_stack(stack).to_json()["Resources"].values()
    return [each for each in found if each["Type"] == kind]


def test_a_stack_without_a_sweep_has_one_function_and_no_rule(tmp_path: Path) -> None:
    from agent_wait_aws.cdk import AgentWaitStack
    from aws_cdk import App, Duration, RemovalPolicy
    from aws_cdk.assertions import Template
    from aws_cdk.aws_lambda import Architecture, Code, Runtime
    from aws_cdk.aws_logs import RetentionDays

    stack = AgentWaitStack(
        App(outdir=str(tmp_path / "cdk.out")),
        "Agent",
        code=Code.from_inline("handler = print"),
        handler="index.handler",
        runtime=Runtime.PYTHON_3_13,
        architecture=Architecture.X86_64,
        timeout=Duration.minutes(5),
        batch_size=1,
        memory_size=2048,
        log_retention=RetentionDays.ONE_YEAR,
        removal_policy=RemovalPolicy.DESTROY,
        description="mine",
    )

    template = Template.from_stack(stack).to_json()
    by_type: dict[str, list[Any]] = {}
    for each in template["Resources"].values():
        by_type.setdefault(each["Type"], []).append(each)
    assert stack.sweep is None
    assert "AWS::Events::Rule" not in by_type
    assert "SweepFunction" not in template["Outputs"]
    assert template["Description"] == "mine"
    (function,) = by_type["AWS::Lambda::Function"]
    assert (function["Properties"]["Timeout"], function["Properties"]["MemorySize"]) == (300, 2048)
    assert by_type["AWS::Lambda::EventSourceMapping"][0]["Properties"]["BatchSize"] == 1
    assert {each["DeletionPolicy"] for each in by_type["AWS::DynamoDB::Table"]} == {"Delete"}
    assert by_type["AWS::Logs::LogGroup"][0]["Properties"]["RetentionInDays"] == 365
    visible = [each["Properties"].get("VisibilityTimeout") for each in by_type["AWS::SQS::Queue"]]
    assert sorted(filter(None, visible)) == [1800]


def test_both_alarms_of_a_queue_take_the_same_action(stack: Any) -> None:
    from agent_wait_aws.cdk import AgentQueue
    from aws_cdk.aws_cloudwatch_actions import SnsAction
    from aws_cdk.aws_sns import Topic

    queue = AgentQueue(stack, "Entry", max_receives=2)
    people = Topic(stack, "People")
    for alarm in queue.alarms:
        alarm.add_alarm_action(SnsAction(people))  # pyright: ignore[reportArgumentType]  # jsii names parameters otherwise

    alarms = resources(stack, "AWS::CloudWatch::Alarm")
    assert [len(each["Properties"]["AlarmActions"]) for each in alarms] == [1, 1]
    redrives = [each["Properties"].get("RedrivePolicy") for each in resources(stack, "AWS::SQS::Queue")]
    assert [each["maxReceiveCount"] for each in redrives if each] == [2]


def test_the_example_of_the_docstring_makes_a_stack(tmp_path: Path) -> None:
    from agent_wait_aws import cdk
    from aws_cdk import App

    asset = tmp_path / "agent.zip"
    asset.write_bytes(b"PK\x05\x06" + bytes(18))
    match = re.search(r"```python\n(.*?)```", cdk.__doc__ or "", re.DOTALL)
    assert match
    names: dict[str, Any] = {}
    exec(match[1].replace("dist/agent.zip", str(asset)), names)

    stack = names["Support"](App(outdir=str(tmp_path / "cdk.out")), "Support")

    (policy,) = resources(stack, "AWS::IAM::Policy")
    actions = [each["Action"] for each in policy["Properties"]["PolicyDocument"]["Statement"]]
    assert ["dynamodb:PutItem", "dynamodb:UpdateItem"] in actions


def test_without_the_cdk_the_error_says_what_to_install() -> None:
    program = "import sys; sys.modules['aws_cdk'] = None; import agent_wait_aws, agent_wait_aws.cdk"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ImportError: agent_wait_aws.cdk needs aws-cdk-lib: pip install 'agent-wait-aws[cdk]'"
    )


def test_another_missing_module_is_not_mistaken_for_the_cdk() -> None:
    program = "import sys; sys.modules['agent_wait_aws.cdk._queue'] = None; import agent_wait_aws.cdk"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert "agent_wait_aws.cdk._queue" in done.stderr.splitlines()[-1]
    assert "pip install" not in done.stderr
