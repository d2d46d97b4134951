"""One interrupt of LangGraph's, whoever raised it, as a question can be made of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from agent_wait import JSON, Question, WaitPolicy
from langgraph.types import Interrupt

TASK = "task"
"""Where `__ask__` has the namespace of the task that asked."""

_DECISIONS: dict[str, dict[str, JSON]] = {
    "approve": {},
    "edit": {
        "edited_action": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "args": {"type": "object"}},
            "required": ["name", "args"],
        }
    },
    "reject": {"message": {"type": "string"}},
    "respond": {"message": {"type": "string"}},
}
_REQUIRED: dict[str, list[JSON]] = {"edit": ["edited_action"], "respond": ["message"]}


def parts_of(interrupt: Any) -> tuple[str, Any, Any]:
    """Id, value and response schema of an `Interrupt`, or of what some servers and savers make of it.

    Raises:
        TypeError: It has no id, so that nothing could answer it.
    """
    if isinstance(interrupt, Interrupt):
        known = cast("Interrupt[Any]", interrupt)
        parts: tuple[Any, ...] = (known.id, known.value, known.response_schema)
    elif isinstance(interrupt, Mapping):
        parts = tuple(
            cast("Mapping[str, Any]", interrupt).get(name) for name in ("id", "value", "response_schema")
        )
    else:
        raise TypeError(f"an interrupt is an Interrupt or a dict, not {type(interrupt).__name__}")
    if not isinstance(parts[0], str) or not parts[0]:
        raise TypeError("an interrupt without an id cannot be answered")
    return parts[0], parts[1], parts[2]


def value_of(interrupt: Any) -> tuple[str, Any]:
    """Id and value, where the value tells all that a reader of the question needs.

    What is ours is left alone. A `HumanInTheLoopMiddleware` request, and any other interrupt with a response
    schema, is packed so that its allowed decisions and the schema travel with it. It stays without a
    fingerprint, and whoever raised it gets the answer as it was sent.
    """
    question_id, value, schema = parts_of(interrupt)
    if "__wait__" in as_mapping(value):
        return question_id, value
    if (requests := _reviewed(value)) is not None:
        return question_id, _packed(question_id, value, _all_decisions(requests), _decisions_schema(requests))
    if rules := as_mapping(schema):
        return question_id, _packed(question_id, value, _decisions_in(value, rules), rules)
    return question_id, value


def _packed(id: str, value: Any, actions: tuple[str, ...], schema: Mapping[str, JSON]) -> dict[str, JSON]:
    bare = Question.unpack(id, value)
    return replace(bare, policy=WaitPolicy(allowed_actions=actions or None), answer_schema=schema).pack()


def as_mapping(value: Any) -> Mapping[str, Any]:
    """The value, where it is a mapping; else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def _reviewed(value: Any) -> list[tuple[str, ...]] | None:
    """The decisions that each call of a batched middleware request allows; None for anything else."""
    fields = as_mapping(value)
    requests, configs = fields.get("action_requests"), fields.get("review_configs")
    if not isinstance(requests, list) or not isinstance(configs, list):
        return None
    allowed: list[tuple[str, ...]] = []
    for config in cast("list[Any]", configs):
        decisions = as_mapping(config).get("allowed_decisions")
        if not isinstance(decisions, (list, tuple)) or not decisions:
            return None
        allowed.append(tuple(map(str, cast("Sequence[Any]", decisions))))
    return allowed if len(allowed) == len(cast("list[Any]", requests)) > 0 else None


def _all_decisions(allowed: list[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(decision for call in allowed for decision in call))


def _decisions_schema(allowed: list[tuple[str, ...]]) -> dict[str, JSON]:
    calls: list[JSON] = [{"anyOf": [_decision(name) for name in call]} for call in allowed]
    decisions: JSON = {"type": "array", "prefixItems": calls, "minItems": len(calls), "maxItems": len(calls)}
    return {"type": "object", "properties": {"decisions": decisions}, "required": ["decisions"]}


def _decision(name: str) -> JSON:
    properties: dict[str, JSON] = {"type": {"const": name}, **_DECISIONS.get(name, {})}
    return {"type": "object", "properties": properties, "required": ["type", *_REQUIRED.get(name, [])]}


def _decisions_in(value: Any, schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The decisions that a middleware request for one call allows; empty for anything else."""
    if as_mapping(value).get("type") != "tool_approval":
        return ()
    return tuple(dict.fromkeys(_types_in(schema, schema)))


def _types_in(schema: Any, root: Mapping[str, Any]) -> Iterator[str]:
    part = as_mapping(schema)
    reference = part.get("$ref")
    if isinstance(reference, str):
        yield from _types_in(root.get("$defs", {}).get(reference.removeprefix("#/$defs/")), root)
    for branch in (*part.get("oneOf", ()), *part.get("anyOf", ())):
        yield from _types_in(branch, root)
    decision = part.get("properties", {}).get("type", {}).get("const")
    if isinstance(decision, str):
        yield decision
