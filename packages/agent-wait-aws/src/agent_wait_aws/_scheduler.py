"""Deadlines as one-time schedules of EventBridge Scheduler."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from agent_wait import Clock, SystemClock, Transition, WaitEnvelope

from agent_wait_aws._announce import AwsAnnounce
from agent_wait_aws._clients import LazyClient, Session, region_of_arn
from agent_wait_aws._faults import as_announce_error, code_of, too_large
from agent_wait_aws._keys import digest, group_id
from agent_wait_aws._lanes import side_by_side
from agent_wait_aws._text import carried

NAME = 64
"""Characters of a schedule's name, of `[0-9a-zA-Z-_.]`. Service model 2021-06-30, Name."""
INPUT_BYTES = 256 * 1024
"""Bytes of a target's input. Service model 2021-06-30, Target.Input."""

_PREFIX = "aw-"
_WORKERS = 8


class SchedulerClient(Protocol):
    """The calls that are made of a boto3 `scheduler` client."""

    def create_schedule(self, *args: Any, **kwargs: Any) -> Any:
        """Create one schedule."""
        ...

    def delete_schedule(self, *args: Any, **kwargs: Any) -> Any:
        """Delete one schedule."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    index: int
    call: str
    request: dict[str, Any]
    already: str


class SchedulerAnnounce(AwsAnnounce[SchedulerClient]):
    """Keep each deadline as a one-time schedule that sends the question's default to the agent's queue.

    `created`, with a deadline in the future and a `default`, makes a schedule that at the deadline delivers
    `{**reply_with, "answer": default}` and deletes itself. Without either there is nothing to do; a deadline
    that has passed is left to the host's sweep. `resumed` deletes the schedule. Making what is there and
    deleting what is not are successes. A default that arrives when the question has been answered after all
    finds it closed: `already_answered`.

    A schedule fires within the minute of its time. On a FIFO queue the group is `group_id(thread_id)`, and
    the queue needs content-based deduplication, as Scheduler sends no deduplication id.

    Safe from several threads. Needs `scheduler:CreateSchedule` and `scheduler:DeleteSchedule` in the group,
    and `iam:PassRole` for the role.

    Args:
        group_name: The schedule group, which exists.
        target_arn: The agent's queue (or another target that takes the JSON text).
        role_arn: The role by which Scheduler sends to it.
        dead_letter_arn: An SQS queue for what could not be sent; None for none.
        client: A boto3 `scheduler` client; None makes one when first needed, with boto3's standard retries.
        region_name: None is the target's, which is where Scheduler reaches it.
        session: A boto3 session to make the client from; None is boto3's default one, or one that all
            announcers share.
        clock: What a deadline is compared with; None is the machine's.
        only: The transitions it wants, such as `("created",)`; None for all.

    Raises:
        ValueError: An empty name or ARN, or an `only` that names no transition.
    """

    def __init__(
        self,
        *,
        group_name: str,
        target_arn: str,
        role_arn: str,
        dead_letter_arn: str | None = None,
        client: SchedulerClient | None = None,
        region_name: str | None = None,
        session: Session | None = None,
        clock: Clock | None = None,
        only: Iterable[Transition] | None = None,
    ) -> None:
        for name, value in (("group_name", group_name), ("target_arn", target_arn), ("role_arn", role_arn)):
            if not value:
                raise ValueError(f"{name} is empty")
        lazy = LazyClient(
            "scheduler", client=client, region_name=region_name or region_of_arn(target_arn), session=session
        )
        super().__init__(f"scheduler:{group_name}", lazy, only)
        self._group_name = group_name
        self._target: dict[str, Any] = {"Arn": target_arn, "RoleArn": role_arn}
        if dead_letter_arn is not None:
            self._target["DeadLetterConfig"] = {"Arn": dead_letter_arn}
        self._fifo = ":sqs:" in target_arn and target_arn.endswith(".fifo")
        self._clock = clock or SystemClock()

    def deliver_many(
        self, envelopes: Sequence[WaitEnvelope], transition: Transition
    ) -> Sequence[Exception | None]:
        """Make or delete several schedules; one entry an envelope, None for done or nothing to do."""
        make = self._creation if transition == "created" else self._deletion
        changes, failures = self._prepare(envelopes, make)

        def job(change: _Change) -> Callable[[], None]:
            def run() -> None:
                try:
                    getattr(self._client, change.call)(**change.request)
                except Exception as raised:  # noqa: BLE001  # whatever it is, it is reported
                    if code_of(raised) != change.already:
                        failures[change.index] = as_announce_error(raised, self.name)

            return run

        side_by_side([job(change) for change in changes if change is not None], _WORKERS)
        return [failures.get(index) for index in range(len(envelopes))]

    def _creation(self, index: int, envelope: WaitEnvelope) -> _Change | None:
        if envelope.default is None or envelope.expires_at is None:
            return None
        deadline = datetime.fromisoformat(envelope.expires_at).astimezone(UTC)
        if deadline.timestamp() <= self._clock.now():
            return None
        target = self._target | {"Input": self._input(envelope)}
        if self._fifo:
            target["SqsParameters"] = {"MessageGroupId": group_id(envelope.thread_id)}
        request: dict[str, Any] = {
            "Name": schedule_name(envelope.ask_id),
            "GroupName": self._group_name,
            "ScheduleExpression": f"at({deadline:%Y-%m-%dT%H:%M:%S})",
            "ScheduleExpressionTimezone": "UTC",
            "FlexibleTimeWindow": {"Mode": "OFF"},
            "ActionAfterCompletion": "DELETE",
            "Target": target,
        }
        return _Change(index=index, call="create_schedule", request=request, already="ConflictException")

    def _deletion(self, index: int, envelope: WaitEnvelope) -> _Change | None:
        request = {"Name": schedule_name(envelope.ask_id), "GroupName": self._group_name}
        return _Change(
            index=index, call="delete_schedule", request=request, already="ResourceNotFoundException"
        )

    def _input(self, envelope: WaitEnvelope) -> str:
        answer = {**envelope.reply_with, "answer": envelope.default}
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        # Scheduler puts its own values in the place of <aws.scheduler.execution-id> and the like.
        text = carried(text).replace("<", "\\u003c")
        size = len(text.encode())
        if size > INPUT_BYTES:
            raise too_large(size, INPUT_BYTES, self.name)
        return text


def schedule_name(ask_id: str) -> str:
    """`aw-` and 61 hex digits of the SHA-256 of the `ask_id`."""
    return _PREFIX + digest(ask_id)[: NAME - len(_PREFIX)]
