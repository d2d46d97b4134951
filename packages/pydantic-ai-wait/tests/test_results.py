"""`interrupts_in` on everything that a run of Pydantic AI can be handed over as, and `deferred_results`."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from agent_wait import InMemoryAnnounce
from pai_support import APPROVE, Ctx, make_agent, questions_in
from pydantic import TypeAdapter
from pydantic_ai import ApprovalRequired, CallDeferred, DeferredToolRequests
from pydantic_ai.messages import ModelRequest, ModelResponse, ToolCallPart
from pydantic_ai_wait import (
    PydanticAIFramework,
    apublish_interrupts,
    deferred_results,
    is_answer,
    publish_interrupts,
    wait,
)

CALLS: Sequence[tuple[str, str, Mapping[str, Any]]] = [
    ("act", "c0", {"n": 1}),
    ("gate", "c1", {}),
    ("outside", "c2", {}),
]


@wait
def act(n: int) -> str:
    return "ok"


def gate(ctx: Ctx) -> str:
    if not ctx.tool_call_approved:
        raise ApprovalRequired
    return "through"


def outside() -> str:
    raise CallDeferred


def agent() -> Any:
    return make_agent([act, gate, outside], CALLS, "done")


async def _run() -> Any:
    return await agent().run("hi")


async def _iter() -> Any:
    async with agent().iter("hi") as run:
        async for _ in run:
            pass
    return run


async def _events() -> Any:
    async with agent().run_stream_events("hi") as events:
        return [event async for event in events]


async def _last_event() -> Any:
    return (await _events())[-1]


@pytest.mark.parametrize("shape", [_run, _iter, _events, _last_event])
async def test_every_shape_of_a_run_shows_each_question_once_in_order(shape: Callable[[], Any]) -> None:
    result = await shape()

    assert [question.id for question in questions_in(result)] == ["c0", "c1", "c2"]
    assert all(question.fingerprint for question in questions_in(result))


def test_run_sync_shows_them_too() -> None:
    assert [question.id for question in questions_in(agent().run_sync("hi"))] == ["c0", "c1", "c2"]


async def test_requests_alone_show_them_without_fingerprints_for_those_that_never_heard_of_us() -> None:
    result = await agent().run("hi")
    stored = TypeAdapter(DeferredToolRequests).dump_json(result.output)
    requests = TypeAdapter(DeferredToolRequests).validate_json(stored)

    found = questions_in(requests)

    assert {question.id: question.fingerprint is None for question in found} == {
        "c0": False,
        "c1": True,
        "c2": True,
    }


async def test_a_streamed_output_is_read_from_what_it_gives() -> None:
    async with agent().run_stream("hi") as stream:
        output = await stream.get_output()

        assert {question.id for question in questions_in(output)} == {"c0", "c1", "c2"}
        with pytest.raises(TypeError, match="get_output"):
            questions_in(stream)


async def test_a_run_that_has_not_ended_is_no_result() -> None:
    async with agent().iter("hi") as run:
        with pytest.raises(TypeError, match="not ended"):
            questions_in(run)


async def test_a_run_that_went_through_has_no_questions() -> None:
    result = await make_agent([], "done").run("hi")

    assert questions_in(result) == []
    assert questions_in(result.all_messages()) == []
    announced = InMemoryAnnounce()
    assert list(await apublish_interrupts(result, "t-1", announced)) == []


@pytest.mark.parametrize("result", [None, "done", 5, {"output": 1}, [1], object()])
def test_what_is_no_result_is_a_type_error(result: Any) -> None:
    with pytest.raises(TypeError):
        PydanticAIFramework().interrupts_in(result)


async def test_a_run_that_was_not_awaited_is_a_type_error() -> None:
    running = agent().run("hi")
    with pytest.raises(TypeError, match="await"):
        publish_interrupts(running, "t-1", InMemoryAnnounce())
    running.close()


@pytest.mark.parametrize("args", ['{"n": 1}', {"n": 1}, "", None, "no json"])
def test_arguments_may_be_text_a_mapping_or_nothing(args: Any) -> None:
    requests = DeferredToolRequests(approvals=[ToolCallPart("gate", args, tool_call_id="c0")])

    [question] = questions_in(requests)

    expected = (
        {"n": 1} if args in ('{"n": 1}', {"n": 1}) else {"INVALID_JSON": args} if args == "no json" else {}
    )
    assert question.question == {"function": "gate", "args": expected}


async def test_all_or_nothing_of_a_mixed_batch() -> None:
    result = await agent().run("hi")
    announced = InMemoryAnnounce()
    await apublish_interrupts(result, "t-1", announced)
    replies = [{**envelope.reply_with, "answer": APPROVE} for envelope in announced.of("created")]
    assert all(is_answer(reply) for reply in replies)
    unknown = {**replies[0], "question_id": "c9", "ask_id": None}

    results, missing, ignored = deferred_results([replies[0], unknown, replies[0]], result)
    assert (missing, ignored) == (["c1", "c2"], [unknown, replies[0]])
    assert results.approvals.keys() == {"c0"}

    assert deferred_results(replies, result).missing == []


async def test_requests_need_the_history_for_replies_to_those_that_never_heard_of_us() -> None:
    result = await agent().run("hi")
    announced = InMemoryAnnounce()
    publish_interrupts(result, "t-1", announced)
    replies = [{**envelope.reply_with, "answer": APPROVE} for envelope in announced.of("created")]

    assert deferred_results(replies, result.output).missing == ["c1", "c2"]
    assert deferred_results(replies, result.output, history=result.all_messages()).missing == []


async def test_the_history_alone_tells_only_what_is_ours() -> None:
    result = await agent().run("hi")

    assert [question.id for question in questions_in(result.all_messages())] == ["c0"]
    assert deferred_results([], result.all_messages()).missing == ["c0", "c1", "c2"]


def test_results_of_nothing_are_refused() -> None:
    finished = asyncio.run(make_agent([], "done").run("hi"))
    nothings: list[Any] = [None, "requests", []]
    for nothing in nothings:
        with pytest.raises(TypeError):
            deferred_results([], nothing)
    assert deferred_results([], finished).missing == []


async def test_an_answer_without_its_thread_or_of_another_is_ignored() -> None:
    result = await make_agent([act], CALLS[:1], "done").run("hi")
    announced = InMemoryAnnounce()
    publish_interrupts(result, "t-1", announced)
    reply = {**announced.last.reply_with, "answer": APPROVE}

    for bad in (
        {**reply, "thread_id": "t-2"},
        {name: reply[name] for name in reply if name != "thread_id"},
        {**reply, "fingerprint": None},
        {**reply, "fingerprint": "sha256:other"},
        {name: reply[name] for name in reply if name != "answer"},
    ):
        assert deferred_results(bad, result).ignored == [bad]


def test_a_history_that_went_on_has_no_open_calls() -> None:
    parked = make_agent([act], CALLS[:1], "done").run_sync("hi")
    went_on = [*parked.all_messages(), ModelRequest.user_text_prompt("never mind")]

    assert questions_in(went_on) == []
    assert questions_in([ModelRequest.user_text_prompt("hi")]) == []


@pytest.mark.parametrize("kept", [5, {}, {"c0": 5}, {"c0": {"open": 5}}, {"c0": {"open": {}, "given": 5}}])
def test_a_damaged_record_is_none(kept: Any) -> None:
    parked = make_agent([act], CALLS[:1], "done").run_sync("hi")
    history = parked.all_messages()
    for message in history:
        if isinstance(message, ModelResponse):
            message.metadata = {"agent_wait": kept}

    assert questions_in(history) == []
