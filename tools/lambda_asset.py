"""Build the refund agent's Lambda asset, without Docker: `make lambda`.

Everything comes from infra/lambda.lock, by hash, and from the workspace's own wheels. Two builds of the same
sources by the same Python are the same to the byte.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "infra" / "lambda.lock"
MEMBERS = ("packages/agent-wait", "packages/agent-wait-aws", "packages/langgraph-wait", "examples")

PLATFORMS = {"x86_64": "x86_64-manylinux2014", "arm64": "aarch64-manylinux2014"}
"""Lambda's architectures, and what their wheels are built for; Amazon Linux 2023 has a newer glibc."""

MOST_ZIPPED = 45_000_000
"""Bytes; a zip that is uploaded directly may have 50 MB."""
MOST_UNZIPPED = 120_000_000
"""Bytes; Lambda takes 250 MB, and reads every one of them at a cold start."""

LEFT_OUT = {"tests", "test", "__pycache__", "bin"}
"""Folders that nothing imports when the agent runs."""
ABOUT_THE_INSTALLATION = {
    "RECORD",
    "INSTALLER",
    "REQUESTED",
    "direct_url.json",
    "uv_cache.json",
    "uv_build.json",
}
"""Files of a .dist-info that tell of this machine, or of what was left out."""

LONG_AGO = (1980, 1, 1, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Asset:
    """What was built.

    Attributes:
        folder: As Lambda unpacks it.
        zip: As Lambda is given it.
    """

    folder: Path
    zip: Path

    def __str__(self) -> str:
        unzipped = sum(path.stat().st_size for path in files_in(self.folder))
        return f"{self.zip.name}: {self.zip.stat().st_size / 1e6:.1f} MB, {unzipped / 1e6:.1f} MB unzipped"


def build(
    output: Path, *, python: str | None = None, architecture: str | None = None, compiled: bool = True
) -> Asset:
    """Build it into a folder.

    Args:
        output: Where the asset's folder and zip go.
        python: The function's Python, such as `3.12`, which has to be installed here for its byte code; left
            out, this one.
        architecture: `x86_64` or `arm64`; left out, this machine's.
        compiled: With byte code. Lambda cannot write any beside the sources, so that without it every cold
            start compiles everything.

    Raises:
        SystemExit: It cannot be built, or is too large.
    """
    python = python or f"{sys.version_info[0]}.{sys.version_info[1]}"
    architecture = architecture or {"aarch64": "arm64"}.get(platform.machine(), platform.machine())
    if architecture not in PLATFORMS:
        sys.exit(f"Lambda has no {architecture}; it has {', '.join(PLATFORMS)}")
    asset = Asset(
        folder=output / f"refund-agent-py{python}-{architecture}",
        zip=output / f"refund-agent-py{python}-{architecture}.zip",
    )
    shutil.rmtree(asset.folder, ignore_errors=True)
    asset.zip.unlink(missing_ok=True)
    install(asset.folder, python, PLATFORMS[architecture])
    prune(asset.folder)
    if compiled:
        compile_all(asset.folder, find_python(python))
    pack(asset)
    check_size(asset)
    return asset


def install(folder: Path, python: str, wheels_for: str) -> None:
    with tempfile.TemporaryDirectory() as wheels:
        for member in MEMBERS:
            uv(
                "build", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", wheels,
                ROOT / member,
            )  # fmt: skip
        target = ("pip", "install", "--no-deps", "--target", folder, "--python-version", python)
        target += ("--python-platform", wheels_for, "--only-binary", ":all:", "--link-mode", "copy")
        uv(*target, "--require-hashes", "--requirements", LOCK)
        uv(*target, "--no-index", *sorted(Path(wheels).glob("*.whl")))


def uv(*arguments: object) -> None:
    command = os.environ.get("UV") or shutil.which("uv") or str(ROOT / ".uv" / "bin" / "uv")
    run([command, *map(str, arguments), "--quiet"])


def find_python(version: str) -> str:
    """The interpreter of that version, whose byte code no other version reads."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return sys.executable
    environment = {"UV": "uv", **os.environ}
    found = subprocess.run(
        [ROOT / "tools" / "find-python", version],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )
    if found.returncode:
        sys.exit(f"byte code for Python {version} needs Python {version}, which is not installed here")
    return found.stdout.strip()


def prune(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and path.name in LEFT_OUT:
            shutil.rmtree(path)
        elif path.parent.suffix == ".dist-info" and path.name in ABOUT_THE_INSTALLATION:
            path.unlink()
    (folder / ".lock").unlink(missing_ok=True)


def compile_all(folder: Path, python: str) -> None:
    """Byte code that is taken as it is: no source's time is compared, and no path of this machine is in it.

    One process, since what a process has compiled before shows in the bytes of what it compiles next.
    """
    flags = ("-q", "-j1", "--invalidation-mode", "unchecked-hash")
    places = ("-s", str(folder), "-p", "/var/task")
    run(
        [python, "-s", "-m", "compileall", *flags, *places, str(folder)],
        # The order of a set constant depends on it.
        environment={**os.environ, "PYTHONHASHSEED": "0"},
    )


def pack(asset: Asset) -> None:
    with zipfile.ZipFile(asset.zip, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in files_in(asset.folder):
            entry = zipfile.ZipInfo(path.relative_to(asset.folder).as_posix(), LONG_AGO)
            entry.external_attr = 0o100644 << 16
            entry.create_system = 3
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def check_size(asset: Asset) -> None:
    unzipped = sum(path.stat().st_size for path in files_in(asset.folder))
    if asset.zip.stat().st_size > MOST_ZIPPED or unzipped > MOST_UNZIPPED:
        sys.exit(f"too large: {asset}")


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, check=False, env=environment)
    if done.returncode:
        sys.exit(f"failed: {' '.join(command)}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools/lambda_asset.py", description="Build the Lambda asset.")
    parser.add_argument("--python", help="the function's Python, such as 3.12; left out: this one")
    parser.add_argument("--architecture", choices=PLATFORMS, help="left out: this machine's")
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "lambda")
    arguments = parser.parse_args()
    print(build(arguments.output, python=arguments.python, architecture=arguments.architecture))


if __name__ == "__main__":
    main()
