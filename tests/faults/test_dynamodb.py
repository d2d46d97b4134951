"""A smaller run on the saver that a deployment uses, on a server that is started for it."""

import itertools
import logging
from collections.abc import Iterator

import pytest
from langgraph_checkpoint_aws import DynamoDBSaver
from local_aws import LocalAws
from refund_agent import aws

from faults import campaign
from faults.machine import Tally, search
from faults.saver import Saver

SCHEDULES = 12
_numbers = itertools.count()


@pytest.fixture(scope="module")
def local_aws() -> Iterator[LocalAws]:
    with LocalAws() as server, server.in_environment():
        yield server


def new_table() -> Saver:
    """A saver without threads."""
    name = f"threads-{next(_numbers)}"
    aws.dynamodb().create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[
            {"AttributeName": "PK", "KeyType": "HASH"},
            {"AttributeName": "SK", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in ("PK", "SK")],
    )
    return DynamoDBSaver(name)


@pytest.mark.timeout(900)
@pytest.mark.services
@pytest.mark.parametrize("kind", ["after", "fan_with_work", "bare", "agent"])
@pytest.mark.requirement(*(f"PROMISE-{number}" for number in campaign.PROMISES))
def test_the_promises_hold_on_dynamodb(
    kind: str, local_aws: LocalAws, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, logger="concurrent.futures")
    tally = Tally()
    found = search(kind, schedules=SCHEDULES, seed_of=7, saver=new_table, tally=tally, shrink=False)
    share = campaign.Share(kind, "DynamoDB", False, SCHEDULES, 7)
    assert found is None, campaign.told(share, found)
    assert tally.schedules >= SCHEDULES
