"""Whoever uses the core sees a type for every public name."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.timeout(120)
def test_every_public_symbol_of_the_core_has_a_known_type(tmp_path: Path) -> None:
    programs = Path(sys.executable).parent
    said = subprocess.run(
        [programs / "pyright", "--verifytypes", "agent_wait", "--ignoreexternal", "--outputjson"],
        cwd=tmp_path,  # among the sources, it takes a folder for the package
        env={**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},  # whose python it asks
        capture_output=True,
        text=True,
        check=False,
    )
    report: Any = json.loads(said.stdout)
    completeness = report["typeCompleteness"]
    untyped = [
        f"{symbol['name']}: {diagnostic['message']}"
        for symbol in completeness["symbols"]
        for diagnostic in symbol["diagnostics"]
        if diagnostic["severity"] == "error"
    ]
    assert untyped == []
    assert completeness["completenessScore"] == 1
    assert completeness["exportedSymbolCounts"]["withKnownType"] > 40
