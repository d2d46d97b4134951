"""The AWS side of an agent as CDK constructs; needs `pip install 'agent-wait-aws[cdk]'`.

`AgentWaitStack` is the whole of it in one stack. The others are its parts, for a stack that is there already:

```python
from agent_wait_aws.cdk import AgentFunction, AgentQueue, ApprovalsTable
from aws_cdk import Stack
from aws_cdk.aws_lambda import Architecture, Code, Runtime


class Support(Stack):
    def __init__(self, scope, id):
        super().__init__(scope, id)
        queue = AgentQueue(self, "Entry")
        approvals = ApprovalsTable(self, "Approvals")
        agent = AgentFunction(
            self,
            "Agent",
            queue=queue,
            code=Code.from_asset("dist/agent.zip"),
            handler="my_agent.handler",
            runtime=Runtime.PYTHON_3_12,
            architecture=Architecture.ARM_64,
        )
        approvals.grant_announce(agent.function)
```

No construct names its resources: CloudFormation does, so that a stack can be deployed twice.
"""

try:
    from agent_wait_aws.cdk._approvals import ApprovalsTable
    from agent_wait_aws.cdk._function import AgentFunction
    from agent_wait_aws.cdk._queue import AgentQueue
    from agent_wait_aws.cdk._stack import AgentWaitStack
except ModuleNotFoundError as missing:
    if (missing.name or "").partition(".")[0] not in ("aws_cdk", "constructs"):
        raise
    raise ImportError("agent_wait_aws.cdk needs aws-cdk-lib: pip install 'agent-wait-aws[cdk]'") from missing

__all__ = ["AgentFunction", "AgentQueue", "AgentWaitStack", "ApprovalsTable"]
