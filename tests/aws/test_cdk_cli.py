"""From an account with nothing in it to a stack that answers, by the commands of docs/deploying-on-aws.md."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from local_aws import LocalAws
from local_stack import ROOT, STACK
from refund_agent import aws

pytestmark = [pytest.mark.services, pytest.mark.timeout(900)]

CLI = "aws-cdk@2"

Run = Callable[..., str]


@pytest.fixture(scope="module")
def cdk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The CDK's command line, from npm."""
    npm = shutil.which("npm")
    assert npm, "npm is needed to install the CDK's command line: apt-get install npm"
    folder = tmp_path_factory.mktemp("npm")
    install = [npm, "install", "--no-audit", "--no-fund", "--silent", "--prefix", folder, CLI]
    subprocess.run(install, check=True)
    return folder / "node_modules" / ".bin" / "cdk"


@pytest.fixture(scope="module")
def run() -> Iterator[Run]:
    """Run a command where everything is on the local AWS; returns what it printed."""
    with LocalAws() as local_aws, local_aws.in_environment():
        environment = {
            **{name: os.environ[name] for name in ("PATH", "HOME", "JSII_NODE")},
            **local_aws.settings,
            "AWS_ENDPOINT_URL_S3": local_aws.endpoint,
            "CDK_DISABLE_VERSION_CHECK": "1",
            "CI": "true",
        }

        def run(*command: object) -> str:
            done = subprocess.run(
                [str(each) for each in command],
                cwd=ROOT / "infra",
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            return done.stdout

        yield run


def test_bootstrap_deploy_use_and_destroy(cdk: Path, run: Run, asset: Any, tmp_path: Path) -> None:
    app = (
        *("--app", f"{sys.executable} app.py"),
        *("--output", tmp_path / "cdk.out"),
        *("--context", f"asset={asset.zip}", "--context", "keep=no"),
    )
    run(cdk, "bootstrap", "--app", "", "aws://000000000000/us-east-1")
    run(cdk, "deploy", *app, "--require-approval", "never")

    told = run(sys.executable, "-m", "refund_agent.scenarios", "--aws", "A", "B")
    assert "14 of 14 checks hold" in told

    run(cdk, "destroy", *app, "--force")
    left = aws.client("cloudformation").list_stacks(StackStatusFilter=["CREATE_COMPLETE"])["StackSummaries"]
    assert STACK not in {each["StackName"] for each in left}
    assert aws.dynamodb().list_tables()["TableNames"] == []
