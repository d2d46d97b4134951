"""The asset: what is in it, what is not, and that it is the same when it is built again."""

import re
import struct
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZipFile

import pytest
from local_stack import ROOT

pytestmark = pytest.mark.timeout(300)

UNCHECKED_HASH = 0b01
MACHINES = {"x86_64": 62, "arm64": 183}
"""ELF's e_machine."""


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def machine_of(library: Path) -> int:
    return struct.unpack_from("<H", library.read_bytes(), 18)[0]


def checksums(archive: Path) -> dict[str, int]:
    with ZipFile(archive) as opened:
        return {entry.filename: entry.CRC for entry in opened.infolist()}


def test_it_is_small_enough_and_says_how_large(asset: Any) -> None:
    match = re.fullmatch(r"\S+\.zip: ([0-9.]+) MB, ([0-9.]+) MB unzipped", str(asset))
    assert match
    assert 20 < float(match[1]) < 45
    assert 50 < float(match[2]) < 120


def test_one_that_is_too_large_is_none(
    asset: Any, lambda_asset: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lambda_asset, "MOST_ZIPPED", 1_000_000)

    with pytest.raises(SystemExit, match="too large"):
        lambda_asset.check_size(asset)


def test_built_again_elsewhere_it_is_the_same_to_the_byte(
    asset: Any, lambda_asset: ModuleType, tmp_path: Path
) -> None:
    again = lambda_asset.build(tmp_path)

    assert again.zip.name == asset.zip.name
    assert checksums(again.zip).items() ^ checksums(asset.zip).items() == set()
    assert again.zip.read_bytes() == asset.zip.read_bytes()


def test_the_zip_holds_the_folder(asset: Any) -> None:
    with ZipFile(asset.zip) as archive:
        packed = {entry.filename: (entry.file_size, entry.date_time) for entry in archive.infolist()}

    assert packed == {
        path.relative_to(asset.folder).as_posix(): (path.stat().st_size, (1980, 1, 1, 0, 0, 0))
        for path in files(asset.folder)
    }


def test_every_source_has_byte_code_that_is_taken_as_it_is(asset: Any) -> None:
    sources = list(asset.folder.rglob("*.py"))
    assert len(sources) > 1000
    for source in sources:
        (compiled,) = source.parent.glob(f"__pycache__/{source.stem}.cpython-*.pyc")
        magic, flags = compiled.read_bytes()[:4], struct.unpack_from("<I", compiled.read_bytes(), 4)[0]
        assert (magic, flags) == (MAGIC_NUMBER, UNCHECKED_HASH), compiled


def test_neither_tests_nor_caches_nor_anything_of_this_machine_is_in_it(asset: Any) -> None:
    names = {part for path in files(asset.folder) for part in path.relative_to(asset.folder).parts}
    assert not names & {"tests", "test", "bin", "RECORD", "direct_url.json", "uv_cache.json", ".lock"}

    here = [str(ROOT).encode(), str(asset.folder.parent).encode()]
    for path in files(asset.folder):
        content = path.read_bytes()
        assert not [place for place in here if place in content], path


def test_native_code_is_for_the_function_s_processor(asset: Any) -> None:
    architecture = asset.zip.stem.rpartition("-")[2]
    libraries = list(asset.folder.rglob("*.so"))

    assert len(libraries) > 5
    assert {machine_of(library) for library in libraries} == {MACHINES[architecture]}


def test_what_goes_into_it_is_what_everything_is_tested_with() -> None:
    def pinned(lock: str) -> set[tuple[str, ...]]:
        """Name and hashes of each entry."""
        text = (ROOT / lock).read_text()
        return {
            (entry.split()[0], *sorted(re.findall(r"sha256:[0-9a-f]+", entry)))
            for entry in re.split(r"\n(?=\S)", text.strip())
        }

    assert pinned("infra/lambda.lock") <= pinned("requirements.lock")


def test_an_architecture_that_lambda_does_not_have_is_refused(
    lambda_asset: ModuleType, tmp_path: Path
) -> None:
    with pytest.raises(SystemExit, match="Lambda has no riscv64"):
        lambda_asset.build(tmp_path, architecture="riscv64")


def test_byte_code_for_a_python_that_is_not_here_cannot_be_made(lambda_asset: ModuleType) -> None:
    with pytest.raises(SystemExit, match="which is not installed here"):
        lambda_asset.find_python("3.99")


@pytest.mark.services
@pytest.mark.parametrize("architecture", MACHINES)
def test_it_is_built_for_either_processor_on_this_machine(
    lambda_asset: ModuleType, tmp_path: Path, architecture: str
) -> None:
    asset = lambda_asset.build(tmp_path, architecture=architecture)

    assert {machine_of(library) for library in asset.folder.rglob("*.so")} == {MACHINES[architecture]}
    assert asset.zip.stem.endswith(f"-{architecture}")
