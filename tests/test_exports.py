"""`__init__.py` is a table of contents. (That `__all__` is sorted is ruff's to say: RUF022.)"""

import ast
import importlib
import inspect
import re
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = sorted(path.parent.name.replace("-", "_") for path in ROOT.glob("packages/*/pyproject.toml"))


@pytest.mark.parametrize("package", PACKAGES)
def test_all_names_every_public_name_once(package: str) -> None:
    module = importlib.import_module(package)
    exported: list[str] = getattr(module, "__all__", [])

    public = {
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert len(exported) == len(set(exported))
    assert set(exported) == public


@pytest.mark.parametrize("package", PACKAGES)
def test_the_package_holds_nothing_but_a_docstring_imports_and_all(package: str) -> None:
    module = importlib.import_module(package)
    tree = ast.parse(inspect.getsource(module))

    assert ast.get_docstring(tree)
    if hasattr(module, "__all__"):
        assert re.search(r"^>>> |^```python$", module.__doc__ or "", re.MULTILINE), (
            "an example, which the root conftest.py has run"
        )
    for statement in tree.body[1:]:
        match statement:
            case ast.ImportFrom() | ast.Assign(targets=[ast.Name(id="__all__")]):
                pass
            case _:
                pytest.fail(f"line {statement.lineno}: {ast.unparse(statement)}")
