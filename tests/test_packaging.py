"""What the distributions say of themselves, and that nobody else's can stand in for them."""

import tomllib
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PACKAGES = sorted(path.parent for path in ROOT.glob("packages/*/pyproject.toml"))
SIBLINGS = {package.name for package in PACKAGES}

each_package = pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)


def read(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "pyproject.toml").read_text())


def requirements_of(project: dict[str, Any]) -> list[Requirement]:
    extras = project.get("optional-dependencies", {}).values()
    return [Requirement(line) for lines in (project["dependencies"], *extras) for line in lines]


@each_package
def test_a_distribution_is_named_after_its_folder_and_its_import_after_both(package: Path) -> None:
    import_name = package.name.replace("-", "_")

    assert read(package)["project"]["name"] == package.name
    assert [path.name for path in (package / "src").iterdir() if path.is_dir()] == [import_name]
    assert (package / "src" / import_name / "py.typed").is_file()


@each_package
def test_metadata_is_complete_and_the_same_everywhere(package: Path) -> None:
    project = read(package)["project"]

    assert project["description"].endswith(".")
    assert project["keywords"] == sorted(project["keywords"])
    assert project["classifiers"] == sorted(project["classifiers"])
    assert "urls" not in project
    core = read(ROOT / "packages/agent-wait")["project"]
    for same in ("authors", "classifiers", "license", "license-files", "readme", "requires-python"):
        assert project[same] == core[same]


@each_package
@pytest.mark.requirement("OLD-PYTHON-ASYNC")
def test_no_python_is_offered_on_which_an_async_node_could_not_park(package: Path) -> None:
    assert read(package)["project"]["requires-python"] == ">=3.11"


@each_package
def test_every_distribution_carries_the_licence_and_a_readme_of_its_own(package: Path) -> None:
    assert (package / "LICENSE").read_text() == (ROOT / "LICENSE").read_text()
    assert (package / "README.md").read_text().startswith(f"# {package.name}\n")


@each_package
def test_the_version_is_the_newest_one_of_the_changelog(package: Path) -> None:
    headings = [
        line for line in (package / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")
    ]

    assert headings[0].removeprefix("## ").split()[0] == read(package)["project"]["version"]


@each_package
def test_what_is_installed_here_is_the_checkout(package: Path) -> None:
    installed = distribution(package.name)

    assert installed.version == read(package)["project"]["version"]
    assert package.as_uri() in (installed.read_text("direct_url.json") or "")


@pytest.mark.parametrize("member", [*PACKAGES, ROOT / "examples"], ids=lambda member: member.name)
def test_siblings_have_a_floor_that_keeps_out_what_others_released_under_their_names(member: Path) -> None:
    for requirement in requirements_of(read(member)["project"]):
        if canonicalize_name(requirement.name) in SIBLINGS:
            assert str(requirement) == f"{requirement.name}<2,>=1"
        else:
            assert any(part.operator in (">=", "==") for part in requirement.specifier), requirement


def test_every_member_is_taken_from_the_workspace_and_installed_by_a_plain_sync() -> None:
    workspace = read(ROOT)
    members = SIBLINGS | {"agent-wait-examples"}

    assert workspace["tool"]["uv"]["sources"] == {name: {"workspace": True} for name in members}
    assert members <= set(workspace["dependency-groups"]["dev"])


def test_every_development_dependency_has_a_floor() -> None:
    for line in read(ROOT)["dependency-groups"]["dev"]:
        requirement = Requirement(line)
        if requirement.name not in SIBLINGS | {"agent-wait-examples"}:
            assert any(part.operator in (">=", "==") for part in requirement.specifier), line
