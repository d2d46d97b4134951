"""The form of an answer, drawn from its schema, and the answer that was filled in.

What an approver leaves as it was shown is not sent, so that no value goes through a browser and comes back
another: a number beyond 2^53, a text with odd line ends.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from agent_wait import JSON, WaitEnvelope

from inbox.field import Field, control_text, read_field
from inbox.schema import Drawing, Schema, drawing, errors, resolved, usable
from inbox.text import human

REDACTED = "[redacted]"
FREE_ANSWER = ("resume",)
"""The actions of a question to which the answer is whatever one says."""


class InvalidAnswer(Exception):
    """What was filled in cannot be sent.

    Attributes:
        errors: What to do about it, by the name of the control; under `""` what concerns no single one.
    """

    def __init__(self, errors: Mapping[str, str]) -> None:
        super().__init__("; ".join(errors.values()))
        self.errors = errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Fields that go with some of the actions.

    Attributes:
        kind: `edits` change what the agent would do; `inputs` are asked for; `reason` is why not.
    """

    kind: Literal["edits", "inputs", "reason"]
    actions: tuple[str, ...]
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """What an approver fills in, and the ways to send it."""

    actions: tuple[str, ...]
    groups: tuple[Group, ...]
    schemas: Mapping[str, Schema] = field(default_factory=dict[str, Schema])
    bare: bool = False
    """The answer does not name the action."""

    def read(self, action: str, posted: Mapping[str, str]) -> JSON:
        """The answer.

        Args:
            action: Which button.
            posted: Text by the name of its control.

        Raises:
            InvalidAnswer: It does not fit.
        """
        if action not in self.actions:
            raise InvalidAnswer({"": "Choose one of the answers below."})
        wrong: dict[str, str] = {}
        answer: JSON = {} if self.bare else {"action": action}
        fields = [each for group in self.groups if action in group.actions for each in group.fields]
        for each in fields:
            try:
                value, is_there = read_field(each, posted)
            except ValueError as error:
                wrong[each.name] = str(error)
                continue
            if is_there:
                answer = _put(answer, each.path, value)
        if isinstance(answer, dict) and not self.bare and answer.get("action") != action:
            wrong[""] = "The answer names another action than the button."
        if not wrong and action in self.schemas:
            for path, what in errors(answer, self.schemas[action]):
                wrong.setdefault(_name_at(path, fields), what)
        if wrong:
            raise InvalidAnswer(wrong)
        return answer


def form_for(question: WaitEnvelope) -> AnswerForm:
    """The form of a question's answer."""
    actions = tuple(question.allowed_actions)
    schema: Schema = question.answer_schema or {}
    if not schema or not usable(schema):
        return _without_schema(actions)
    root = resolved(schema, schema)
    branches = {action: _branch(root, action, schema) for action in actions}
    if "anyOf" in root or "oneOf" in root:
        if all(branches.values()):
            return _branched(question, branches, schema)
        return _as_json(actions, schema)
    if _is_flat(root):
        shared = Group(kind="inputs", actions=actions, fields=_fields("f", question, root, schema))
        edits = Group(kind="edits", actions=actions, fields=_edits("e", question, root, schema))
        bare = "action" not in root["properties"] and (
            actions == FREE_ANSWER or root.get("additionalProperties") is False
        )
        return AnswerForm(
            actions=actions, groups=_filled(edits, shared), schemas=dict.fromkeys(actions, schema), bare=bare
        )
    whole = drawing(root, schema, None, has_value=False)
    if whole.kind == "json":
        return _as_json(actions, schema)
    answer = Field(name="f", path=(), label="Your answer", hint=_hint(root), drawing=whole, required=True)
    group = Group(kind="inputs", actions=actions, fields=(answer,))
    return AnswerForm(actions=actions, groups=(group,), schemas=dict.fromkeys(actions, schema))


def _name_at(path: tuple[Any, ...], fields: Sequence[Field]) -> str:
    return next((each.name for each in fields if each.path and path[: len(each.path)] == each.path), "")


def _without_schema(actions: tuple[str, ...]) -> AnswerForm:
    if actions == FREE_ANSWER:
        free = Field(
            name="f",
            path=(),
            label="Your answer",
            drawing=Drawing(kind="free"),
            required=True,
        )
        group = Group(kind="inputs", actions=actions, fields=(free,))
        return AnswerForm(actions=actions, groups=(group,), bare=True)
    return AnswerForm(actions=actions, groups=tuple(_reason(each) for each in actions if each != "approve"))


def _branched(question: WaitEnvelope, branches: Mapping[str, Schema], root: Schema) -> AnswerForm:
    groups: list[Group] = []
    for index, (action, branch) in enumerate(branches.items()):
        edits = _edits(f"e{index}", question, branch, root)
        inputs = _fields(f"f{index}", question, branch, root)
        groups += _filled(
            Group(kind="edits", actions=(action,), fields=edits),
            Group(kind="inputs", actions=(action,), fields=inputs),
        )
        if action != "approve" and not inputs and branch.get("additionalProperties") is not False:
            groups.append(_reason(action))
    definitions = {"$defs": root["$defs"]} if "$defs" in root else {}
    return AnswerForm(
        actions=tuple(branches),
        groups=tuple(groups),
        schemas={action: {**definitions, **branch} for action, branch in branches.items()},
    )


def _as_json(actions: tuple[str, ...], schema: Schema) -> AnswerForm:
    """For a schema that no form can be drawn from."""
    answer = Field(
        name="f",
        path=(),
        label="Your answer, as JSON",
        hint=_hint(schema),
        drawing=Drawing(kind="json"),
        required=True,
    )
    return AnswerForm(
        actions=actions,
        groups=(Group(kind="inputs", actions=actions, fields=(answer,)),),
        schemas=dict.fromkeys(actions, schema),
        bare=actions == FREE_ANSWER,
    )


def _reason(action: str) -> Group:
    reason = Field(name=f"reason-{action}", path=("reason",), label="Reason", drawing=Drawing(kind="lines"))
    return Group(kind="reason", actions=(action,), fields=(reason,))


def _filled(*groups: Group) -> tuple[Group, ...]:
    return tuple(group for group in groups if group.fields)


def _branch(root: Schema, action: str, whole: Schema) -> Schema:
    """The alternative of the schema that is for this action; empty: none, or none that can be drawn."""
    for option in root.get("anyOf") or root.get("oneOf") or ():
        branch = resolved(option, whole)
        if not _is_flat(branch):
            continue
        named = resolved(branch["properties"].get("action"), whole)
        if named.get("const") == action or action in named.get("enum", ()):
            return branch
    return {}


def _is_flat(schema: Schema) -> bool:
    properties = schema.get("properties")
    return (
        schema.get("type", "object") == "object"
        and isinstance(properties, dict)
        and set(schema.get("required", ())) <= set(properties)
        and not {"anyOf", "oneOf", "allOf", "if", "not", "dependentSchemas"} & set(schema)
    )


def _is_edits(name: str, schema: Any, question: WaitEnvelope, root: Schema) -> bool:
    return name == "args" and _args(question) is not None and _is_flat(resolved(schema, root))


def _args(question: WaitEnvelope) -> dict[str, JSON] | None:
    match question.question:
        case {"function": str(), "args": dict(args)}:
            return args
        case _:
            return None


def _edits(prefix: str, question: WaitEnvelope, branch: Schema, root: Schema) -> tuple[Field, ...]:
    schema = branch["properties"].get("args")
    args = _args(question)
    if args is None or not _is_edits("args", schema, question, root):
        return ()
    properties: Mapping[str, Any] = resolved(schema, root)["properties"]
    return tuple(
        _field(f"{prefix}.{index}", ("args", name), each, root, args.get(name), has_value=name in args)
        for index, (name, each) in enumerate(properties.items())
    )


def _fields(prefix: str, question: WaitEnvelope, branch: Schema, root: Schema) -> tuple[Field, ...]:
    required: Sequence[str] = branch.get("required", ())
    return tuple(
        _field(
            f"{prefix}.{index}",
            (name,),
            each,
            root,
            resolved(each, root).get("default"),
            has_value="default" in resolved(each, root),
            required=name in required,
        )
        for index, (name, each) in enumerate(branch["properties"].items())
        if name != "action" and not _is_edits(name, each, question, root)
    )


def _field(
    name: str,
    path: tuple[str, ...],
    schema: Any,
    root: Schema,
    value: JSON,
    *,
    has_value: bool,
    required: bool = False,
) -> Field:
    own = resolved(schema, root)
    drawn = drawing(own, root, value, has_value=has_value)
    locked = own.get("readOnly") is True or value == REDACTED
    return Field(
        name=name,
        path=path,
        label=human(path[-1]),
        hint=_hint(own),
        drawing=None if locked else drawn,
        required=required,
        has_value=has_value,
        value=value,
        control=control_text(drawn, value) if has_value else "",
    )


def _hint(schema: Schema) -> str:
    hint = schema.get("description")
    return hint if isinstance(hint, str) else ""


def _put(answer: JSON, path: tuple[str, ...], value: JSON) -> JSON:
    if not path:
        # What is drawn as a whole may name the action itself.
        return {**answer, **value} if isinstance(answer, dict) and isinstance(value, dict) else value
    whole: dict[str, JSON] = dict(answer) if isinstance(answer, dict) else {}
    first, *rest = path
    whole[first] = _put(whole.get(first) or {}, tuple(rest), value) if rest else value
    return whole
