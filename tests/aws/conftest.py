"""The refund agent's asset, its stack, and a local AWS that has it; nothing here needs an account."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from lambda_runtime import install_client
from local_aws import LocalAws
from local_stack import ROOT, STACK, Deployed, Synthesise, deploy, load, template_of


@pytest.fixture(scope="session")
def lambda_asset() -> ModuleType:
    return load(ROOT / "tools" / "lambda_asset.py")


@pytest.fixture(scope="session")
def asset(lambda_asset: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The asset for this Python, which is the one that ministack has, and this machine."""
    return lambda_asset.build(tmp_path_factory.mktemp("asset"))


@pytest.fixture(scope="session")
def synthesise(asset: Any, tmp_path_factory: pytest.TempPathFactory) -> Synthesise:
    """Synthesise the app with the asset; returns the cloud assembly's folder."""

    def synthesise(*, change: Callable[[Any], None] = lambda app: None) -> Path:
        import aws_cdk

        infra = load(ROOT / "infra" / "app.py")
        folder = tmp_path_factory.mktemp("cdk.out")
        app = aws_cdk.App(outdir=str(folder))
        infra.RefundStack(app, STACK, asset=asset.zip, removal_policy=aws_cdk.RemovalPolicy.DESTROY)
        change(app)
        app.synth()
        return folder

    return synthesise


@pytest.fixture(scope="session")
def assembly(synthesise: Synthesise) -> Path:
    return synthesise()


@pytest.fixture(scope="module")
def deployed(assembly: Path) -> Iterator[Deployed]:
    """The stack as it is synthesised, deployed."""
    with LocalAws() as local_aws, local_aws.in_environment():
        yield Deployed(local_aws, deploy(assembly, template_of(assembly)))


@pytest.fixture(scope="session")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install_client(tmp_path_factory.mktemp("runtime"))
