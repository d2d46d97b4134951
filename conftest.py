import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser, SkipParser

# Every block of Python that a reader may copy runs; those of one file share their names.
pytest_collect_file = Sybil(
    parsers=[PythonCodeBlockParser(), SkipParser()],
    patterns=["README.md", "docs/**/*.md", "packages/*/README.md", "packages/*/src/*/__init__.py"],
).pytest()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
