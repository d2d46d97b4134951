import pytest
from sybil import Sybil
from sybil.parsers.markdown import PythonCodeBlockParser
from sybil.parsers.rest import DocTestParser

# Whatever Python a reader may copy runs; the blocks of one file share their names.
documents = ["README.md", "docs/**/*.md", "packages/*/README.md"]
pytest_collect_file = (
    Sybil(parsers=[PythonCodeBlockParser()], patterns=documents)
    + Sybil(parsers=[DocTestParser(), PythonCodeBlockParser()], patterns=["packages/*/src/*/__init__.py"])
).pytest()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
