"""No framework and no saver keeps two processes apart: the transport does, or a conditional write."""

import multiprocessing
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from local_aws import LocalAws
from refund_agent import scenarios
from refund_agent.report import Report
from refund_agent.resources import Resources
from refund_agent.world import World

from kills import two_processes

ANSWERS = {
    "the same": (scenarios.APPROVE, scenarios.APPROVE),
    "contradictory": (scenarios.APPROVE, scenarios.REJECT),
}


@pytest.fixture(scope="module")
def local_aws() -> Iterator[LocalAws]:
    with LocalAws() as aws, aws.in_environment():
        yield aws


@pytest.mark.timeout(180)
@pytest.mark.parametrize("answers", list(ANSWERS))
@pytest.mark.parametrize("serve", [two_processes.read_the_queue, two_processes.serve_a_request])
@pytest.mark.requirement("PROMISE-3", "PROMISE-4")
def test_of_two_answers_to_two_processes_at_the_same_instant_one_is_applied(
    local_aws: LocalAws, serve: Callable[..., None], answers: str
) -> None:
    name = f"{serve.__name__}-{answers}".replace("_", "-").replace(" ", "-")
    world = World(resources := Resources.create(name), Report())
    world.request("refund-t", "o-1002", "41000.00", "never delivered")
    world.work()
    [question] = world.seen.questions("refund-t")
    messages = [{**question["reply_with"], "answer": answer} for answer in ANSWERS[answers]]
    if serve is two_processes.read_the_queue:
        for message in messages:
            world.send("refund-t", message)

    seen = at_once(serve, local_aws.settings, resources, messages)

    assert sorted(seen) == ["already_answered", "resumed"]
    [notice] = world.seen.notices("o-1002")
    approved = "is on its way back" in notice
    assert world.seen.refunds("o-1002") == (["41000.00"] if approved else [])
    assert world.seen.statuses("refund-t") == ["closed"]


def at_once(
    serve: Callable[..., None], settings: dict[str, str], resources: Resources, messages: list[dict[str, Any]]
) -> list[str]:
    """What two processes made of the messages, each its own."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["refund_agent.host", "langgraph.checkpoint.sqlite"])
    together, seen = context.Barrier(2), context.SimpleQueue()
    processes = [
        context.Process(target=serve, args=(settings, resources, together, seen, message))
        for message in messages
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    kinds: list[str] = []
    while not seen.empty():
        kinds.append(seen.get())
    return kinds
