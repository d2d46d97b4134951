"""What tools/check-wheels asserts, run by the Python of the environments it makes."""

import importlib
import json
import re
import sys
from collections.abc import Mapping
from importlib.metadata import Distribution, distributions
from pathlib import Path
from types import ModuleType
from typing import Any


def check(holds: bool, otherwise: str) -> None:
    if not holds:
        sys.exit(f"FAILED: {otherwise}")


def wheels_in(folder: Path) -> dict[str, str]:
    """The address of each wheel by the name of its distribution."""
    return {wheel.name.split("-")[0].replace("_", "-"): wheel.as_uri() for wheel in folder.glob("*.whl")}


def installed() -> dict[str, Distribution]:
    return {re.sub(r"[-_.]+", "-", dist.metadata["Name"]).lower(): dist for dist in distributions()}


def check_origin(dist: Distribution, wheel: str) -> None:
    origin = json.loads(dist.read_text("direct_url.json") or '{"url": "an index"}')["url"]
    check(origin == wheel, f"{dist.metadata['Name']} {dist.version} came from {origin}, not from {wheel}")


def alone(wheels: Path) -> None:
    check(installed().keys() == {"agent-wait"}, f"not alone: {sorted(installed())}")
    check_origin(installed()["agent-wait"], wheels_in(wheels)["agent-wait"])

    importlib.import_module("agent_wait.testing")
    ask_and_answer()
    strangers = (
        {name.partition(".")[0] for name in sys.modules}
        - sys.stdlib_module_names
        - {"agent_wait", "__main__"}
    )
    check(not strangers, f"the core loads {sorted(strangers)}")
    print("agent-wait: installed, imported and used with nothing beside it")


def ask_and_answer() -> None:
    """A question asked, published and answered on the smallest framework there can be."""
    from agent_wait import Framework, InMemoryAnnounce, make_publish_interrupts, make_wait

    class Parked(Exception):
        pass

    class Smallest(Framework):
        name = "smallest"
        answer: Any = None

        def interrupt(self, value: dict[str, Any], call_args: Mapping[str, Any]) -> Any:
            if self.answer is None:
                raise Parked(value)
            return self.answer

        def interrupts_in(self, result: Any) -> list[tuple[str, Any]]:
            return [("question-1", result)]

        def current_thread_id(self, call_args: Mapping[str, Any]) -> str:
            return "thread-1"

    framework = Smallest()

    @make_wait(framework)
    def refund(order_id: str) -> str:
        return f"refunded {order_id}"

    value = None
    try:
        refund("o-1")
    except Parked as parked:
        value = parked.args[0]
    announced = InMemoryAnnounce()
    published = make_publish_interrupts(framework)(value, "thread-1", announced)
    published.raise_for_failures()
    asked = {"function": "refund", "args": {"order_id": "o-1"}}
    check([envelope.question for envelope in published] == [asked], f"published {list(published)}")
    check(len(announced.events) == 1, f"announced {announced.events}")

    framework.answer = {"action": "approve"}
    check(refund("o-1") == "refunded o-1", "an approved call does not run")


def run_readme(readme: Path) -> None:
    # A module of its own, as dataclasses and type hints look theirs up by name.
    sys.modules["readme"] = module = ModuleType("readme")
    for block in re.findall(r"^```python\n(.*?)^```", readme.read_text(), re.DOTALL | re.MULTILINE):
        exec(compile(block, str(readme), "exec"), vars(module))


def together(wheels: Path, lock: Path, *readmes: Path) -> None:
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
    for readme in readmes:
        run_readme(readme)
    names = ", ".join(sorted(ours))
    print(f"{names}: from their wheels, with {len(found) - len(ours)} locked ones; the READMEs run")


if __name__ == "__main__":
    {"alone": alone, "together": together}[sys.argv[1]](
        *(Path(argument).resolve() for argument in sys.argv[2:])
    )
