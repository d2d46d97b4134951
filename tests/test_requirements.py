"""Every promise has a test, and every test that names one names a promise that is made."""

import ast
import runpy
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
REQUIREMENTS = runpy.run_path(str(Path(__file__).with_name("requirements.py")))["REQUIREMENTS"]
SOURCES = ("packages/*/tests", "packages/*/src/*/testing", "examples/tests", "tests")


def named(tree: ast.AST) -> Iterator[str]:
    """The ids in `requirement(...)` marks."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="requirement"), args=args):
                yield from (arg.value for arg in args if isinstance(arg, ast.Constant))  # pyright: ignore[reportReturnType]  # ids are text
            case _:
                pass


def test_every_promise_is_kept_by_a_test_and_every_test_keeps_one_that_is_made() -> None:
    files = {file for folder in SOURCES for path in ROOT.glob(folder) for file in path.rglob("*.py")}
    kept = {name for file in files for name in named(ast.parse(file.read_text()))}

    assert kept == set(REQUIREMENTS)
