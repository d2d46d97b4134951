"""`HumanInTheLoopMiddleware` and other bare interrupts: published with what they allow, and answered so."""

from decimal import Decimal
from typing import Any, Literal, TypedDict

import pytest
from agent_wait import WaitEnvelope
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from lg_host import Host, Router, answer_to
from lg_shapes import Graph, Saver, agent
from pydantic import BaseModel

ran: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_has_run() -> None:
    ran.clear()


@tool
def send(to: str) -> str:
    """Send a mail."""
    ran.append(f"send {to}")
    return f"sent to {to}"


@tool
def delete(path: str) -> str:
    """Delete a file."""
    ran.append(f"delete {path}")
    return f"deleted {path}"


def reviewed(saver: Saver, mode: Literal["batched", "per_call"]) -> Graph:
    calls: Any = [
        {"name": "send", "args": {"to": "a@example.org"}, "id": "call_0"},
        {"name": "delete", "args": {"path": "/x"}, "id": "call_1"},
    ]
    middleware = HumanInTheLoopMiddleware(
        {"send": True, "delete": {"allowed_decisions": ["approve", "reject"]}}, interrupt_mode=mode
    )
    return agent([send, delete], [AIMessage("", tool_calls=calls)], saver, middleware=[middleware])


START_INPUT = {"messages": [("user", "go")]}


@pytest.mark.requirement("WRONG-SHAPE-FOR-MIDDLEWARE")
def test_a_batch_is_published_with_the_decisions_it_allows_and_their_number(
    mode: str, saver: Saver, host: Host
) -> None:
    router = Router.of(host, reviewed(saver, "batched"))
    router.start(START_INPUT)
    [asked] = router.open()
    assert isinstance(asked.question, dict)
    assert asked.question["action_requests"] == [
        {
            "name": "send",
            "args": {"to": "a@example.org"},
            "description": "Tool execution requires approval\n\nTool: send\nArgs: {'to': 'a@example.org'}",
        },
        {
            "name": "delete",
            "args": {"path": "/x"},
            "description": "Tool execution requires approval\n\nTool: delete\nArgs: {'path': '/x'}",
        },
    ]
    assert asked.allowed_actions == ("approve", "edit", "reject", "respond")
    assert asked.fingerprint is None
    assert isinstance(asked.answer_schema, dict)
    decisions: Any = asked.answer_schema["properties"]
    assert (decisions["decisions"]["minItems"], decisions["decisions"]["maxItems"]) == (2, 2)


WRONG_BATCHES: dict[str, tuple[Any, str]] = {
    "another vocabulary": ({"action": "approve"}, "answer.decisions is missing"),
    "one for two": ({"decisions": [{"type": "approve"}]}, "answer.decisions has 1 items and needs 2"),
    "three for two": ({"decisions": [{"type": "approve"}] * 3}, "answer.decisions has 3 items and needs 2"),
    "no list": ({"decisions": {"type": "approve"}}, "answer.decisions is not of type array"),
    "bare texts": (
        {"decisions": ["approve", "approve"]},
        "answer.decisions[0] fits none of the 4 forms that are allowed",
    ),
    "what the tool does not allow": (
        {
            "decisions": [
                {"type": "approve"},
                {"type": "edit", "edited_action": {"name": "delete", "args": {}}},
            ]
        },
        "answer.decisions[1] fits none of the 2 forms that are allowed",
    ),
    "an edit of nothing": (
        {"decisions": [{"type": "edit"}, {"type": "approve"}]},
        "answer.decisions[0] fits none of the 4 forms that are allowed",
    ),
    "nothing": (None, "answer is not of type object"),
    "a text": ("approve", "answer is not of type object"),
    "a list": ([{"type": "approve"}, {"type": "approve"}], "answer is not of type object"),
}


@pytest.mark.parametrize("wrong", WRONG_BATCHES)
@pytest.mark.requirement("WRONG-SHAPE-FOR-MIDDLEWARE")
def test_a_batch_answered_in_the_wrong_shape_is_refused_and_stays_answerable(
    wrong: str, mode: str, saver: Saver, host: Host
) -> None:
    router = Router.of(host, reviewed(saver, "batched"))
    router.start(START_INPUT)
    [asked] = router.open()
    answer, why = WRONG_BATCHES[wrong]
    outcome = router.handle(answer_to(asked, answer))
    assert (outcome.kind, outcome.detail, outcome.acknowledge) == ("refused", why, True)
    right = {"decisions": [{"type": "approve"}, {"type": "reject", "message": "keep it"}]}
    outcome = router.handle(answer_to(asked, right))
    assert outcome.kind == "resumed"
    assert ran == ["send a@example.org"]
    assert router.pending() == []


def test_every_decision_of_a_batch_reaches_the_middleware(mode: str, saver: Saver, host: Host) -> None:
    router = Router.of(host, reviewed(saver, "batched"))
    router.start(START_INPUT)
    edit = {"type": "edit", "edited_action": {"name": "send", "args": {"to": "b@example.org"}}}
    router.handle(answer_to(host.asked, {"decisions": [edit, {"type": "approve"}]}))
    assert sorted(ran) == ["delete /x", "send b@example.org"]


@pytest.mark.requirement("WRONG-SHAPE-FOR-MIDDLEWARE")
def test_per_call_each_tool_call_is_a_question_with_its_own_decisions(
    mode: str, saver: Saver, host: Host
) -> None:
    router = Router.of(host, reviewed(saver, "per_call"))
    router.start(START_INPUT)
    asked = {_name(envelope): envelope for envelope in router.open()}
    assert asked["send"].allowed_actions == ("approve", "edit", "reject", "respond")
    assert asked["delete"].allowed_actions == ("approve", "reject")
    assert router.handle(answer_to(asked["delete"], {"action": "approve"})).kind == "refused"
    assert router.handle(answer_to(asked["delete"], {"type": "respond", "message": "m"})).kind == "refused"
    other_tool = {"type": "edit", "edited_action": {"name": "delete", "args": {"path": "/"}}}
    assert router.handle(answer_to(asked["send"], other_tool)).kind == "refused"
    assert ran == []
    assert router.handle(answer_to(asked["delete"], {"type": "approve"})).kind == "resumed"
    outcome = router.handle(answer_to(asked["send"], {"type": "reject", "message": "no"}))
    assert ran == ["delete /x"]
    messages: list[Any] = outcome.result["messages"]
    told = [str(one.content) for one in messages if isinstance(one, ToolMessage)]
    assert any("with reason: no" in text for text in told)


def _name(envelope: WaitEnvelope) -> str:
    assert isinstance(envelope.question, dict)
    return str(envelope.question["name"])


class Log(TypedDict, total=False):
    got: str


class Form(BaseModel):
    amount: int
    note: str | None = None


def asking(saver: Saver, schema: Any) -> Graph:
    def work(_: Log) -> Log:
        return {"got": repr(interrupt("how much?", response_schema=schema))}

    builder: Any = StateGraph(Log)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    return builder.compile(checkpointer=saver)


@pytest.mark.parametrize("schema", [Form, Form.model_json_schema()], ids=["type", "schema"])
def test_a_response_schema_is_published_and_an_answer_that_does_not_fit_is_refused(
    schema: Any, mode: str, saver: Saver, host: Host
) -> None:
    router = Router.of(host, asking(saver, schema))
    router.start({"got": ""})
    [asked] = router.open()
    assert asked.question == "how much?"
    assert asked.answer_schema == Form.model_json_schema()
    assert asked.allowed_actions == ("resume",)
    refused = router.handle(answer_to(asked, {"amount": "many"}))
    assert (refused.kind, refused.detail) == ("refused", "answer.amount is not of type integer")
    assert router.handle(answer_to(asked, {})).kind == "refused"
    outcome = router.handle(answer_to(asked, {"amount": 3}))
    assert outcome.kind == "resumed"
    assert outcome.result["got"] == (repr(Form(amount=3)) if schema is Form else "{'amount': 3}")


@pytest.mark.parametrize(
    "answer", [None, False, 0, "", {}, [], {"__answer__": {"answer": 1, "fingerprint": "f"}}]
)
@pytest.mark.requirement("NULL-ANSWER", "FALSY-ANSWERS")
def test_a_bare_interrupt_gets_what_was_sent(answer: Any, mode: str, saver: Saver, host: Host) -> None:
    router = Router.of(host, asking(saver, None))
    router.start({"got": ""})
    [asked] = router.open()
    assert (asked.question, asked.fingerprint, asked.allowed_actions) == ("how much?", None, ("resume",))
    outcome = router.handle(answer_to(asked, answer))
    assert outcome.result["got"] == repr(answer)


@pytest.mark.parametrize(
    "request_",
    [
        {"action_requests": [{}], "review_configs": [{}]},
        {"action_requests": [{}], "review_configs": [{"allowed_decisions": []}]},
        {"action_requests": [], "review_configs": []},
        {"action_requests": [{}], "review_configs": []},
        {"action_requests": "all", "review_configs": "none"},
    ],
    ids=["no decisions", "empty decisions", "no calls", "no configs", "texts"],
)
def test_what_only_looks_like_a_middleware_request_is_a_bare_question(request_: Any, host: Host) -> None:
    [asked] = host.publish({"__interrupt__": [{"id": "ab" * 16, "value": request_}]})
    assert (asked.question, asked.allowed_actions, asked.answer_schema) == (request_, ("resume",), None)


def test_a_bare_interrupt_of_any_value_is_published(mode: str, saver: Saver, host: Host) -> None:
    def work(_: Log) -> Log:
        interrupt({"amount": Decimal("1.50"), "tags": {"b", "a"}, 7: "seven"})
        return {}

    builder: Any = StateGraph(Log)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    router = Router.of(host, builder.compile(checkpointer=saver))
    router.start({"got": ""})
    assert host.asked.question == {"amount": "1.50", "tags": ["a", "b"], "7": "seven"}
    [clash] = host.publish({"__interrupt__": [{"id": "ab" * 16, "value": {1: "a", "1": "b"}}]})
    assert clash.question == {"1": "a", "1#2": "b"}
