"""What import-linter cannot say: that the core imports nothing at all, and nobody its private modules."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CORE = ROOT / "packages/agent-wait/src/agent_wait"
# Plus what is newer than the Python this may run on.
STANDARD_LIBRARY = sys.stdlib_module_names | {"annotationlib"}
# Conversion by pydantic is the same for all frameworks that have it: here, inside the function that does it.
ALLOWED = {("_convert", "pydantic"), ("_convert", "pydantic_core")}


def imported(tree: ast.AST, *, in_functions: bool) -> set[str]:
    """The top-level names of what is imported when the module is, or in its functions as well."""
    names: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Import():
                names |= {alias.name for alias in node.names}
            case ast.ImportFrom(level=0, module=str(module)):
                names.add(module)
            case ast.If(test=test) if not in_functions and ast.unparse(test).endswith("TYPE_CHECKING"):
                pass
            case ast.FunctionDef() | ast.AsyncFunctionDef() if not in_functions:
                pass
            case _:
                names |= imported(node, in_functions=in_functions)
    return {name.partition(".")[0] for name in names} - STANDARD_LIBRARY - {"agent_wait"}


@pytest.mark.parametrize("path", sorted(CORE.rglob("*.py")), ids=lambda path: str(path.relative_to(CORE)))
def test_the_core_imports_the_standard_library_and_itself(path: Path) -> None:
    tree = ast.parse(path.read_text())

    assert {(path.stem, name) for name in imported(tree, in_functions=True)} <= ALLOWED
    assert imported(tree, in_functions=False) == set()


SOURCES = sorted(
    path for path in [*ROOT.glob("packages/*/src/*"), *ROOT.glob("examples/src/*")] if path.is_dir()
)


def private_names(path: Path) -> set[str]:
    """What a module imports of another distribution of ours that its own next patch may move."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    ours = {source.name for source in SOURCES}
    return {name for name in names if name.partition(".")[0] in ours and "._" in name}


@pytest.mark.parametrize(
    "package", [source for source in SOURCES if source != CORE], ids=lambda path: path.name
)
def test_what_is_beside_the_core_imports_public_names_only(package: Path) -> None:
    for path in package.rglob("*.py"):
        assert {name for name in private_names(path) if name.partition(".")[0] != package.name} == set(), path


@pytest.mark.parametrize(
    "suite", ["_announcer_contract", "_framework_contract", "_framework_suite", "_rehearsal"]
)
def test_a_contract_suite_asks_for_public_names_only(suite: str) -> None:
    private = private_names(CORE / f"testing/{suite}.py")
    assert {name for name in private if not name.startswith("agent_wait.testing.")} == set()
