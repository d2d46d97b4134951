import pytest
from inbox_support import Desk
from refund_agent.resources import Resources
from starlette.testclient import TestClient


@pytest.fixture
def desk(resources: Resources) -> Desk:
    return Desk(resources)


@pytest.fixture
def page(desk: Desk) -> TestClient:
    """The page as Mia sees it."""
    return desk.client("mia")
