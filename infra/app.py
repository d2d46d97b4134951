"""The refund agent on AWS. `make lambda` makes the asset; then `cdk deploy` in this folder.

Context: `-c asset=FILE` (the asset, whose name says what it was built for) and `-c keep=no` (tables go with
the stack).
"""

from pathlib import Path

import aws_cdk as cdk
from agent_wait_aws.cdk import AgentWaitStack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk.aws_lambda import Architecture, Code, Runtime, RuntimeFamily

OUR_PYTHON = cdk.Acknowledgment(
    id="AwsSolutions::AwsSolutions-L1",
    reason=(
        "The functions run on the Python that everything here is tested on, and for which the asset's byte "
        "code is made. AWS supports it; that there is a newer one is no reason to run on one less tested."
    ),
)


class RefundStack(AgentWaitStack):
    """The stack, and the ledger of the shop, which is the example's own."""

    def __init__(self, app: cdk.App, id: str, *, asset: Path, removal_policy: cdk.RemovalPolicy) -> None:
        # refund-agent-py3.12-arm64.zip
        python, architecture = asset.stem.rsplit("-", 2)[1:]
        super().__init__(
            app,
            id,
            code=Code.from_asset(str(asset)),
            handler="refund_agent.lambda_handler.handler",
            sweep_handler="refund_agent.sweep.handler",
            runtime=Runtime(f"python{python.removeprefix('py')}", RuntimeFamily.PYTHON),
            architecture={"x86_64": Architecture.X86_64, "arm64": Architecture.ARM_64}[architecture],
            removal_policy=removal_policy,
        )
        ledger = dynamodb.Table(
            self,
            "Ledger",
            partition_key=dynamodb.Attribute(name="key", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            removal_policy=removal_policy,
        )
        ledger.grant(self.agent.function, "dynamodb:GetItem", "dynamodb:PutItem")
        for part in (self.agent, self.sweep):
            if part is not None:
                part.function.add_environment("LEDGER_TABLE", ledger.table_name)
        cdk.CfnOutput(self, "LedgerTable", value=ledger.table_name)
        cdk.Validations.of(self).acknowledge(OUR_PYTHON)


def main() -> None:
    app = cdk.App()
    keep = app.node.try_get_context("keep") != "no"
    RefundStack(
        app,
        app.node.try_get_context("stack") or "RefundAgent",
        asset=Path(app.node.get_context("asset")),
        removal_policy=cdk.RemovalPolicy.RETAIN if keep else cdk.RemovalPolicy.DESTROY,
    )
    app.synth()


if __name__ == "__main__":
    main()
