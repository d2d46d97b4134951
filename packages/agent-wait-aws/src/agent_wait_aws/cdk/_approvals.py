"""The table of questions."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from constructs import Construct

from agent_wait_aws.cdk._grants import allow

INDEX = "by_status"


class ApprovalsTable(Construct):
    """The DynamoDB table that `DynamoDbAnnounce` writes and approvers read: one item a question.

    String keys `pk` and `sk`; index `by_status` (`status`, `expires_at`) with all attributes; time to live on
    `ttl`, which only closed rows have. On demand, encrypted, with point-in-time recovery (35 days).

    Args:
        scope: Where it belongs.
        id: Its name there.
        removal_policy: What becomes of it when the stack is deleted. It says who approved what, so it stays
            unless told otherwise.

    Attributes:
        table: The table itself.
    """

    def __init__(
        self, scope: Construct, id: str, *, removal_policy: RemovalPolicy = RemovalPolicy.RETAIN
    ) -> None:
        super().__init__(scope, id)
        self.table = dynamodb.Table(
            self,
            "Table",
            partition_key=dynamodb.Attribute(name="pk", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="sk", type=dynamodb.AttributeType.STRING),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            time_to_live_attribute="ttl",
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=True
            ),
            removal_policy=removal_policy,
        )
        self.table.add_global_secondary_index(
            index_name=INDEX,
            partition_key=dynamodb.Attribute(name="status", type=dynamodb.AttributeType.STRING),
            sort_key=dynamodb.Attribute(name="expires_at", type=dynamodb.AttributeType.STRING),
        )

    @property
    def table_name(self) -> str:
        """For `DynamoDbAnnounce`."""
        return self.table.table_name

    @property
    def _index_arn(self) -> str:
        return f"{self.table.table_arn}/index/{INDEX}"

    def grant_announce(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let it open and close questions: `dynamodb:PutItem` and `UpdateItem`."""
        return allow(grantee, ("dynamodb:PutItem", "dynamodb:UpdateItem"), (self.table.table_arn,))

    def grant_list(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let it find questions by their status, deadline first: `dynamodb:Query` on the index."""
        return allow(grantee, ("dynamodb:Query",), (self._index_arn,))

    def grant_answer(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let it claim a question for an answer: `dynamodb:UpdateItem`."""
        return allow(grantee, ("dynamodb:UpdateItem",), (self.table.table_arn,))
