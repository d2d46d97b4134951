"""What the contract suites say a framework cannot do, the documentation says too, and the other way round."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = (ROOT / "docs/frameworks.md").read_text()
ADAPTERS = {"langgraph-wait": "LangGraph", "pydantic-ai-wait": "Pydantic AI", "strands-wait": "Strands"}


def section(title: str) -> str:
    found = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", DOCS, re.MULTILINE | re.DOTALL)
    assert found, f"docs/frameworks.md has no section {title}"
    return found[1]


def limits(package: str) -> set[str]:
    """The names in the `cannot` of every suite in the package's tests."""
    names: set[str] = set()
    for path in (ROOT / "packages" / package / "tests").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "cannot" and node.value:
                names |= set(ast.literal_eval(node.value))
    return names


@pytest.mark.parametrize("package", ADAPTERS)
def test_every_limit_that_a_suite_declares_has_a_row(package: str) -> None:
    rows = {line for line in section(ADAPTERS[package]).splitlines() if line.startswith("|")}
    for name in limits(package):
        assert any(f"`{name}`" in row for row in rows), name


@pytest.mark.parametrize("package", ADAPTERS)
def test_every_test_that_the_section_names_exists(package: str) -> None:
    tests = "\n".join(path.read_text() for path in (ROOT / "packages").rglob("tests/**/*.py"))
    suite = (ROOT / "packages/agent-wait/src/agent_wait/testing/_framework_contract.py").read_text()
    named = set(re.findall(r"`(test_\w+)`", section(ADAPTERS[package])))
    assert named
    for name in named:
        assert f"def {name}(" in tests + suite, name


@pytest.mark.parametrize("package", ADAPTERS)
def test_every_adapter_runs_the_contract(package: str) -> None:
    suite = ROOT / "packages" / package / "tests/test_framework_contract.py"
    assert "FrameworkContract" in suite.read_text() or "OfLangGraph" in suite.read_text()
