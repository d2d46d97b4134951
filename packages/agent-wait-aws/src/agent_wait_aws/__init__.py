"""agent-wait for AWS: publish an agent's questions to SNS, SQS, EventBridge, DynamoDB and Scheduler.

```python
from agent_wait import Question, publish
from agent_wait_aws import DynamoDbAnnounce, SnsAnnounce

topic = SnsAnnounce("arn:aws:sns:eu-west-1:123456789012:questions", only=("created",))
table = DynamoDbAnnounce("approvals", ttl_seconds=30 * 24 * 3600)


def announce(question: Question, thread_id: str) -> None:
    publish([question], thread_id, [topic, table]).raise_for_failures()
```

Importing it, and building an announcer, loads no boto3 and calls nothing.
"""

from agent_wait_aws._dynamodb import DynamoDbAnnounce
from agent_wait_aws._eventbridge import EventBridgeAnnounce
from agent_wait_aws._keys import group_id
from agent_wait_aws._row import envelope_of, row_key
from agent_wait_aws._scheduler import SchedulerAnnounce
from agent_wait_aws._sns import SnsAnnounce
from agent_wait_aws._sqs import SqsAnnounce

__all__ = [
    "DynamoDbAnnounce",
    "EventBridgeAnnounce",
    "SchedulerAnnounce",
    "SnsAnnounce",
    "SqsAnnounce",
    "envelope_of",
    "group_id",
    "row_key",
]
