"""boto3 as this process's environment points it, typed."""

from typing import TYPE_CHECKING, Any, cast

import boto3

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient
    from types_boto3_dynamodb.service_resource import Table
    from types_boto3_sns import SNSClient
    from types_boto3_sqs import SQSClient


def sqs() -> "SQSClient":
    return boto3.client("sqs")


def sns() -> "SNSClient":
    return boto3.client("sns")


def dynamodb() -> "DynamoDBClient":
    return boto3.client("dynamodb")


def table(name: str) -> "Table":
    return boto3.resource("dynamodb").Table(name)


def client(service: str) -> Any:
    """Of a service that only the deployed scenarios speak to."""
    return cast("Any", boto3).client(service)
