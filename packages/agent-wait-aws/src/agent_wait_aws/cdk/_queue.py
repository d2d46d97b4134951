"""The way in to an agent."""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from agent_wait_aws.cdk._grants import allow

_VISIBILITY = 6
"""Times the handler's timeout. Lambda Developer Guide, "Configuring a queue to use with Lambda"."""

_RETENTION = Duration.days(14)
"""The longest there is. Service model 2012-11-05, MessageRetentionPeriod."""


class AgentQueue(Construct):
    """An SQS FIFO queue for requests and answers, its dead-letter queue, and an alarm on each.

    Grouped by thread (`agent_wait_aws.group_id`), so that a thread has one message at a time; deduplicated by
    content within a group, as EventBridge Scheduler sends no deduplication id; high throughput. Both queues
    are encrypted by SQS, take requests over TLS only, and keep messages for 14 days.

    A message is hidden for six times `handler_timeout` while it is handled: with less, one that takes long is
    handled twice at once.

    Args:
        scope: Where it belongs.
        id: Its name there.
        handler_timeout: The longest that handling a batch takes, up to 15 minutes.
        max_receives: How often a message is tried before it is a dead letter, 1 to 1,000.

    Attributes:
        queue: The way in.
        dead_letter_queue: What was refused, or given up.
        dead_letter_alarm: There is a dead letter.
        age_alarm: A message has waited for as long as two tries may take.
        handler_timeout: As given, for the function that handles it.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        handler_timeout: Duration | None = None,
        max_receives: int = 5,
    ) -> None:
        super().__init__(scope, id)
        self.handler_timeout = handler_timeout or Duration.minutes(1)
        hidden = Duration.seconds(_VISIBILITY * self.handler_timeout.to_seconds())
        self.dead_letter_queue = self._fifo("DeadLetters")
        self.queue = self._fifo(
            "Queue",
            visibility_timeout=hidden,
            dead_letter_queue=sqs.DeadLetterQueue(
                queue=self.dead_letter_queue, max_receive_count=max_receives
            ),
        )
        self.dead_letter_alarm = self._alarm(
            "DeadLetterAlarm",
            self.dead_letter_queue.metric_approximate_number_of_messages_visible(
                period=Duration.minutes(1), statistic="Maximum"
            ),
            threshold=1,
            description="A message to the agent was refused or given up: see the dead-letter queue.",
        )
        self.age_alarm = self._alarm(
            "AgeAlarm",
            self.queue.metric_approximate_age_of_oldest_message(
                period=Duration.minutes(1), statistic="Maximum"
            ),
            threshold=2 * hidden.to_seconds(),
            description="A message to the agent has waited, in seconds, for as long as two tries may take.",
        )

    @property
    def alarms(self) -> tuple[cloudwatch.Alarm, cloudwatch.Alarm]:
        """Both, to `add_alarm_action` to: who is told differs too much to have a default."""
        return (self.dead_letter_alarm, self.age_alarm)

    def grant_send(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let it send requests and answers: `sqs:SendMessage`. Who has it can approve anything."""
        return allow(grantee, ("sqs:SendMessage",), (self.queue.queue_arn,))

    def grant_consume(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let an event source mapping read the queue for it: what Lambda demands, and no more."""
        actions = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")
        return allow(grantee, actions, (self.queue.queue_arn,))

    def grant_set_aside(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let it put what it refuses on the dead-letter queue: `sqs:SendMessage`."""
        return allow(grantee, ("sqs:SendMessage",), (self.dead_letter_queue.queue_arn,))

    def _fifo(
        self,
        id: str,
        *,
        visibility_timeout: Duration | None = None,
        dead_letter_queue: sqs.DeadLetterQueue | None = None,
    ) -> sqs.Queue:
        return sqs.Queue(
            self,
            id,
            fifo=True,
            content_based_deduplication=True,
            deduplication_scope=sqs.DeduplicationScope.MESSAGE_GROUP,
            fifo_throughput_limit=sqs.FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=_RETENTION,
            visibility_timeout=visibility_timeout,
            dead_letter_queue=dead_letter_queue,
        )

    def _alarm(
        self, id: str, metric: cloudwatch.Metric, *, threshold: float, description: str
    ) -> cloudwatch.Alarm:
        return cloudwatch.Alarm(
            self,
            id,
            metric=metric,
            threshold=threshold,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
            alarm_description=description,
        )
