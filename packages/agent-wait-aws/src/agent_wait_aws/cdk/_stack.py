"""All of it in one stack."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import Acknowledgment, CfnOutput, Duration, RemovalPolicy, Stack, Validations
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_scheduler as scheduler
from aws_cdk import aws_sns as sns
from constructs import Construct

from agent_wait_aws.cdk._approvals import ApprovalsTable
from agent_wait_aws.cdk._function import AgentFunction, LoggedFunction
from agent_wait_aws.cdk._grants import allow
from agent_wait_aws.cdk._queue import AgentQueue

_READ_CHECKPOINTS = ("dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query")
_KEEP_CHECKPOINTS = (*_READ_CHECKPOINTS, "dynamodb:PutItem")
"""What the `DynamoDBSaver` of langgraph-checkpoint-aws calls when an agent is run."""

_SCHEDULES_BY_PREFIX = Acknowledgment(
    id=(
        "AwsSolutions::AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:scheduler:<AWS::Region>:"
        "<AWS::AccountId>:schedule/<Deadlines>/aw-*]"
    ),
    reason=(
        "A schedule is named after its question, so its name cannot be known here; the wildcard covers what "
        "SchedulerAnnounce names, in a group that belongs to this stack alone."
    ),
)
"""What cdk-nag's AWS Solutions pack finds here, and why it stays."""


class AgentWaitStack(Stack):
    """An agent behind a queue, and everything that its questions need.

    | part | |
    |---|---|
    | `queue` | `AgentQueue`: requests and answers come in here |
    | `topic` | SNS: the questions go out here; encrypted by the account's own SNS key, TLS only |
    | `approvals` | `ApprovalsTable`: the questions as rows, for whoever answers |
    | `checkpoints` | DynamoDB: where LangGraph's `DynamoDBSaver` keeps the threads |
    | `deadlines`, `deadline_role` | for `SchedulerAnnounce`: EventBridge Scheduler's group, and its role |
    | `agent` | `AgentFunction` |
    | `sweep` | a function that runs every minute, if there is a handler for it |

    The functions learn the rest by their environment: `ENTRY_QUEUE_URL`, `ENTRY_QUEUE_ARN`,
    `DEAD_LETTER_QUEUE_URL`, `TOPIC_ARN`, `APPROVALS_TABLE`, `CHECKPOINT_TABLE`, `SCHEDULE_GROUP` and
    `SCHEDULE_ROLE_ARN`. The stack's outputs are `EntryQueueUrl`, `DeadLetterQueueUrl`, `TopicArn`,
    `ApprovalsTable`, `CheckpointTable`, `AgentFunction` and, with a sweep, `SweepFunction`.

    Deleting the stack leaves both tables, since parked threads and who approved what cannot be made again;
    it deletes the queues with what is in them, the schedules, and the logs.

    Args:
        scope: The app.
        id: The stack's name there.
        code: The functions' code and all that it imports.
        handler: The agent's, such as `my_agent.handler`; see `AgentFunction`.
        runtime: The Python that the code's compiled parts were made for.
        architecture: The processor that they were made for.
        sweep_handler: A handler to run every minute with an empty event; None for no such function. It may
            list and answer questions, send to the queue, and read the threads.
        timeout: Of the agent, for a whole batch, up to 15 minutes; None is a minute.
        batch_size: Messages of one invocation of the agent, 1 to 10.
        memory_size: MiB of either function, 128 to 10,240.
        environment: More variables for both functions.
        log_retention: How long the logs are kept.
        removal_policy: Of both tables.
        stack_options: Whatever else a `Stack` takes, such as `env`.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        code: lambda_.Code,
        handler: str,
        runtime: lambda_.Runtime,
        architecture: lambda_.Architecture,
        sweep_handler: str | None = None,
        timeout: Duration | None = None,
        batch_size: int = 10,
        memory_size: int = 1024,
        environment: Mapping[str, str] | None = None,
        log_retention: logs.RetentionDays = logs.RetentionDays.ONE_MONTH,
        removal_policy: RemovalPolicy = RemovalPolicy.RETAIN,
        **stack_options: Any,
    ) -> None:
        super().__init__(scope, id, **stack_options)
        self.queue = AgentQueue(self, "Entry", handler_timeout=timeout)
        self.approvals = ApprovalsTable(self, "Approvals", removal_policy=removal_policy)
        self.checkpoints = self._make_checkpoints(removal_policy)
        self.topic = sns.Topic(
            self,
            "Questions",
            enforce_ssl=True,
            master_key=kms.Alias.from_alias_name(self, "SnsKey", "alias/aws/sns"),
        )
        self.deadlines = scheduler.CfnScheduleGroup(self, "Deadlines")
        self.deadline_role = self._make_deadline_role()
        known = {
            "ENTRY_QUEUE_URL": self.queue.queue.queue_url,
            "ENTRY_QUEUE_ARN": self.queue.queue.queue_arn,
            "DEAD_LETTER_QUEUE_URL": self.queue.dead_letter_queue.queue_url,
            "TOPIC_ARN": self.topic.topic_arn,
            "APPROVALS_TABLE": self.approvals.table_name,
            "CHECKPOINT_TABLE": self.checkpoints.table_name,
            "SCHEDULE_GROUP": self._group_name,
            "SCHEDULE_ROLE_ARN": self.deadline_role.role_arn,
            **(environment or {}),
        }
        self.agent = AgentFunction(
            self,
            "Agent",
            queue=self.queue,
            code=code,
            handler=handler,
            runtime=runtime,
            architecture=architecture,
            batch_size=batch_size,
            memory_size=memory_size,
            environment=known,
            log_retention=log_retention,
        )
        self._grant_agent(self.agent.role)
        self.sweep: LoggedFunction | None = None
        if sweep_handler is not None:
            self.sweep = LoggedFunction(
                self,
                "Sweep",
                code=code,
                handler=sweep_handler,
                runtime=runtime,
                architecture=architecture,
                timeout=Duration.minutes(1),
                memory_size=memory_size,
                environment=known,
                log_retention=log_retention,
                description="Runs every minute: deadlines, and answers that got stuck on the way.",
            )
            self._grant_sweep(self.sweep.role)
            self._run_every_minute(self.sweep.function)
        self._tell()
        Validations.of(self).acknowledge(_SCHEDULES_BY_PREFIX)

    def _make_checkpoints(self, removal_policy: RemovalPolicy) -> dynamodb.Table:
        return dynamodb.Table(
            self,
            "Checkpoints",
            partition_key=dynamodb.Attribute(name="PK", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="SK", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            time_to_live_attribute="ttl",
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            removal_policy=removal_policy,
        )

    @property
    def _group_name(self) -> str:
        # A reference, so that what is told the name is made after the group.
        return self.deadlines.ref

    def _make_deadline_role(self) -> iam.Role:
        group_arn = self.format_arn(
            service="scheduler", resource="schedule-group", resource_name=self._group_name
        )
        # For schedules of this group only: otherwise any schedule of any account could be set to use it.
        only_here = {
            "StringEquals": {"aws:SourceAccount": self.account},
            "ArnEquals": {"aws:SourceArn": group_arn},
        }
        service = iam.ServicePrincipal("scheduler.amazonaws.com", conditions=only_here)
        role = iam.Role(self, "DeadlineRole", assumed_by=service)  # pyright: ignore[reportArgumentType]  # jsii names its parameters otherwise
        self.queue.grant_send(role)
        return role

    def _grant_agent(self, role: iam.Role) -> None:
        self.approvals.grant_announce(role)
        allow(role, _KEEP_CHECKPOINTS, (self.checkpoints.table_arn,))
        allow(role, ("sns:Publish",), (self.topic.topic_arn,))
        # `SchedulerAnnounce` names its schedules aw-<hash of the ask>.
        schedules = self.format_arn(
            service="scheduler", resource="schedule", resource_name=f"{self._group_name}/aw-*"
        )
        allow(role, ("scheduler:CreateSchedule", "scheduler:DeleteSchedule"), (schedules,))
        to_scheduler = {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}
        allow(role, ("iam:PassRole",), (self.deadline_role.role_arn,), to_scheduler)

    def _grant_sweep(self, role: iam.Role) -> None:
        self.approvals.grant_list(role)
        self.approvals.grant_answer(role)
        self.queue.grant_send(role)
        allow(role, _READ_CHECKPOINTS, (self.checkpoints.table_arn,))

    def _run_every_minute(self, function: lambda_.Function) -> None:
        # What one run did not do, the next one does: a retry would only be another run beside it.
        target = targets.LambdaFunction(
            function,  # pyright: ignore[reportArgumentType]  # jsii names its parameters otherwise
            event=events.RuleTargetInput.from_object({}),
            retry_attempts=0,
        )
        every_minute = events.Schedule.rate(Duration.minutes(1))
        rule = events.Rule(self, "EveryMinute", schedule=every_minute)
        rule.add_target(target)  # pyright: ignore[reportArgumentType]  # jsii names its parameters otherwise

    def _tell(self) -> None:
        outputs = {
            "EntryQueueUrl": self.queue.queue.queue_url,
            "DeadLetterQueueUrl": self.queue.dead_letter_queue.queue_url,
            "TopicArn": self.topic.topic_arn,
            "ApprovalsTable": self.approvals.table_name,
            "CheckpointTable": self.checkpoints.table_name,
            "AgentFunction": self.agent.function.function_name,
        }
        if self.sweep is not None:
            outputs["SweepFunction"] = self.sweep.function.function_name
        for name, value in outputs.items():
            CfnOutput(self, name, value=value)
