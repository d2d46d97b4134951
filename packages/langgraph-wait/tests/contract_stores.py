"""The savers of LangGraph, as places for threads that another process can open."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Generator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)

import boto3
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph_checkpoint_aws import DynamoDBSaver
from lg_shapes import Saver


class Store(ABC):
    """A place for threads. Each opening of it is as another process's."""

    @abstractmethod
    def saver(self) -> AbstractContextManager[Saver]:
        """A saver that is called."""

    @abstractmethod
    def asaver(self) -> AbstractAsyncContextManager[Saver]:
        """A saver that is awaited."""


class Memory(Store):
    """The one that no other process can open."""

    def __init__(self) -> None:
        self._saver = InMemorySaver()

    @contextmanager
    def saver(self) -> Generator[Saver]:
        yield self._saver

    @asynccontextmanager
    async def asaver(self) -> AsyncGenerator[Saver]:
        yield self._saver


class Sqlite(Store):
    """A file."""

    def __init__(self, path: str) -> None:
        self._path = path

    @contextmanager
    def saver(self) -> Generator[Saver]:
        with SqliteSaver.from_conn_string(self._path) as saver:
            yield saver

    @asynccontextmanager
    async def asaver(self) -> AsyncGenerator[Saver]:
        async with AsyncSqliteSaver.from_conn_string(self._path) as saver:
            yield saver


class Postgres(Store):
    """A database that is set up already: see `set_up`."""

    def __init__(self, address: str) -> None:
        self._address = address

    def set_up(self) -> "Postgres":
        """Make the tables."""
        with PostgresSaver.from_conn_string(self._address) as saver:
            saver.setup()
        return self

    @contextmanager
    def saver(self) -> Generator[Saver]:
        with PostgresSaver.from_conn_string(self._address) as saver:
            yield saver

    @asynccontextmanager
    async def asaver(self) -> AsyncGenerator[Saver]:
        async with AsyncPostgresSaver.from_conn_string(self._address) as saver:
            yield saver


class DynamoDb(Store):
    """A table of the account that the environment names; one saver is both called and awaited."""

    def __init__(self, table: str) -> None:
        self._table = table
        self._session = boto3.Session()

    def set_up(self) -> "DynamoDb":
        """Make the table."""
        self._session.client("dynamodb").create_table(
            TableName=self._table,
            KeySchema=[
                {"AttributeName": "PK", "KeyType": "HASH"},
                {"AttributeName": "SK", "KeyType": "RANGE"},
            ],
            AttributeDefinitions=[
                {"AttributeName": "PK", "AttributeType": "S"},
                {"AttributeName": "SK", "AttributeType": "S"},
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        return self

    @contextmanager
    def saver(self) -> Generator[Saver]:
        yield DynamoDBSaver(self._table, session=self._session)

    @asynccontextmanager
    async def asaver(self) -> AsyncGenerator[Saver]:
        yield await asyncio.to_thread(DynamoDBSaver, self._table, self._session)
