"""The agent itself."""

from collections.abc import Mapping

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from agent_wait_aws.cdk._queue import AgentQueue


class LoggedFunction(Construct):
    """A Lambda function that may write to a log group of its own, and do nothing else."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        code: lambda_.Code,
        handler: str,
        runtime: lambda_.Runtime,
        architecture: lambda_.Architecture,
        timeout: Duration,
        memory_size: int,
        environment: Mapping[str, str] | None,
        log_retention: logs.RetentionDays,
        description: str,
    ) -> None:
        super().__init__(scope, id)
        self.log_group = logs.LogGroup(
            self, "Log", retention=log_retention, removal_policy=RemovalPolicy.DESTROY
        )
        # Not AWSLambdaBasicExecutionRole, which may write to every log group of the account.
        service = iam.ServicePrincipal("lambda.amazonaws.com")
        self.role = iam.Role(self, "Role", assumed_by=service)  # pyright: ignore[reportArgumentType]  # jsii names its parameters otherwise
        self.log_group.grant_write(self.role)
        self.function = lambda_.Function(
            self,
            "Function",
            code=code,
            handler=handler,
            runtime=runtime,
            architecture=architecture,
            timeout=timeout,
            memory_size=memory_size,
            environment=dict(environment or {}),
            role=self.role,  # pyright: ignore[reportArgumentType]  # jsii names its parameters otherwise
            log_group=self.log_group,
            description=description,
        )


class AgentFunction(LoggedFunction):
    """A Lambda function that is given the messages of an `AgentQueue`, and tells which of a batch failed.

    It may read that queue, put what it refuses on its dead-letter queue, and write to its own log; whatever
    else it needs is granted to `function`. Its handler returns
    `{"batchItemFailures": [{"itemIdentifier": <message id>}, ...]}`, and fails the later messages of a group
    once one of it has failed.

    Args:
        scope: Where it belongs.
        id: Its name there.
        queue: What it reads. Its `handler_timeout` is the function's timeout.
        code: The function's code and all that it imports.
        handler: Such as `my_agent.handler`.
        runtime: The Python that the code's compiled parts were made for.
        architecture: The processor that they were made for.
        batch_size: Messages of one invocation, 1 to 10, which is the most on a FIFO queue; all of them have
            to be handled within the timeout.
        memory_size: MiB, 128 to 10,240. A whole CPU comes with 1,769; importing LangGraph takes 0.8 s of one.
        environment: Variables of the function.
        log_retention: How long its log is kept; it is deleted with the stack.

    Attributes:
        function: The function.
        role: What it runs as.
        log_group: Where it logs.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        queue: AgentQueue,
        code: lambda_.Code,
        handler: str,
        runtime: lambda_.Runtime,
        architecture: lambda_.Architecture,
        batch_size: int = 10,
        memory_size: int = 1024,
        environment: Mapping[str, str] | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
    ) -> None:
        super().__init__(
            scope,
            id,
            code=code,
            handler=handler,
            runtime=runtime,
            architecture=architecture,
            timeout=queue.handler_timeout,
            memory_size=memory_size,
            environment=environment,
            log_retention=log_retention,
            description="Runs the agent: starts it with requests, resumes it with answers.",
        )
        queue.grant_set_aside(self.role)
        consume = queue.grant_consume(self.role)
        mapping = lambda_.EventSourceMapping(
            self,
            "Messages",
            target=self.function,  # pyright: ignore[reportArgumentType]  # jsii names its parameters otherwise
            event_source_arn=queue.queue.queue_arn,
            batch_size=batch_size,
            report_batch_item_failures=True,
        )
        # Lambda refuses a mapping for a role that cannot read the queue yet.
        consume.apply_before(mapping)
