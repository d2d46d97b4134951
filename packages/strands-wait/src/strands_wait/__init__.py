"""agent-wait for Strands Agents: ask from a tool, publish the interrupts, resume with the answers.

>>> from strands import tool
>>> from strands_wait import wait
>>>
>>> @tool(context=True)
... @wait
... def refund(amount: int) -> str:
...     "Give money back."
...     return f"refunded {amount}"
>>>
>>> list(refund.tool_spec["inputSchema"]["json"]["properties"])
['amount']
"""

from agent_wait import is_answer

from strands_wait._adapter import StrandsAdapter
from strands_wait._bound import apublish_interrupts, publish_interrupts, wait
from strands_wait._framework import StrandsFramework
from strands_wait._resume import interrupt_responses

__all__ = [
    "StrandsAdapter",
    "StrandsFramework",
    "apublish_interrupts",
    "interrupt_responses",
    "is_answer",
    "publish_interrupts",
    "wait",
]
