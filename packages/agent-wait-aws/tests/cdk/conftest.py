from collections.abc import Callable
from typing import Any

import pytest

Template = dict[str, Any]


@pytest.fixture(scope="session")
def synthesised(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """The template of an `AgentWaitStack` with nothing set that need not be, and a sweep."""
    from agent_wait_aws.cdk import AgentWaitStack
    from aws_cdk import App
    from aws_cdk.assertions import Template as Synthesised
    from aws_cdk.aws_lambda import Architecture, Code, Runtime

    code = tmp_path_factory.mktemp("code")
    (code / "my_agent.py").touch()
    stack = AgentWaitStack(
        App(outdir=str(tmp_path_factory.mktemp("cdk.out"))),
        "Agent",
        code=Code.from_asset(str(code)),
        handler="my_agent.handler",
        sweep_handler="my_agent.sweep",
        runtime=Runtime.PYTHON_3_13,
        architecture=Architecture.ARM_64,
        environment={"MODEL": "some-model"},
    )
    return dict(Synthesised.from_stack(stack).to_json())


@pytest.fixture
def resources(synthesised: Template) -> Callable[[str], Template]:
    """All resources of a type, by their logical ids without the hash at the end."""

    def of_type(kind: str) -> Template:
        return {
            name[:-8] if name != "Deadlines" else name: each
            for name, each in synthesised["Resources"].items()
            if each["Type"] == kind
        }

    return of_type
