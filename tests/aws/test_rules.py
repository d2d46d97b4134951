"""The stack by the rules of others: cdk-nag's AWS Solutions pack, and CloudFormation's linter."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from local_stack import STACK, Synthesise

pytestmark = pytest.mark.timeout(300)

EXPLAINED = {
    "W3005": "the CDK writes a DependsOn beside each reference to a role; redundant, and harmless",
}


def test_the_aws_solutions_pack_finds_nothing_that_is_not_explained(synthesise: Synthesise) -> None:
    from aws_cdk import Validations
    from cdk_nag import AwsSolutionsChecks

    def check(app: Any) -> None:
        Validations.of(app).add_plugins(AwsSolutionsChecks(app))

    # It raises for what it finds.
    report = synthesise(change=check) / "validation-report.json"

    violations = (
        [each for plugin in json.loads(report.read_text())["pluginReports"] for each in plugin["violations"]]
        if report.exists()
        else []
    )
    assert violations == []


def test_what_is_explained_is_there_to_be_explained(
    synthesise: Synthesise, monkeypatch: pytest.MonkeyPatch
) -> None:
    from aws_cdk import Validations
    from cdk_nag import AwsSolutionsChecks

    def check(app: Any) -> None:
        Validations.of(app).add_plugins(AwsSolutionsChecks(app))

    monkeypatch.setattr(Validations, "acknowledge", lambda self, *explained: None)
    with pytest.raises(RuntimeError, match="ValidationFailed"):
        synthesise(change=check)


def test_the_linter_finds_nothing_that_is_not_explained(assembly: Path) -> None:
    command = [
        Path(sys.executable).with_name("cfn-lint"),
        "--format",
        "json",
        assembly / f"{STACK}.template.json",
    ]

    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)

    assert {each["Rule"]["Id"] for each in found} == set(EXPLAINED)
