import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from agent_wait import AnnounceError, FakeClock, WaitEnvelope
from agent_wait_aws import SchedulerAnnounce, group_id
from agent_wait_aws._scheduler import schedule_name
from botocore.exceptions import ClientError

Make = Callable[..., WaitEnvelope]
QUEUE = "arn:aws:sqs:us-east-1:123456789012:agent.fifo"
ROLE = "arn:aws:iam::123456789012:role/scheduler"
DEADLINE: dict[str, Any] = {"expires_at": "2026-12-03T20:44:52Z", "default": {"action": "reject"}}


def scheduler(
    client: Any, *, now: float = 1_796_065_207.0, target_arn: str = QUEUE, **more: Any
) -> SchedulerAnnounce:
    return SchedulerAnnounce(
        group_name="deadlines",
        target_arn=target_arn,
        role_arn=ROLE,
        client=client,
        clock=FakeClock(now),
        **more,
    )


def client_error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": ""}}, "CreateSchedule")


def test_a_deadline_with_a_default_is_a_schedule_that_sends_it(make_envelope: Make, client: Any) -> None:
    envelope = make_envelope(thread_id="thread 1", **DEADLINE)

    scheduler(client).deliver(envelope, "created")

    ((name, request),) = client.calls
    assert name == "create_schedule"
    sent = json.loads(request["Target"].pop("Input"))
    assert sent == {**envelope.reply_with, "answer": {"action": "reject"}}
    assert request == {
        "Name": schedule_name(envelope.ask_id),
        "GroupName": "deadlines",
        "ScheduleExpression": "at(2026-12-03T20:44:52)",
        "ScheduleExpressionTimezone": "UTC",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "ActionAfterCompletion": "DELETE",
        "Target": {"Arn": QUEUE, "RoleArn": ROLE, "SqsParameters": {"MessageGroupId": group_id("thread 1")}},
    }


@pytest.mark.parametrize("missing", ["expires_at", "default"])
def test_without_a_deadline_or_a_default_there_is_nothing_to_do(
    make_envelope: Make, client: Any, missing: str
) -> None:
    scheduler(client).deliver(make_envelope(**(DEADLINE | {missing: None})), "created")

    assert client.calls == []


@pytest.mark.parametrize(("now", "calls"), [(1_796_330_691.9, 1), (1_796_330_692.0, 0), (1_800_000_000.0, 0)])
def test_a_deadline_that_has_passed_is_left_to_the_sweep(
    make_envelope: Make, client: Any, now: float, calls: int
) -> None:
    scheduler(client, now=now).deliver(make_envelope(**DEADLINE), "created")

    assert len(client.calls) == calls


def test_a_closed_question_deletes_its_schedule(make_envelope: Make, client: Any) -> None:
    closed = make_envelope(type="wait.resumed")

    scheduler(client).deliver(closed, "resumed")

    assert client.calls == [
        ("delete_schedule", {"Name": schedule_name(make_envelope().ask_id), "GroupName": "deadlines"})
    ]


@pytest.mark.parametrize(
    ("transition", "code"), [("created", "ConflictException"), ("resumed", "ResourceNotFoundException")]
)
def test_what_is_done_already_is_done(make_envelope: Make, client: Any, transition: Any, code: str) -> None:
    client.replies = [client_error(code)]

    scheduler(client).deliver(make_envelope(**DEADLINE), transition)

    assert len(client.calls) == 1


def test_a_group_that_does_not_exist_is_a_failure(make_envelope: Make, client: Any) -> None:
    client.replies = [client_error("ResourceNotFoundException")]
    announcer = scheduler(client)

    with pytest.raises(AnnounceError, match="ResourceNotFoundException"):
        announcer.deliver(make_envelope(**DEADLINE), "created")


def test_many_are_made_side_by_side_and_fail_one_by_one(make_envelope: Make, client: Any) -> None:
    def create_schedule(**request: Any) -> None:
        if request["Name"] == schedule_name(make_envelope("q-3").ask_id):
            raise client_error("ThrottlingException")

    client.create_schedule = create_schedule
    envelopes = [make_envelope(f"q-{number}", **DEADLINE) for number in range(6)]

    errors = scheduler(client).deliver_many(envelopes, "created")

    assert [index for index, error in enumerate(errors) if error] == [3]


def test_a_standard_queue_gets_no_group_and_dead_letters_go_where_they_should(
    make_envelope: Make, client: Any
) -> None:
    dead = "arn:aws:sqs:us-east-1:123456789012:dead"

    scheduler(client, target_arn=QUEUE[:-5], dead_letter_arn=dead).deliver(
        make_envelope(**DEADLINE), "created"
    )

    target = client.calls[0][1]["Target"]
    assert target["DeadLetterConfig"] == {"Arn": dead}
    assert "SqsParameters" not in target


def test_nothing_in_a_default_is_taken_for_a_placeholder_of_scheduler(
    make_envelope: Make, client: Any
) -> None:
    default = {"note": "<aws.scheduler.execution-id> \ufffe é"}

    scheduler(client).deliver(make_envelope(**(DEADLINE | {"default": default})), "created")

    text = client.calls[0][1]["Target"]["Input"]
    assert "<" not in text
    assert json.loads(text)["answer"] == default


def test_a_default_above_what_scheduler_takes_fails_and_says_so(make_envelope: Make, client: Any) -> None:
    announcer = scheduler(client)

    with pytest.raises(AnnounceError, match="at most 262144"):
        announcer.deliver(make_envelope(**(DEADLINE | {"default": "é" * 140_000})), "created")
    assert client.calls == []


def test_a_schedules_name_is_one_that_scheduler_takes() -> None:
    name = schedule_name("q 1:" + "☕" * 500)

    assert re.fullmatch(r"aw-[0-9a-f]{61}", name)
    assert name != schedule_name("q-2")
