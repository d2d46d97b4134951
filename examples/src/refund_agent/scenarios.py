"""The demo, and the test from end to end: `python -m refund_agent.scenarios [--aws] [A B ...]`.

Each scenario goes through real messages of SQS, SNS and DynamoDB, spoken to over HTTP, and then looks at
what the world saw: the ledger, the topic, the approvals table, the dead-letter queue.
"""

import argparse
import functools
import logging
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from agent_wait import Outcome
from local_aws import LocalAws

from refund_agent import deployed
from refund_agent.report import Report
from refund_agent.resources import Resources
from refund_agent.world import World

APPROVE = {"action": "approve"}
SIGKILLED = -signal.SIGKILL
REJECT = {"action": "reject", "reason": "the warranty had run out"}


def a_small_refund(world: World) -> None:
    """A small refund: nobody is asked"""
    world.request("refund-a", "o-1001", "120.00", "arrived damp")
    outcomes = world.work()
    world.show("o-1001")
    world.check("the request ran through", expected=["started"], seen=kinds(outcomes))
    world.check("nobody was asked", expected=[], seen=world.seen.questions("refund-a"))
    world.check("120.00 was refunded, once", expected=["120.00"], seen=world.seen.refunds("o-1001"))
    world.check("the customer was told, once", expected=1, seen=len(world.seen.notices("o-1001")))


def an_approval(world: World) -> None:
    """Approved, answered again, answered otherwise, answered for nothing: one refund"""
    world.request("refund-b", "o-1002", "41000.00", "never delivered")
    world.work()
    world.check("one question went out", expected=1, seen=len(world.seen.questions("refund-b")))
    world.check("nothing is refunded before the answer", expected=[], seen=world.seen.refunds("o-1002"))
    world.restart()
    world.answer("refund-b", APPROVE, by="mia")
    world.check("the answer resumed the run", expected=["resumed"], seen=kinds(world.work()))

    second = world.answer("refund-b", REJECT, by="tom")
    world.check("a second answer is too late at the table", expected=False, seen=second)
    reply = world.seen.questions("refund-b")[0]["reply_with"]
    world.send(
        "refund-b", {**reply, "answer": APPROVE, "answered_by": "mia"}, say="the same answer once more"
    )
    world.send("refund-b", {**reply, "answer": REJECT, "answered_by": "tom"}, say="another answer")
    nothing = {"thread_id": "never-ran", "question_id": "none", "answer": APPROVE}
    world.send("never-ran", nothing, say="an answer to an unknown question")
    world.check(
        "answers past the table change nothing",
        expected=["already_answered", "already_answered", "unknown_question"],
        seen=sorted(kinds(world.work())),
    )
    world.show("o-1002")
    world.check("41000.00 was refunded, once", expected=["41000.00"], seen=world.seen.refunds("o-1002"))
    approvers = [entry.approved_by for entry in world.seen.entries("refund", "o-1002")]
    world.check("the ledger says who approved", expected=["mia"], seen=approvers)
    world.check("the question was announced as closed", expected=1, seen=len(world.seen.closings("refund-b")))
    world.check("its row is closed", expected=["closed"], seen=world.seen.statuses("refund-b"))
    world.check("the customer was told, once", expected=1, seen=len(world.seen.notices("o-1002")))


def a_lower_amount(world: World) -> None:
    """Approved with a lower amount; an amount that does not fit is asked again"""
    world.request("refund-c1", "o-1003", "18250.50", "one of two broken")
    world.work()
    world.answer("refund-c1", {"action": "approve", "args": {"amount": "9125.25"}}, by="mia")
    world.work()
    world.show("o-1003")
    world.check(
        "the lower amount was refunded, once", expected=["9125.25"], seen=world.seen.refunds("o-1003")
    )

    world.request("refund-c2", "o-1004", "9999.99", "too loud")
    world.work()
    world.answer("refund-c2", {"action": "approve", "args": {"amount": "a third"}}, by="tom")
    world.work()
    again = world.seen.questions("refund-c2")[-1]
    world.check("what does not fit is asked again", expected=2, seen=again["attempt"])
    world.check("with the reason", expected=True, seen="amount" in (again["error"] or ""))
    world.check("and nothing is refunded", expected=[], seen=world.seen.refunds("o-1004"))
    world.answer("refund-c2", {"action": "approve", "args": {"amount": "3333.33"}}, by="tom")
    world.work()
    world.show("o-1004")
    world.check("then what fits is refunded, once", expected=["3333.33"], seen=world.seen.refunds("o-1004"))
    world.check("both rows are closed", expected=["closed", "closed"], seen=world.seen.statuses("refund-c2"))


def a_rejection(world: World) -> None:
    """Rejected: nothing is refunded, and the customer learns why"""
    world.request("refund-d", "o-1005", "27400.00", "bought in error")
    world.work()
    world.answer("refund-d", REJECT, by="mia")
    world.check("the answer resumed the run", expected=["resumed"], seen=kinds(world.work()))
    world.show("o-1005")
    world.check("nothing was refunded", expected=[], seen=world.seen.refunds("o-1005"))
    world.check(
        "the customer was told why, once",
        expected=["Dear Northgate Theatre, order o-1005 is not refunded: the warranty had run out."],
        seen=world.seen.notices("o-1005"),
    )


def nobody_answers(world: World) -> None:
    """Nobody answers: the default counts from the deadline, and a late approval changes nothing"""
    world.request("refund-e", "o-1006", "6300.10", "wrong colour")
    world.work()
    world.sweep()
    world.check(
        "before the deadline the sweep leaves it alone",
        expected=["open"],
        seen=world.seen.statuses("refund-e"),
    )
    world.put_forward(hours=73)
    late = world.answer("refund-e", APPROVE, by="tom")
    world.check("an approval after the deadline is too late at the table", expected=False, seen=late)
    reply = world.seen.questions("refund-e")[0]["reply_with"]
    world.send("refund-e", {**reply, "answer": APPROVE}, say="an approval past the table")
    world.check("and past the table", expected=["expired"], seen=kinds(world.work()))
    world.sweep()
    world.check("the sweep's default resumed the run", expected=["resumed"], seen=kinds(world.work()))
    world.send("refund-e", {**reply, "answer": APPROVE}, say="the approval once more")
    world.check("after that it is answered", expected=["already_answered"], seen=kinds(world.work()))
    world.show("o-1006")
    world.check("nothing was refunded", expected=[], seen=world.seen.refunds("o-1006"))
    world.check(
        "the customer was told why, once",
        expected=["Dear Osprey Sails, order o-1006 is not refunded: nobody answered within three days."],
        seen=world.seen.notices("o-1006"),
    )


def delivered_twice(world: World) -> None:
    """Delivered twice, while parked and after the end: one question, one refund"""
    world.deliver_by_hand()
    world.request("refund-f1", "o-1007", "4800.00", "three legs each")
    world.check("handled, but not deleted", expected=["started"], seen=kinds(world.handle_and_die()))
    world.check(
        "delivered again after the end, it runs nothing", expected=["republished"], seen=kinds(world.work())
    )
    world.show("o-1007")
    world.check("4800.00 was refunded, once", expected=["4800.00"], seen=world.seen.refunds("o-1007"))

    world.request("refund-f2", "o-1008", "15000.00", "blunt")
    world.check("handled, but not deleted", expected=["started"], seen=kinds(world.handle_and_die()))
    again = kinds(world.handle_and_die())
    world.check("delivered again while parked, it only asks again", expected=["republished"], seen=again)
    world.check("that is still one question", expected=1, seen=len(world.seen.questions("refund-f2")))
    world.answer("refund-f2", APPROVE, by="mia")
    both = kinds(world.handle_and_die())
    world.check("with the answer behind it", expected=["republished", "resumed"], seen=both)
    both = kinds(world.work())
    world.check("and both again after the end", expected=["republished", "already_answered"], seen=both)
    world.show("o-1008")
    world.check("15000.00 was refunded, once", expected=["15000.00"], seen=world.seen.refunds("o-1008"))
    world.check("the customer was told, once", expected=1, seen=len(world.seen.notices("o-1008")))
    world.check("one question, closed", expected=["closed"], seen=world.seen.statuses("refund-f2"))


def the_broker_is_down(world: World) -> None:
    """The broker is down when a question is asked: nothing is acknowledged until everybody has it"""
    world.broker(up=False)
    world.request("refund-g", "o-1011", "6300.10", "wrong colour")
    outcomes = world.work()
    world.check("the request ran", expected=["started"], seen=kinds(outcomes))
    world.check("and is not acknowledged", expected=[False], seen=acknowledged(outcomes))
    world.check("the topic has no question", expected=[], seen=world.seen.questions("refund-g"))
    world.check("the approvals table has it", expected=["open"], seen=world.seen.statuses("refund-g"))
    world.broker(up=True)
    world.come_again()
    outcomes = world.work()
    world.check("the request comes again and runs nothing", expected=["republished"], seen=kinds(outcomes))
    world.check("now it is acknowledged", expected=[True], seen=acknowledged(outcomes))
    world.check("and the topic has its question", expected=1, seen=len(world.seen.questions("refund-g")))

    world.broker(up=False)
    world.answer("refund-g", {"action": "approve", "args": {"amount": "half"}}, by="tom")
    outcomes = world.work()
    world.check("an answer has the agent ask again", expected=["resumed"], seen=kinds(outcomes))
    world.check("and is not acknowledged", expected=[False], seen=acknowledged(outcomes))
    world.broker(up=True)
    world.come_again()
    world.check(
        "it comes again and is not applied again", expected=["already_answered"], seen=kinds(world.work())
    )
    questions = world.seen.questions("refund-g")
    world.check("the topic has both questions", expected=[1, 2], seen=[each["attempt"] for each in questions])
    world.check("and that the first is closed", expected=1, seen=len(world.seen.closings("refund-g")))
    world.answer("refund-g", APPROVE, by="mia")
    world.work()
    world.show("o-1011")
    world.check("6300.10 was refunded, once", expected=["6300.10"], seen=world.seen.refunds("o-1011"))
    world.check("both rows are closed", expected=["closed", "closed"], seen=world.seen.statuses("refund-g"))


def the_process_is_killed(world: World) -> None:
    """The process is killed at six points, with SIGKILL: one question, one refund, one notification"""
    world.request("refund-h", "o-1010", "33500.00", "never delivered")
    for at in ("while its run is stored", "between its run and the announcement", "between the announcers"):
        world.check(f"killed {at}", expected=SIGKILLED, seen=world.be_killed(at))
    world.work()
    world.check("one question went out", expected=1, seen=len(world.seen.questions("refund-h")))
    world.check("and is one row", expected=["open"], seen=world.seen.statuses("refund-h"))
    world.answer("refund-h", APPROVE, by="mia")
    for at in (
        "between the refund and the checkpoint",
        "between the answered node and the next",
        "before it has deleted the message",
    ):
        world.check(f"killed {at}", expected=SIGKILLED, seen=world.be_killed(at))
    world.work()
    world.show("o-1010")
    world.check("33500.00 was refunded, once", expected=["33500.00"], seen=world.seen.refunds("o-1010"))
    world.check("the customer was told, once", expected=1, seen=len(world.seen.notices("o-1010")))
    world.check("the question was announced as closed", expected=1, seen=len(world.seen.closings("refund-h")))
    world.check("its row is closed", expected=["closed"], seen=world.seen.statuses("refund-h"))
    world.check("nothing was given up", expected=[], seen=world.seen.dead_letters())


def bad_input(world: World) -> None:
    """Bad input: an outcome that says so, nothing run, nothing lost, no thread blocked behind it"""
    thread = "refund-z"
    asked = {"order_id": "o-1009", "amount": "22750.25", "reason": "rusty"}
    start: dict[str, Any] = {"thread_id": thread, "start_id": "request-2", "input": asked}
    world.request(thread, "o-1009", "22750.25", "rusty")
    world.request("refund-y", "o-1002", "6000.00", "scratched")
    world.work()
    reply = world.seen.questions(thread)[0]["reply_with"]
    foreign = world.seen.questions("refund-y")[0]["reply_with"]

    refused = {
        "not JSON": "refund me!",
        "no object": [1, 2],
        "no thread_id": {"start_id": "request-2", "input": asked},
        "an amount that is not a number": {**start, "input": {**asked, "amount": "a lot"}},
        "an amount that lost its cents": {**start, "input": {**asked, "amount": 22750.25}},
        "no such order": {**start, "input": {**asked, "order_id": "o-9999"}},
        "both a request and an answer": {**start, **reply, "answer": APPROVE},
        "an answer without an answer": {name: value for name, value in reply.items() if name != "answer"},
        "an answer that names other arguments": {
            **reply,
            "fingerprint": foreign["fingerprint"],
            "answer": APPROVE,
        },
    }
    # All of it in one FIFO group: whatever is not settled blocks what comes behind it.
    for what, body in refused.items():
        world.send(thread, body, say=what)
        world.check(f"refused: {what}", expected=["refused"], seen=kinds(world.work()))
    world.send(thread, start, say="another request while the thread waits")
    world.check("busy: another request while the thread waits", expected=["busy"], seen=kinds(world.work()))
    world.send(
        thread, {**foreign, "thread_id": thread, "answer": APPROVE}, say="a question of another thread"
    )
    world.check(
        "no open one: a question of another thread", expected=["already_answered"], seen=kinds(world.work())
    )

    letters = world.seen.dead_letters()
    expected = [*refused.values(), start]
    world.check(
        "the dead letters are what was refused", expected=list(map(world.text, expected)), seen=letters
    )
    world.check("nothing was refunded", expected=[], seen=world.seen.refunds("o-1009"))
    world.check(
        "both questions stand",
        expected=["open", "open"],
        seen=world.seen.statuses(thread) + world.seen.statuses("refund-y"),
    )
    world.answer(thread, APPROVE, by="mia")
    world.check("and the thread goes on", expected=["resumed"], seen=kinds(world.work()))
    world.show("o-1009")
    world.check("22750.25 was refunded, once", expected=["22750.25"], seen=world.seen.refunds("o-1009"))


SCENARIOS: dict[str, Callable[[World], None]] = {
    "A": a_small_refund,
    "B": an_approval,
    "C": a_lower_amount,
    "D": a_rejection,
    "E": nobody_answers,
    "F": delivered_twice,
    "G": the_broker_is_down,
    "H": the_process_is_killed,
    "Z": bad_input,
}


HERE_ONLY = ("G", "H")
"""What cannot be done to a deployed stack: its broker stays up, and nobody kills its processes."""


def kinds(outcomes: list[Outcome]) -> list[str]:
    return [outcome.kind for outcome in outcomes]


def acknowledged(outcomes: list[Outcome]) -> list[bool]:
    return [outcome.acknowledge for outcome in outcomes]


def run(letters: Sequence[str], report: Report, make_world: Callable[[], World] | None = None) -> int:
    """Run the scenarios where boto3 points, each in a world of its own; returns the exit status."""
    if make_world is None:
        resources = Resources.create("refund")
        make_world = functools.partial(World, resources, report)
    try:
        for letter in letters:
            report.begin(letter, SCENARIOS[letter].__doc__ or "")
            SCENARIOS[letter](make_world())
    finally:
        status = report.close()
    return status


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="refund_agent.scenarios", description="The refund agent, end to end."
    )
    parser.add_argument(
        "scenario", nargs="*", type=letter, help=f"one or more of {', '.join(SCENARIOS)}; left out: all"
    )
    parser.add_argument("--aws", action="store_true", help="against a deployed stack, where boto3 points")
    parser.add_argument("--stack", default="RefundAgent", help="its name (%(default)s)")
    parser.add_argument("--clear", action="store_true", help="first delete everything that it holds")
    arguments = parser.parse_args()
    letters = arguments.scenario or [each for each in SCENARIOS if not (arguments.aws and each in HERE_ONLY)]
    report = Report()
    # What is refused on purpose is told by the report.
    logging.basicConfig(level=logging.ERROR)
    if arguments.aws:
        with deployed.attached(arguments.stack, clear=arguments.clear) as stack:
            return run(letters, report, lambda: deployed.DeployedWorld(stack, report))
    with LocalAws() as local_aws, local_aws.in_environment():
        return run(letters, report)


def letter(text: str) -> str:
    if text.upper() not in SCENARIOS:
        raise argparse.ArgumentTypeError(f"there is no scenario {text}; there are {', '.join(SCENARIOS)}")
    return text.upper()


if __name__ == "__main__":
    sys.exit(main())
