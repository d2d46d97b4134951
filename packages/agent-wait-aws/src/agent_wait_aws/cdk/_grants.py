"""Grants that name each action: what the CDK's own `grant_*` methods give is more than is needed."""

from collections.abc import Mapping
from typing import Any

from aws_cdk import aws_iam as iam


def allow(
    grantee: iam.IGrantable,
    actions: tuple[str, ...],
    resources: tuple[str, ...],
    conditions: Mapping[str, Any] | None = None,
) -> iam.Grant:
    """Add one statement to the grantee's policy; whatever needs it in place can be made to wait for it."""
    return iam.Grant.add_to_principal(
        grantee=grantee,
        actions=list(actions),
        resource_arns=list(resources),
        conditions=None if conditions is None else {key: dict(value) for key, value in conditions.items()},
    )
