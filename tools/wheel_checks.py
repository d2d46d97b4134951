"""What tools/check-wheels asserts, run by the Python of the environments it makes."""

import importlib
import json
import re
import sys
from importlib.metadata import Distribution, distributions
from pathlib import Path


def check(holds: bool, otherwise: str) -> None:
    if not holds:
        sys.exit(f"FAILED: {otherwise}")


def wheels_in(folder: Path) -> dict[str, str]:
    """The address of each wheel by the name of its distribution."""
    return {wheel.name.split("-")[0].replace("_", "-"): wheel.as_uri() for wheel in folder.glob("*.whl")}


def installed() -> dict[str, Distribution]:
    return {dist.metadata["Name"].lower(): dist for dist in distributions()}


def check_origin(dist: Distribution, wheel: str) -> None:
    origin = json.loads(dist.read_text("direct_url.json") or '{"url": "an index"}')["url"]
    check(origin == wheel, f"{dist.metadata['Name']} {dist.version} came from {origin}, not from {wheel}")


def alone(wheels: Path) -> None:
    check(list(installed()) == ["agent-wait"], f"not alone: {sorted(installed())}")
    check_origin(installed()["agent-wait"], wheels_in(wheels)["agent-wait"])

    for module in ("agent_wait", "agent_wait.testing"):
        importlib.import_module(module)
    strangers = (
        {name.partition(".")[0] for name in sys.modules}
        - sys.stdlib_module_names
        - {"agent_wait", "__main__"}
    )
    check(not strangers, f"the core loads {sorted(strangers)}")
    print("agent-wait: installed and imported with nothing beside it")


def together(wheels: Path, lock: Path) -> None:
    found = installed()
    ours = wheels_in(wheels)
    locked = dict(re.findall(r"^([a-z0-9.-]+)==([^ ]+)", lock.read_text(), re.MULTILINE))
    for name, wheel in ours.items():
        check_origin(found[name], wheel)
        check(found[name].metadata["License-Expression"] == "MIT", f"{name} does not say its licence")
        module = importlib.import_module(name.replace("-", "_"))
        check((Path(module.__path__[0]) / "py.typed").is_file(), f"{name} does not ship py.typed")
    for name in found.keys() - ours.keys():
        check(
            found[name].version == locked.get(name), f"{name} {found[name].version} is not what the lock says"
        )
    names = ", ".join(sorted(ours))
    print(f"{names}: installed from their wheels and imported, with {len(found) - len(ours)} locked ones")


if __name__ == "__main__":
    {"alone": alone, "together": together}[sys.argv[1]](
        *(Path(argument).resolve() for argument in sys.argv[2:])
    )
