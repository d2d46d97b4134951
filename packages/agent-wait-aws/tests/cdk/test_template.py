"""The template, resource by resource; what it is worth to a running agent is tried in tests/aws."""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

Resources = Callable[[str], dict[str, Any]]


def named(reference: Any) -> str:
    """`Entry/Queue.Arn` for a GetAtt, `Entry/Queue` for a Ref, and the text of a Join of those."""
    match reference:
        case {"Fn::GetAtt": [name, attribute]}:
            return f"{name[:-8]}.{attribute}"
        case {"Ref": "Deadlines"}:
            return "Deadlines"
        case {"Ref": name} if name.startswith("AWS::"):
            return f"<{name}>"
        case {"Ref": name}:
            return name[:-8]
        case {"Fn::Join": ["", parts]}:
            return "".join(map(named, parts))
        case _:
            return reference


def statements(resources: Resources, role: str) -> list[tuple[str, str, str]]:
    """Every statement of a role's policies as (effect and condition, actions, resources)."""
    return [
        (
            " ".join(
                [each["Effect"], *(f"if {condition}" for condition in [each.get("Condition")] if condition)]
            ),
            " ".join(each["Action"] if isinstance(each["Action"], list) else [each["Action"]]),
            named(each["Resource"]),
        )
        for policy in resources("AWS::IAM::Policy").values()
        if [named(each) for each in policy["Properties"]["Roles"]] == [role]
        for each in policy["Properties"]["PolicyDocument"]["Statement"]
    ]


def test_the_stack_is_made_of_this_and_nothing_else(synthesised: dict[str, Any]) -> None:
    assert Counter(each["Type"] for each in synthesised["Resources"].values()) == {
        "AWS::CloudWatch::Alarm": 2,
        "AWS::DynamoDB::Table": 2,
        "AWS::Events::Rule": 1,
        "AWS::IAM::Policy": 3,
        "AWS::IAM::Role": 3,
        "AWS::Lambda::EventSourceMapping": 1,
        "AWS::Lambda::Function": 2,
        "AWS::Lambda::Permission": 1,
        "AWS::Logs::LogGroup": 2,
        "AWS::SNS::Topic": 1,
        "AWS::SNS::TopicPolicy": 1,
        "AWS::SQS::Queue": 2,
        "AWS::SQS::QueuePolicy": 2,
        "AWS::Scheduler::ScheduleGroup": 1,
    }


def test_nothing_has_a_name_that_would_keep_a_second_stack_from_being_deployed(
    synthesised: dict[str, Any],
) -> None:
    names = re.compile(r"(Queue|Topic|Table|Function|Role|Group|Rule|Alarm)?Name$")
    for each in synthesised["Resources"].values():
        given = {key for key in each.get("Properties", {}) if names.match(key)}
        assert given <= {"FunctionName"} if "Lambda" in each["Type"] else given <= {"MetricName"}


@pytest.mark.requirement("VISIBILITY-DOUBLE-RUN")
def test_a_message_is_hidden_for_six_times_as_long_as_it_may_be_handled(resources: Resources) -> None:
    queue = resources("AWS::SQS::Queue")["EntryQueue"]["Properties"]
    function = resources("AWS::Lambda::Function")["AgentFunction"]["Properties"]

    assert queue["VisibilityTimeout"] == 6 * function["Timeout"] == 360
    assert named(queue["RedrivePolicy"]["deadLetterTargetArn"]) == "EntryDeadLetters.Arn"
    assert queue["RedrivePolicy"]["maxReceiveCount"] == 5


@pytest.mark.parametrize("name", ["EntryQueue", "EntryDeadLetters"])
def test_both_queues_are_grouped_deduplicated_by_content_and_encrypted(
    resources: Resources, name: str
) -> None:
    properties = resources("AWS::SQS::Queue")[name]["Properties"]

    assert {
        key: properties[key] for key in properties if key not in ("RedrivePolicy", "VisibilityTimeout")
    } == {
        "FifoQueue": True,
        "ContentBasedDeduplication": True,
        "DeduplicationScope": "messageGroup",
        "FifoThroughputLimit": "perMessageGroupId",
        "SqsManagedSseEnabled": True,
        "MessageRetentionPeriod": 14 * 24 * 3600,
    }


def test_queues_and_topic_refuse_what_does_not_come_over_tls(resources: Resources) -> None:
    policies = {**resources("AWS::SQS::QueuePolicy"), **resources("AWS::SNS::TopicPolicy")}
    found = {
        named(each["Resource"]): (each["Effect"], each["Action"], each["Condition"])
        for policy in policies.values()
        for each in policy["Properties"]["PolicyDocument"]["Statement"]
    }

    without_tls = {"Bool": {"aws:SecureTransport": "false"}}
    assert found == {
        "EntryQueue.Arn": ("Deny", "sqs:*", without_tls),
        "EntryDeadLetters.Arn": ("Deny", "sqs:*", without_tls),
        "Questions": ("Deny", "sns:Publish", without_tls),
    }


def test_the_topic_is_encrypted_by_the_account_s_own_key(resources: Resources) -> None:
    (topic,) = resources("AWS::SNS::Topic").values()

    key = "arn:<AWS::Partition>:kms:<AWS::Region>:<AWS::AccountId>:alias/aws/sns"
    assert named(topic["Properties"]["KmsMasterKeyId"]) == key


@pytest.mark.parametrize(
    ("name", "queue", "metric", "threshold"),
    [
        ("EntryDeadLetterAlarm", "EntryDeadLetters", "ApproximateNumberOfMessagesVisible", 1),
        ("EntryAgeAlarm", "EntryQueue", "ApproximateAgeOfOldestMessage", 720),
    ],
)
def test_an_alarm_tells_of_a_dead_letter_and_of_a_message_that_waits(
    resources: Resources, name: str, queue: str, metric: str, threshold: int
) -> None:
    alarm = resources("AWS::CloudWatch::Alarm")[name]["Properties"]

    assert [named(each["Value"]) for each in alarm["Dimensions"]] == [f"{queue}.QueueName"]
    assert (alarm["Namespace"], alarm["MetricName"], alarm["Statistic"]) == ("AWS/SQS", metric, "Maximum")
    assert (alarm["Threshold"], alarm["EvaluationPeriods"], alarm["Period"]) == (threshold, 1, 60)
    assert alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
    assert alarm["TreatMissingData"] == "notBreaching"


@pytest.mark.parametrize(("name", "key"), [("ApprovalsTable", ["pk", "sk"]), ("Checkpoints", ["PK", "SK"])])
def test_both_tables_can_be_restored_and_stay_when_the_stack_goes(
    resources: Resources, name: str, key: list[str]
) -> None:
    table = resources("AWS::DynamoDB::Table")[name]
    properties = table["Properties"]

    assert [each["AttributeName"] for each in properties["KeySchema"]] == key
    assert {each["AttributeType"] for each in properties["AttributeDefinitions"]} == {"S"}
    assert properties["BillingMode"] == "PAY_PER_REQUEST"
    assert properties["PointInTimeRecoverySpecification"] == {"PointInTimeRecoveryEnabled": True}
    assert properties["TimeToLiveSpecification"] == {"AttributeName": "ttl", "Enabled": True}
    assert (table["DeletionPolicy"], table["UpdateReplacePolicy"]) == ("Retain", "Retain")


def test_questions_are_found_by_status_nearest_deadline_first(resources: Resources) -> None:
    (index,) = resources("AWS::DynamoDB::Table")["ApprovalsTable"]["Properties"]["GlobalSecondaryIndexes"]

    assert index == {
        "IndexName": "by_status",
        "KeySchema": [
            {"AttributeName": "status", "KeyType": "HASH"},
            {"AttributeName": "expires_at", "KeyType": "RANGE"},
        ],
        "Projection": {"ProjectionType": "ALL"},
    }


def test_the_mapping_reports_failures_message_by_message_and_waits_for_its_grant(
    resources: Resources,
) -> None:
    (mapping,) = resources("AWS::Lambda::EventSourceMapping").values()
    properties = mapping["Properties"]

    assert named(properties["EventSourceArn"]) == "EntryQueue.Arn"
    assert named(properties["FunctionName"]) == "AgentFunction"
    assert properties["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert properties["BatchSize"] == 10
    assert [name[:-8] for name in mapping["DependsOn"]] == ["AgentRoleDefaultPolicy"]


@pytest.mark.parametrize(
    ("name", "handler", "log"),
    [("AgentFunction", "my_agent.handler", "AgentLog"), ("SweepFunction", "my_agent.sweep", "SweepLog")],
)
def test_a_function_knows_the_rest_by_its_environment(
    resources: Resources, name: str, handler: str, log: str
) -> None:
    properties = resources("AWS::Lambda::Function")[name]["Properties"]

    assert (properties["Handler"], properties["Runtime"], properties["Architectures"]) == (
        handler,
        "python3.13",
        ["arm64"],
    )
    assert (properties["Timeout"], properties["MemorySize"]) == (60, 1024)
    assert named(properties["LoggingConfig"]["LogGroup"]) == log
    assert {key: named(value) for key, value in properties["Environment"]["Variables"].items()} == {
        "ENTRY_QUEUE_URL": "EntryQueue",
        "ENTRY_QUEUE_ARN": "EntryQueue.Arn",
        "DEAD_LETTER_QUEUE_URL": "EntryDeadLetters",
        "TOPIC_ARN": "Questions",
        "APPROVALS_TABLE": "ApprovalsTable",
        "CHECKPOINT_TABLE": "Checkpoints",
        "SCHEDULE_GROUP": "Deadlines",
        "SCHEDULE_ROLE_ARN": "DeadlineRole.Arn",
        "MODEL": "some-model",
    }


@pytest.mark.parametrize("name", ["AgentLog", "SweepLog"])
def test_a_log_is_kept_for_a_month_and_goes_with_the_stack(resources: Resources, name: str) -> None:
    log = resources("AWS::Logs::LogGroup")[name]

    assert (log["Properties"], log["DeletionPolicy"]) == ({"RetentionInDays": 30}, "Delete")


def test_the_sweep_runs_every_minute_and_is_not_tried_again_in_between(resources: Resources) -> None:
    (rule,) = resources("AWS::Events::Rule").values()
    (target,) = rule["Properties"]["Targets"]
    (permission,) = resources("AWS::Lambda::Permission").values()

    assert (rule["Properties"]["ScheduleExpression"], rule["Properties"]["State"]) == (
        "rate(1 minute)",
        "ENABLED",
    )
    assert (named(target["Arn"]), target["RetryPolicy"]) == ("SweepFunction.Arn", {"MaximumRetryAttempts": 0})
    assert permission["Properties"]["Principal"] == "events.amazonaws.com"
    assert named(permission["Properties"]["SourceArn"]) == "EveryMinute.Arn"


def test_the_agent_may_do_this_and_nothing_else(resources: Resources) -> None:
    schedules = "arn:<AWS::Partition>:scheduler:<AWS::Region>:<AWS::AccountId>:schedule/Deadlines/aw-*"
    to_scheduler = {"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}
    checkpoints = "dynamodb:BatchGetItem dynamodb:GetItem dynamodb:Query dynamodb:PutItem"

    assert statements(resources, "AgentRole") == [
        ("Allow", "logs:CreateLogStream logs:PutLogEvents", "AgentLog.Arn"),
        ("Allow", "sqs:SendMessage", "EntryDeadLetters.Arn"),
        ("Allow", "sqs:ReceiveMessage sqs:DeleteMessage sqs:GetQueueAttributes", "EntryQueue.Arn"),
        ("Allow", "dynamodb:PutItem dynamodb:UpdateItem", "ApprovalsTable.Arn"),
        ("Allow", checkpoints, "Checkpoints.Arn"),
        ("Allow", "sns:Publish", "Questions"),
        ("Allow", "scheduler:CreateSchedule scheduler:DeleteSchedule", schedules),
        (f"Allow if {to_scheduler}", "iam:PassRole", "DeadlineRole.Arn"),
    ]


def test_the_sweep_may_do_this_and_nothing_else(resources: Resources) -> None:
    assert statements(resources, "SweepRole") == [
        ("Allow", "logs:CreateLogStream logs:PutLogEvents", "SweepLog.Arn"),
        ("Allow", "dynamodb:Query", "ApprovalsTable.Arn/index/by_status"),
        ("Allow", "dynamodb:UpdateItem", "ApprovalsTable.Arn"),
        ("Allow", "sqs:SendMessage", "EntryQueue.Arn"),
        ("Allow", "dynamodb:BatchGetItem dynamodb:GetItem dynamodb:Query", "Checkpoints.Arn"),
    ]


def test_scheduler_may_send_to_the_queue_for_schedules_of_this_group_only(resources: Resources) -> None:
    assert statements(resources, "DeadlineRole") == [("Allow", "sqs:SendMessage", "EntryQueue.Arn")]

    role = resources("AWS::IAM::Role")["DeadlineRole"]["Properties"]
    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert trust["Principal"] == {"Service": "scheduler.amazonaws.com"}
    assert named(trust["Condition"]["StringEquals"]["aws:SourceAccount"]) == "<AWS::AccountId>"
    assert named(trust["Condition"]["ArnEquals"]["aws:SourceArn"]) == (
        "arn:<AWS::Partition>:scheduler:<AWS::Region>:<AWS::AccountId>:schedule-group/Deadlines"
    )


@pytest.mark.parametrize("name", ["AgentRole", "SweepRole"])
def test_a_function_s_role_is_lambda_s_to_take_and_has_no_managed_policy(
    resources: Resources, name: str
) -> None:
    role = resources("AWS::IAM::Role")[name]["Properties"]

    (trust,) = role["AssumeRolePolicyDocument"]["Statement"]
    assert (trust["Principal"], trust["Action"]) == ({"Service": "lambda.amazonaws.com"}, "sts:AssumeRole")
    assert role.keys() == {"AssumeRolePolicyDocument"}


def test_the_outputs_are_what_the_scenarios_read(synthesised: dict[str, Any]) -> None:
    outputs = {name: named(each["Value"]) for name, each in synthesised["Outputs"].items()}

    assert outputs == {
        "EntryQueueUrl": "EntryQueue",
        "DeadLetterQueueUrl": "EntryDeadLetters",
        "TopicArn": "Questions",
        "ApprovalsTable": "ApprovalsTable",
        "CheckpointTable": "Checkpoints",
        "AgentFunction": "AgentFunction",
        "SweepFunction": "SweepFunction",
    }
