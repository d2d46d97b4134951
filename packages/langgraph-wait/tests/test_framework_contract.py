"""The contract of every framework, on agents and graphs of LangGraph and on each of its savers."""

import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest
from contract_graphs import OfLangGraph, agent, plain, tool_node
from contract_process import in_new_process
from contract_stores import DynamoDb, Memory, Postgres, Sqlite, Store
from langchain_core.runnables import RunnableConfig
from local_aws import LocalAws
from local_postgres import postgres

START = {"thread_id": "thread-1", "input": {"messages": [["user", "go"]]}, "start_id": "s-1"}


class OnMemory(OfLangGraph):
    def new_store(self) -> Store:
        return Memory()


class TestAgent(OnMemory):
    shape = staticmethod(agent)


class TestPlainGraph(OnMemory):
    shape = staticmethod(plain)
    context = RunnableConfig


class TestHandBuiltToolNode(OnMemory):
    shape = staticmethod(tool_node)
    cannot: ClassVar[Mapping[str, str]] = {
        "test_parallel_questions_are_all_asked_at_once": "one task asks one question at a time",
        "test_parallel_questions_can_be_answered_all_at_once": "one task asks one question at a time",
        "test_each_approved_body_runs_once": "a task runs again from its start for each answer",
        "test_a_predicate_that_says_exactly_false_asks_nobody": (
            "what needed no question runs again with its task, under the same key"
        ),
    }


class TestAgentOnSqlite(OfLangGraph):
    shape = staticmethod(agent)

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path: Path) -> None:
        self._folder = tmp_path

    def new_store(self) -> Store:
        return Sqlite(str(self._folder / f"{uuid.uuid4()}.sqlite"))


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    with postgres() as address:
        Postgres(address).set_up()
        yield address


@pytest.fixture(scope="module")
def table() -> Iterator[str]:
    with LocalAws() as aws, aws.in_environment():
        DynamoDb("checkpoints").set_up()
        yield "checkpoints"


@pytest.mark.services
class TestAgentOnPostgres(OfLangGraph):
    shape = staticmethod(agent)

    @pytest.fixture(autouse=True)
    def store(self, database: str) -> None:
        self._store = Postgres(database)

    def new_store(self) -> Store:
        return self._store


@pytest.mark.services
class TestPlainGraphOnPostgres(TestAgentOnPostgres):
    shape = staticmethod(plain)
    context = RunnableConfig


@pytest.mark.services
@pytest.mark.timeout(180)  # sixteen writes a step, each by HTTP
class TestAgentOnDynamoDb(OfLangGraph):
    shape = staticmethod(agent)

    @pytest.fixture(autouse=True)
    def store(self, table: str) -> None:
        self._store = DynamoDb(table)

    def new_store(self) -> Store:
        return self._store


@pytest.mark.services
class TestPlainGraphOnDynamoDb(TestAgentOnDynamoDb):
    shape = staticmethod(plain)
    context = RunnableConfig


def check_that_every_process_sees_the_same(store: str, place: str) -> None:
    def send(message: Any, seed: int) -> Any:
        return in_new_process(store, place, message, awaited=seed % 2 == 1, seed=seed)

    asked, again = send(START, 1), send(START, 2)
    assert (asked["kind"], again["kind"]) == ("started", "republished")
    assert sorted(again["created"]) == sorted(asked["created"])
    first, second = ({**one[2], "answer": {"action": "approve"}} for one in asked["created"])
    answered = send(second, 3)
    assert (answered["kind"], send(second, 4)["kind"]) == ("resumed", "already_answered")
    assert [body[:2] for body in answered["ran"]] == [["o-1", 1]]
    last = send(first, 5)
    assert (last["kind"], last["created"]) == ("resumed", [])
    assert [body[:2] for body in last["ran"]] == [["o-0", 0]]
    assert send(START, 6) == {"kind": "republished", "created": [], "ran": []}


@pytest.mark.timeout(180)  # seven processes
def test_every_process_sees_the_same_questions_in_a_file(tmp_path: Path) -> None:
    check_that_every_process_sees_the_same("Sqlite", str(tmp_path / "checkpoints.sqlite"))


@pytest.mark.services
@pytest.mark.timeout(180)
def test_every_process_sees_the_same_questions_in_postgres(database: str) -> None:
    check_that_every_process_sees_the_same("Postgres", database)


@pytest.mark.services
@pytest.mark.timeout(180)
def test_every_process_sees_the_same_questions_in_dynamodb(table: str) -> None:
    check_that_every_process_sees_the_same("DynamoDb", table)
