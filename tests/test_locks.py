"""The committed locks pin everything by hash, and name no place of this or any machine."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MEMBERS = {path.parent.name for path in ROOT.glob("packages/*/pyproject.toml")} | {"agent-wait-examples"}

each_lock = pytest.mark.parametrize(
    "lock", ["requirements.lock", "infra/lambda.lock", "tools/ministack.lock"]
)


def entries(lock: str) -> list[str]:
    """One text a requirement, with its hashes and comments."""
    return re.split(r"\n(?=\S)", (ROOT / lock).read_text().strip())


@each_lock
def test_every_requirement_is_pinned_and_hashed(lock: str) -> None:
    for entry in entries(lock):
        assert re.match(r"[a-z0-9.-]+(\[[a-z0-9,-]+\])?==\S+ ", entry), entry
        assert "--hash=sha256:" in entry, entry


@each_lock
def test_a_lock_names_no_address_and_no_path(lock: str) -> None:
    requirements = [
        line.split(" # ")[0] for line in (ROOT / lock).read_text().splitlines() if line.strip()[0] != "#"
    ]

    assert not [line for line in requirements if re.search(r"://|^-|^\.|\s@\s|index-url|(^|\s)/", line)]


@each_lock
def test_no_member_of_the_workspace_is_ever_taken_from_an_index(lock: str) -> None:
    locked = {re.split(r"[=\[]", entry)[0] for entry in entries(lock)}

    assert not locked & MEMBERS


def test_no_file_of_the_project_says_where_packages_came_from() -> None:
    git = shutil.which("git")
    assert git, "git is needed to know which files are part of the project"
    command = [git, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    files = {ROOT / name for name in listed.split("\0") if name} - {Path(__file__)}
    place = re.compile(r"pypi\.org|pythonhosted|registry\.npm|index-url|find-links")

    named = [path for path in files if path.is_file() and place.search(path.read_text(errors="replace"))]

    assert named == []
