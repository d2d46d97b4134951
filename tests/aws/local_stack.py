"""What the tests of the deployment share: the assembly, and deploying it on a local AWS."""

import importlib.util
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from local_aws import LocalAws
from refund_agent import aws

ROOT = Path(__file__).parents[2]
STACK = "RefundAgent"
ACCOUNT = "000000000000"
REGION = "us-east-1"


def load(path: Path) -> ModuleType:
    """A program of ours that is no module of any package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec
    assert spec.loader
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Synthesise = Callable[..., Path]
"""Synthesises the app, after `change` was called with it; returns the cloud assembly's folder."""


def template_of(assembly: Path) -> dict[str, Any]:
    return json.loads((assembly / f"{STACK}.template.json").read_text())


def deploy(assembly: Path, template: dict[str, Any]) -> dict[str, str]:
    """What `cdk bootstrap` and `cdk deploy` do, by the API; returns the stack's outputs."""
    aws.client("ssm").put_parameter(Name="/cdk-bootstrap/hnb659fds/version", Value="30", Type="String")
    bucket = f"cdk-hnb659fds-assets-{ACCOUNT}-{REGION}"
    aws.client("s3").create_bucket(Bucket=bucket)
    for file in json.loads((assembly / f"{STACK}.assets.json").read_text())["files"].values():
        (destination,) = file["destinations"].values()
        body = (assembly / file["source"]["path"]).read_bytes()
        aws.client("s3").put_object(Bucket=bucket, Key=destination["objectKey"], Body=body)
    cloudformation = aws.client("cloudformation")
    cloudformation.create_stack(
        StackName=STACK, TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_IAM"]
    )
    cloudformation.get_waiter("stack_create_complete").wait(
        StackName=STACK, WaiterConfig={"Delay": 1, "MaxAttempts": 120}
    )
    return outputs()


def outputs() -> dict[str, str]:
    (stack,) = aws.client("cloudformation").describe_stacks(StackName=STACK)["Stacks"]
    return {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}


@dataclass(frozen=True, slots=True)
class Deployed:
    """The stack on a local AWS that this process's boto3 speaks to."""

    aws: LocalAws
    outputs: dict[str, str]


def until(so: Callable[[], Any], seconds: float = 60) -> Any:
    """What it says as soon as that is true; an error if it does not become so."""
    give_up = time.monotonic() + seconds
    while not (found := so()):
        assert time.monotonic() < give_up, "it does not happen"
        time.sleep(0.1)
    return found


def request(thread_id: str, order_id: str, amount: str) -> str:
    refund = {"order_id": order_id, "amount": amount, "reason": "damp"}
    return json.dumps({"thread_id": thread_id, "start_id": "request-1", "input": refund})


def batch(*messages: tuple[str, str, str]) -> dict[str, Any]:
    return {
        "Records": [
            {
                "messageId": message_id,
                "receiptHandle": message_id,
                "body": body,
                "attributes": {
                    "MessageGroupId": group,
                    "ApproximateReceiveCount": "1",
                    "SentTimestamp": "1796065207000",
                },
                "messageAttributes": {},
                "eventSource": "aws:sqs",
            }
            for message_id, group, body in messages
        ]
    }


ALL_WELL: dict[str, Any] = {"batchItemFailures": []}
