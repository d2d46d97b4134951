"""A LangGraph saver as a mortal process uses it: each write is stored as a whole or not at all."""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from faults.life import Life

Saver = BaseCheckpointSaver[Any]


class MortalSaver(BaseCheckpointSaver[Any]):
    """Stores in another saver for as long as its process lives.

    Args:
        saver: Where everything is; it outlives the process.
        life: The process.
        older: Parked values lose what later versions of the library have added to them, and bear what some
            later one may add.
    """

    def __init__(self, saver: Saver, life: Life, *, older: bool = False) -> None:
        super().__init__(serde=saver.serde)
        self._saver, self._life, self._older = saver, life, older

    def get_tuple(self, config: Any) -> CheckpointTuple | None:
        return self._saver.get_tuple(config)

    async def aget_tuple(self, config: Any) -> CheckpointTuple | None:
        return await self._saver.aget_tuple(config)

    def list(self, config: Any, **options: Any) -> Iterator[CheckpointTuple]:
        return self._saver.list(config, **options)

    def alist(self, config: Any, **options: Any) -> AsyncIterator[CheckpointTuple]:
        return self._saver.alist(config, **options)

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        with self._life.around("put"):
            return self._saver.put(config, checkpoint, metadata, new_versions)

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self._life.at("before put")
        stored = await self._saver.aput(config, checkpoint, metadata, new_versions)
        self._life.at("after put")
        return stored

    def put_writes(
        self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        with self._life.around("writes"):
            self._saver.put_writes(config, self._as_stored(writes), task_id, task_path)

    async def aput_writes(
        self, config: Any, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self._life.at("before writes")
        await self._saver.aput_writes(config, self._as_stored(writes), task_id, task_path)
        self._life.at("after writes")

    def get_next_version(self, current: Any, channel: None) -> Any:
        return self._saver.get_next_version(current, channel)

    def _as_stored(self, writes: Sequence[tuple[str, Any]]) -> Sequence[tuple[str, Any]]:
        if not self._older:
            return writes
        return [
            (channel, [_older(interrupt) for interrupt in value] if channel == "__interrupt__" else value)
            for channel, value in writes
        ]


def _older(interrupt: Any) -> Any:
    value: Any = interrupt.value
    if not isinstance(value, dict) or "__ask__" not in value:
        return interrupt
    packed: dict[str, Any] = {**value}
    added_since = ("call", "task", "traceparent")
    ask = {name: part for name, part in packed["__ask__"].items() if name not in added_since}
    packed["__ask__"] = {**ask, "of_a_later_version": [1]}
    packed["__wait__"] = {**packed["__wait__"], "of_a_later_version": {"a": None}}
    return type(interrupt)(packed, interrupt.id)
