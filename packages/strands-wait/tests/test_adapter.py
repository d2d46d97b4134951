"""`WaitPublisher` on `StrandsAdapter`: every message, twice where that may happen, and after every death."""

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agent_wait import InMemoryAnnounce, QuestionClosed, WaitPublisher, current_wait
from strands import Agent, tool  # pyright: ignore[reportUnknownVariableType]  # unknown in one overload
from strands.hooks import AfterToolsEvent, BeforeToolCallEvent, HookProvider
from strands.session.file_session_manager import FileSessionManager
from strands.types.exceptions import EventLoopException, SessionException
from strands_support import APPROVE, REJECT, START, Host, make_agent
from strands_wait import StrandsAdapter, wait
from strands_wait._thread import mark, marked_input, thread_state

Ran = list[Any]


@pytest.fixture
def ran() -> Ran:
    return []


@pytest.fixture
def refund(ran: Ran) -> Any:
    @tool(context=True)
    @wait
    def refund(amount: int) -> str:
        """Give money back."""
        current = current_wait()
        assert current is not None
        ran.append(("refund", amount, current.idempotency_key))
        return f"refunded {amount}"

    return refund


@pytest.fixture
def small(ran: Ran) -> Any:
    @tool(context=True)
    @wait(when=lambda amount: amount > 5)
    def small(amount: int) -> str:
        """Need no question."""
        current = current_wait()
        assert current is not None
        ran.append(("small", amount, current.idempotency_key))
        return "ok"

    return small


CALLS = [("small", "call_0", {"amount": 1}), ("refund", "call_1", {"amount": 9})]


def test_looking_at_an_unknown_thread_creates_nothing(tmp_path: Path, refund: Any) -> None:
    host = Host(tmp_path, [refund], CALLS, "done")

    assert host.publisher.pending("t-1") == []
    assert host.publisher.republish("t-1").failures == ()
    answer = {"thread_id": "t-1", "question_id": "q", "answer": APPROVE}
    assert host.handle(answer).kind == "unknown_question"
    assert list(tmp_path.iterdir()) == []

    host.handle(START)
    assert [path.name for path in tmp_path.iterdir()] == ["session_t-1"]


def test_an_agent_made_outside_of_a_look_has_its_session_created_as_ever(tmp_path: Path, refund: Any) -> None:
    host = Host(tmp_path, [refund])
    host.publisher.pending("t-1")
    host.agent("t-1")

    assert (tmp_path / "session_t-1").exists()
    assert not host.adapter.state("t-1").known


def test_looking_at_a_known_thread_changes_nothing(tmp_path: Path, small: Any, refund: Any) -> None:
    host = Host(tmp_path, [small, refund], CALLS, "done")
    host.handle(START)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    host.publisher.pending("t-1")
    host.publisher.republish("t-1")

    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


@pytest.mark.requirement("START-WHILE-PARKED")
@pytest.mark.requirement("SEQUENTIAL-DOUBLE-ANSWER")
def test_start_answer_and_both_again(tmp_path: Path, small: Any, refund: Any, ran: Ran) -> None:
    host = Host(tmp_path, [small, refund], CALLS, "done")

    assert host.handle(START).kind == "started"
    assert host.handle(START).kind == "republished"
    assert host.handle({**START, "start_id": "s-2"}).kind == "busy"
    assert host.handle({"thread_id": "t-1", "input": "hi"}).kind == "republished"
    assert len({envelope.dedupe_key for envelope in host.announced.of("created")}) == 1
    assert len({envelope.asked_at for envelope in host.announced.of("created")}) == 1
    reply = host.reply(APPROVE)
    assert host.handle({**reply, "fingerprint": "sha256:other"}).kind == "refused"

    assert host.restarted().handle(reply).kind == "resumed"
    assert host.restarted().handle(reply).kind == "already_answered"
    assert host.handle({**reply, "answer": REJECT}).kind == "already_answered"
    assert host.handle(START).kind == "republished"
    assert [one[0] for one in ran] == ["small", "refund"]
    assert {envelope.ask_id for envelope in host.announced.of("resumed")} == {reply["ask_id"]}


def test_a_thread_goes_on_with_a_new_start_after_its_end(tmp_path: Path, refund: Any) -> None:
    host = Host(tmp_path, [refund], "one", "two", "three")
    host.handle(START)
    blocks = [{"text": "more"}]
    messages = [{"role": "user", "content": [{"text": "most"}], "metadata": {"custom": {"mine": 1}}}]
    for number, value in (("s-2", blocks), ("s-3", messages)):
        start = {**START, "input": value, "start_id": number}
        assert host.handle(start).kind == "started"
        assert host.handle(start).kind == "republished"

    agent = host.agent("t-1")
    assert [m["content"][0].get("text") for m in agent.messages[::2]] == ["hi", "more", "most"]
    assert agent.messages[-2].get("metadata", {}).get("custom", {})["mine"] == 1
    assert messages[0]["metadata"] == {"custom": {"mine": 1}}


def test_the_last_sixteen_start_ids_are_known(tmp_path: Path) -> None:
    host = Host(tmp_path, [], *["done"] * 20)
    for number in range(18):
        host.handle({**START, "start_id": f"s-{number}"})

    assert host.adapter.state("t-1").starts == tuple(f"s-{number}" for number in range(2, 18))
    assert host.handle({**START, "start_id": "s-17"}).kind == "republished"


class Killed(BaseException):
    """The process is gone: nothing that comes after it is written."""


class Mortal(FileSessionManager):
    """Dies before the write for which there is nothing left."""

    left = 10_000

    def _write_file(self, path: str, data: dict[str, Any]) -> None:
        if Mortal.left == 0:
            raise Killed
        Mortal.left -= 1
        super()._write_file(path, data)


class MortalHost(Host):
    def agent(self, thread_id: str) -> Agent:
        manager = Mortal(session_id=thread_id, storage_dir=str(self.folder))
        return make_agent(self.tools, *self.turns, session_manager=manager, **self.options)


def deliver(host: Host, message: dict[str, Any], *, dies_after: int) -> bool:
    """Deliver a message, the first time to a process that dies after so many writes; whether it did."""
    Mortal.left = dies_after
    died = False
    try:
        host.handle(message)
    except Killed:
        died = True
    Mortal.left = 10_000
    if died:
        assert host.restarted().publisher.handle(message).acknowledge
    return died


def prompts_of(host: Host) -> int:
    return sum(block.get("text") == "hi" for m in host.agent("t-1").messages for block in m["content"])


def test_a_start_that_dies_at_any_write_is_neither_lost_nor_run_twice(
    tmp_path: Path, small: Any, refund: Any, ran: Ran
) -> None:
    deaths = 0
    for writes in itertools.count(1):
        ran.clear()
        folder = tmp_path / str(writes)
        host = MortalHost(folder, [small, refund], CALLS, "done")
        died = deliver(host, START, dies_after=writes)

        assert prompts_of(host) == 1, writes
        assert host.handle({**START, "start_id": "s-2"}).kind == "busy", writes
        assert len(host.open_questions()) == 1, writes
        assert len(set(ran)) == 1, f"one key for what needed no question, dying after {writes} writes: {ran}"
        if not died:
            break
        deaths += 1
    assert deaths >= 5


def test_a_death_while_a_session_of_files_is_created_wedges_the_thread(tmp_path: Path) -> None:
    """Strands makes the folder first, and then takes it for the session's: remove the empty folder."""
    host = MortalHost(tmp_path, [], "done")
    Mortal.left = 0
    with pytest.raises(Killed):
        host.handle(START)
    Mortal.left = 10_000

    with pytest.raises(SessionException, match="already exists"):
        host.handle(START)


def test_an_answer_that_dies_at_any_write_is_applied_once_by_its_key(
    tmp_path: Path, small: Any, refund: Any, ran: Ran
) -> None:
    deaths = 0
    for writes in itertools.count():
        ran.clear()
        host = MortalHost(tmp_path / str(writes), [small, refund], CALLS, "done")
        host.handle(START)
        reply = host.reply(APPROVE)
        died = deliver(host, reply, dies_after=writes)

        state = host.adapter.state("t-1")
        assert (state.pending, state.unfinished) == ((), False), writes
        assert {one[0] for one in ran} == {"small", "refund"}
        assert len(set(ran)) == 2, f"one key for each call, dying after {writes} writes: {ran}"
        messages = host.agent("t-1").messages
        assert messages[-1]["content"][0].get("text") == "done", writes
        assert host.handle(reply).kind == "already_answered", writes
        if not died:
            break
        deaths += 1
    assert deaths >= 3


def test_a_run_that_raised_in_the_model_is_taken_up_where_it_stands(
    tmp_path: Path, small: Any, refund: Any, ran: Ran
) -> None:
    host = Host(tmp_path, [small, refund], CALLS)
    host.handle(START)
    reply = host.reply(APPROVE)
    with pytest.raises(EventLoopException):
        host.handle(reply)
    assert host.adapter.state("t-1").unfinished

    recovered = Host(tmp_path, [small, refund], CALLS, "done")
    outcome = recovered.handle(reply)

    assert (outcome.kind, str(outcome.result).strip()) == ("continued", "done")
    assert [one[0] for one in ran] == ["small", "refund"]


class FailsOnce(HookProvider):
    def __init__(self, failures: Ran) -> None:
        self.failures = failures

    def register_hooks(self, registry: Any, **kwargs: Any) -> None:
        registry.add_callback(AfterToolsEvent, self.fail)

    def fail(self, event: AfterToolsEvent) -> None:
        if self.failures:
            raise self.failures.pop()


def test_a_hook_that_raises_after_an_answered_tool_has_the_body_run_again_under_the_same_key(
    tmp_path: Path, refund: Any, ran: Ran
) -> None:
    failures: Ran = []
    host = Host(
        tmp_path, [refund], [("refund", "call_1", {"amount": 9})], "done", hooks=[FailsOnce(failures)]
    )
    host.handle(START)
    reply = host.reply(APPROVE)
    failures.append(ConnectionError())
    with pytest.raises(EventLoopException):
        host.handle(reply)
    state = host.adapter.state("t-1")
    assert (state.pending, state.unfinished) == ((), True)

    assert host.handle(reply).kind == "continued"
    assert len(ran) == 2
    assert len(set(ran)) == 1


def test_a_tool_that_ends_the_turn_leaves_nothing_unfinished(tmp_path: Path) -> None:
    @tool(context=True)
    def stop(tool_context: Any) -> str:
        """Stop the loop without another word of the model."""
        tool_context.agent.cancel(after_current_tools=True)
        return "stopped"

    host = Host(tmp_path, [stop], [("stop", "call_0", {})], "never said")
    host.handle(START)

    assert not host.adapter.state("t-1").unfinished
    assert host.handle(START).kind == "republished"


def test_a_thread_that_was_run_without_the_adapter_is_read_by_its_messages(
    tmp_path: Path, refund: Any
) -> None:
    host = Host(tmp_path, [refund], [("refund", "call_1", {"amount": 9})], "done")
    host.agent("t-1")("hi")

    assert len(host.open_questions()) == 1
    host.publisher.republish("t-1")
    assert host.handle(host.reply(APPROVE)).kind == "resumed"


class Gate(HookProvider):
    """Asks before any call of `plain`, as a host's own hook may."""

    def __init__(self, seen: Ran) -> None:
        self.seen = seen

    def register_hooks(self, registry: Any, **kwargs: Any) -> None:
        registry.add_callback(BeforeToolCallEvent, self.ask)

    def ask(self, event: BeforeToolCallEvent) -> None:
        said = event.interrupt("gate", reason={"may": event.tool_use["name"]})
        self.seen.append(said)
        if said != "y":
            event.cancel_tool = "denied"


@pytest.mark.parametrize(("answer", "returned"), [("y", "ran"), ("n", "denied"), (False, "denied")])
def test_a_hooks_own_interrupt_is_a_bare_question_and_gets_what_was_sent(
    tmp_path: Path, ran: Ran, answer: Any, returned: str
) -> None:
    @tool
    def plain() -> str:
        """Plain."""
        return "ran"

    host = Host(tmp_path, [plain], [("plain", "call_0", {})], "done", hooks=[Gate(ran)])
    host.handle(START)
    [envelope] = host.announced.of("created")
    assert (envelope.question, envelope.fingerprint, envelope.source) == ({"may": "plain"}, None, None)
    assert envelope.allowed_actions == ("resume",)

    assert host.handle(host.reply(None)).kind == "refused"
    assert len(host.open_questions()) == 1
    assert host.handle(host.reply(answer)).kind == "resumed"
    assert ran == [answer]
    assert host.returns() == {"call_0": returned}


def test_an_answer_that_another_process_was_first_with_runs_nothing(
    tmp_path: Path, refund: Any, ran: Ran
) -> None:
    host = Host(tmp_path, [refund], [("refund", "call_1", {"amount": 9})], "done")
    host.handle(START)
    [question], reply = host.open_questions(), host.reply(APPROVE)
    host.handle(reply)

    late = host.adapter.resume_value(reply, question)
    with pytest.raises(QuestionClosed):
        host.adapter.invoke(late, host.adapter.config_for("t-1"))
    assert len(ran) == 1


def test_what_a_host_adds_to_the_config_reaches_the_run(tmp_path: Path) -> None:
    seen: Ran = []

    @tool(context=True)
    def look(tool_context: Any) -> str:
        """Look."""
        seen.append({key: tool_context.invocation_state.get(key) for key in ("thread_id", "tenant")})
        return "ok"

    host = Host(tmp_path, [look], [("look", "call_0", {})], "done")
    host.publisher.handle(START, config={"invocation_state": {"tenant": "x"}})

    assert seen == [{"thread_id": "t-1", "tenant": "x"}]


@pytest.mark.parametrize(
    "value", [[], [{"text": "a"}, {"role": "user", "content": []}], ["a"], {"a": 1}, None]
)
def test_an_input_that_is_no_prompt_is_left_to_strands(value: Any) -> None:
    assert marked_input(value, "s-1") is value


def test_a_start_without_an_id_is_run_as_it_is(tmp_path: Path) -> None:
    host = Host(tmp_path, [], "done")

    assert host.handle({"thread_id": "t-1", "input": "hi"}).kind == "started"
    assert host.adapter.state("t-1").starts == ()


def test_a_thread_whose_messages_a_server_keeps_is_known_by_its_state(tmp_path: Path) -> None:
    agent = Host(tmp_path, []).agent("t-1")
    mark(agent, ["s-1"], running=True)

    state = thread_state(agent)
    assert (state.known, state.starts, state.unfinished) == (True, ("s-1",), False)


def test_a_tool_that_is_called_without_a_model_has_a_name_too(tmp_path: Path, small: Any, ran: Ran) -> None:
    agent = Host(tmp_path, [small]).agent("t-1")
    agent.tool.small(amount=1)

    assert [one[:2] for one in ran] == [("small", 1)]


@pytest.mark.requirement("SNAPSHOT-BEFORE-PAUSE")
def test_the_session_knows_the_question_before_it_is_announced(tmp_path: Path, refund: Any) -> None:
    host = Host(tmp_path, [refund], [("refund", "call_1", {"amount": 9})], "done")
    stored: Ran = []

    class Looking(InMemoryAnnounce):
        def deliver(self, envelope: Any, transition: Any) -> None:
            stored.append([question.id for question in host.restarted().open_questions()])

    outcome = WaitPublisher(StrandsAdapter(host.agent), announce=Looking()).handle(START)

    assert stored == [[envelope.question_id for envelope in outcome.publication]]


PROGRAM = """
import json, sys
from pathlib import Path
from agent_wait import current_wait
from strands import tool
from strands_support import Host
from strands_wait import wait

@tool(context=True)
@wait
def refund(order: str, amount: float) -> str:
    "Give money back."
    print(json.dumps({"ran": [order, amount], "key": current_wait().idempotency_key}))
    return "ok"

host = Host(Path(sys.argv[1]), [refund], [("refund", "call_0", {"order": "o", "amount": 1.5})], "done")
outcome = host.handle(json.loads(sys.argv[2]))
created = [[e.dedupe_key, e.asked_at, e.reply_with] for e in host.announced.of("created")]
print(json.dumps({"kind": outcome.kind, "created": created}))
"""


def run(folder: Path, message: dict[str, Any], seed: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), json.dumps(message)],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(Path(__file__).parent), "PYTHONHASHSEED": seed, "PATH": ""},
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_every_process_sees_the_same_question_and_one_of_them_runs_the_body(tmp_path: Path) -> None:
    [first] = run(tmp_path, START, "1")
    [second] = run(tmp_path, START, "2")
    assert (first["kind"], second["kind"]) == ("started", "republished")
    assert first["created"] == second["created"]

    answer = {**first["created"][0][2], "answer": APPROVE}
    body, third = run(tmp_path, answer, "3")
    assert body["ran"] == ["o", 1.5]
    assert third["kind"] == "resumed"
    assert run(tmp_path, answer, "4") == [{"kind": "already_answered", "created": []}]
