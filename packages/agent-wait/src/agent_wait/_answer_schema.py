"""The answer schema of a function that has none of its own."""

from agent_wait._types import JSON


def answer_schema(actions: tuple[str, ...], args: JSON | None) -> dict[str, JSON] | None:
    """One branch per allowed action, with an optional `args` object on `approve`.

    Args:
        actions: The allowed actions.
        args: `Framework.schema_for`; None where the framework cannot tell: there is no schema then.
    """
    if not isinstance(args, dict):
        return None
    edits = {key: value for key, value in args.items() if key != "$defs"}
    branches: list[JSON] = []
    for action in actions:
        properties: dict[str, JSON] = {"action": {"const": action}}
        if action == "approve":
            properties["args"] = edits
        branches.append({"type": "object", "properties": properties, "required": ["action"]})
    schema: dict[str, JSON] = {"anyOf": branches}
    if "$defs" in args:
        schema["$defs"] = args["$defs"]
    return schema
