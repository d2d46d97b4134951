"""agent-wait for AWS: publish an agent's questions to SNS, SQS, EventBridge and DynamoDB."""
