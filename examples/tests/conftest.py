import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from local_aws import LocalAws
from refund_agent.payments import DynamoDbLedger, Ledger, SqliteLedger
from refund_agent.resources import Resources

_prefixes = (f"test-{number}" for number in itertools.count())


@pytest.fixture(scope="session")
def local_aws() -> Iterator[LocalAws]:
    with LocalAws() as local_aws:
        yield local_aws


@pytest.fixture
def resources(local_aws: LocalAws) -> Iterator[Resources]:
    """Queues, topic and tables of the test's own; boto3 points at them while it runs."""
    with local_aws.in_environment():
        yield Resources.create(next(_prefixes))


@pytest.fixture(params=["sqlite", "dynamodb"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Ledger:
    if request.param == "sqlite":
        return SqliteLedger(tmp_path / "ledger.db")
    resources: Resources = request.getfixturevalue("resources")
    return DynamoDbLedger(resources.ledger_table)
