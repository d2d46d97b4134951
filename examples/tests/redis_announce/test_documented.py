"""The page about announcers of one's own shows what is tested, and that is all that anyone needs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import redis_announce
from agent_wait.testing import AnnouncerContract

HERE = Path(__file__).parent
FILES = (
    Path(redis_announce.__file__).with_name("_redis_announce.py"),
    HERE / "test_redis_announce.py",
)
PAGE = (HERE.parents[2] / "docs/writing-an-announcer.md").read_text()


def test_the_page_has_the_files_as_they_are() -> None:
    blocks: list[str] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

    for file in FILES:
        assert file.read_text() in blocks, f"docs/writing-an-announcer.md does not have {file.name}"


@pytest.mark.services
def test_a_third_party_runs_the_suite_with_nothing_but_what_the_page_shows(tmp_path: Path) -> None:
    announcer, suite = FILES
    (tmp_path / "redis_announce.py").write_text(announcer.read_text())
    (tmp_path / suite.name).write_text(suite.read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}

    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=plain)

    rules = [name for name in dir(AnnouncerContract) if name.startswith("test_")]
    assert f"{len(rules)} passed" in run.stdout, run.stdout
