"""What import-linter cannot say: that the core imports nothing at all but the standard library."""

import ast
import sys
from pathlib import Path

import pytest

CORE = Path(__file__).parent.parent / "packages/agent-wait/src/agent_wait"
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
