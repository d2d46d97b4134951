"""AWS on this machine, for the demo and for tests that depend on how a queue behaves.

```python
with LocalAws() as aws, aws.in_environment():
    boto3.client("sqs").create_queue(QueueName="here")
```
"""

from local_aws._local_aws import LocalAws, LocalAwsError

__all__ = ["LocalAws", "LocalAwsError"]
