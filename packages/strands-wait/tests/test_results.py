"""`interrupts_in` on everything that a run of Strands can be handed over as, and `interrupt_responses`."""

from pathlib import Path
from typing import Any

import pytest
from agent_wait import InMemoryAnnounce, current_wait
from strands import Agent, tool  # pyright: ignore[reportUnknownVariableType]  # unknown in one overload
from strands.hooks import BeforeNodeCallEvent, HookProvider
from strands.interrupt import Interrupt
from strands.multiagent import GraphBuilder, Swarm
from strands.multiagent.base import Status
from strands.session.file_session_manager import FileSessionManager
from strands_support import APPROVE, REJECT, Script, make_agent, questions_in
from strands_wait import (
    StrandsFramework,
    apublish_interrupts,
    interrupt_responses,
    is_answer,
    publish_interrupts,
    wait,
)

Ran = list[Any]
CALLS = [("act", f"call_{n}", {"amount": n}) for n in range(2)]


@pytest.fixture
def ran() -> Ran:
    return []


@pytest.fixture
def act(ran: Ran) -> Any:
    @tool(context=True)
    @wait
    def act(amount: int) -> str:
        """Act."""
        current = current_wait()
        assert current is not None
        ran.append((amount, current.idempotency_key, current.thread_id))
        return "ok"

    return act


def replies_to(result: Any, *answers: Any) -> list[dict[str, Any]]:
    announced = InMemoryAnnounce()
    publish_interrupts(result, "t-1", announced)
    sent = [{**envelope.reply_with} for envelope in announced.of("created")]
    return [{**one, "answer": answer} for one, answer in zip(sent, answers, strict=True)]


def amounts_in(result: Any) -> list[int]:
    return sorted(question.question["args"]["amount"] for question in questions_in(result))


def test_an_agents_result_and_its_interrupts_show_each_question_once(act: Any) -> None:
    result = make_agent([act], CALLS, "done")("hi")

    assert result.interrupts
    for shape in (result, list(result.interrupts), tuple(result.interrupts), {"result": result}):
        assert amounts_in(shape) == [0, 1]
    assert amounts_in(result.interrupts[0]) in ([0], [1])
    assert amounts_in([*result.interrupts, *result.interrupts]) == [0, 1]


async def test_the_events_of_a_stream_show_them_too(act: Any) -> None:
    events = [event async for event in make_agent([act], CALLS, "done").stream_async("hi")]

    assert amounts_in(events) == [0, 1]
    assert amounts_in(events[-1]) == [0, 1]


async def test_a_run_that_went_through_has_no_questions() -> None:
    result = await make_agent([], "done").invoke_async("hi")

    assert questions_in(result) == []
    assert list(await apublish_interrupts(result, "t-1", InMemoryAnnounce())) == []


@pytest.mark.parametrize("result", [None, "done", 5, {"output": 1}, [1], [{"init": True}], object()])
def test_what_is_no_result_is_a_type_error(result: Any) -> None:
    with pytest.raises(TypeError):
        StrandsFramework().interrupts_in(result)


def test_an_interrupt_without_a_reason_is_asked_by_its_name() -> None:
    assert StrandsFramework().interrupts_in(Interrupt("i-1", "may I")) == [("i-1", "may I")]


def graph_of(agent: Agent, **options: Any) -> Any:
    builder = GraphBuilder()
    builder.add_node(agent, "node")
    builder.set_max_node_executions(5)
    if options.get("session_manager"):
        builder.set_session_manager(options["session_manager"])
    if options.get("hooks"):
        builder.set_hook_providers(options["hooks"])
    return builder.build()


@pytest.mark.requirement("MULTI-AGENT-RESULT")
@pytest.mark.parametrize("kind", ["graph", "swarm"])
def test_graph_and_swarm_stop_show_and_resume(act: Any, ran: Ran, kind: str) -> None:
    agent = make_agent([act], CALLS, "done", name="node")
    many: Any = graph_of(agent) if kind == "graph" else Swarm([agent])
    state = {"thread_id": "t-1"}

    result = many("hi", invocation_state=state)
    assert result.status == Status.INTERRUPTED
    assert amounts_in(result) == [0, 1]

    [reply, other] = replies_to(result, APPROVE, APPROVE)
    again = many(interrupt_responses(reply, result), invocation_state=state)
    assert [q.id for q in questions_in(again)] == [other["question_id"]]
    done = many(interrupt_responses(other, again), invocation_state=state)

    assert done.status == Status.COMPLETED
    assert sorted(one[0] for one in ran) == [0, 1]
    assert {one[2] for one in ran} == {"t-1"}


@pytest.mark.requirement("MULTI-AGENT-RESULT")
def test_a_graph_is_resumed_by_another_process_with_a_bad_answer_first(
    tmp_path: Path, act: Any, ran: Ran
) -> None:
    def graph() -> Any:
        manager = FileSessionManager(session_id="t-1", storage_dir=str(tmp_path))
        return graph_of(make_agent([act], CALLS[:1], "done", name="node"), session_manager=manager)

    result = graph()("hi")
    [bad] = replies_to(result, {"action": "approve", "args": 5})
    again = graph()(interrupt_responses(bad, result))
    [first], [second] = questions_in(result), questions_in(again)
    assert (second.attempt, second.fingerprint, second.call) == (2, first.fingerprint, first.call)

    [good] = replies_to(again, APPROVE)
    assert graph()(interrupt_responses(good, again)).status == Status.COMPLETED
    assert len(ran) == 1


class NodeGate(HookProvider):
    def register_hooks(self, registry: Any, **kwargs: Any) -> None:
        registry.add_callback(BeforeNodeCallEvent, self.ask)

    def ask(self, event: BeforeNodeCallEvent) -> None:
        if event.interrupt("gate", reason="may it run") != "y":
            event.cancel_node = "denied"


def test_the_id_of_a_hooks_interrupt_before_a_node_is_the_same_in_every_run() -> None:
    """Strands' choice: hosts give such a hook a name or a reason that tells its runs apart."""
    first, second = (graph_of(make_agent([], "done", name="n"), hooks=[NodeGate()])("hi") for _ in range(2))

    assert questions_in(first) == questions_in(second)
    assert questions_in(first)[0].fingerprint is None


def test_a_partly_invalid_list_of_answers_applies_none_of_it(act: Any, ran: Ran) -> None:
    agent = make_agent([act], CALLS, "done")
    result = agent("hi")
    good, other = replies_to(result, APPROVE, REJECT)

    for bad in (
        {**other, "question_id": "nope", "ask_id": None},
        {**other, "fingerprint": "sha256:other"},
        {**other, "fingerprint": None},
        {**other, "thread_id": "t-2"},
        {name: other[name] for name in other if name != "answer"},
    ):
        with pytest.raises(ValueError, match=r"open|fingerprint|no answer"):
            interrupt_responses([good, bad], result)
    assert (amounts_in(result), ran) == ([0, 1], [])


def test_of_two_answers_to_one_question_the_first_counts_and_all_are_wrapped(act: Any) -> None:
    result = make_agent([act], CALLS, "done")("hi")
    first, second = replies_to(result, APPROVE, None)
    assert is_answer(first)

    responses: Any = interrupt_responses([first, {**first, "answer": REJECT}, second], questions_in(result))

    given = [one["interruptResponse"]["response"]["__answer__"]["answer"] for one in responses]
    assert given == [APPROVE, None]


def test_null_to_a_bare_interrupt_is_refused_since_strands_takes_it_for_no_answer() -> None:
    message = {"thread_id": "t-1", "question_id": "i-1", "answer": None}
    with pytest.raises(ValueError, match="null"):
        interrupt_responses(message, Interrupt("i-1", "may I"))

    taken: Any = interrupt_responses({**message, "answer": "y"}, Interrupt("i-1", "may I"))
    assert taken == [{"interruptResponse": {"interruptId": "i-1", "response": "y"}}]


def test_an_agent_that_is_a_tool_hands_its_question_up(act: Any, ran: Ran) -> None:
    inner = make_agent([act], CALLS[:1], "inner done", name="inner", description="Inner.")
    outer = Agent(
        model=Script([("inner", "o-1", {"input": "go"})], "done"),
        tools=[inner.as_tool()],
        callback_handler=None,
    )
    result = outer("hi")
    [reply] = replies_to(result, APPROVE)

    responses: Any = interrupt_responses(reply, result)
    assert str(outer(responses)).strip() == "done"
    assert len(ran) == 1
