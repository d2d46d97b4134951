from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The documented test is as anyone would write it, so the mark of ours is not in it."""
    for item in items:
        if item.path == Path(__file__).with_name("test_redis_announce.py"):
            item.add_marker("services")
