"""agent-wait for Pydantic AI: ask from a tool, publish the deferred calls, resume with the answers.

>>> from agent_wait import InMemoryAnnounce
>>> from pydantic_ai import Agent, DeferredToolRequests
>>> from pydantic_ai.models.test import TestModel
>>> from pydantic_ai_wait import deferred_results, publish_interrupts, wait
>>>
>>> @wait
... def refund(amount: int) -> str:
...     return f"refunded {amount}"
>>>
>>> agent = Agent(TestModel(), tools=[refund], output_type=[str, DeferredToolRequests])
>>> parked = agent.run_sync("refund it", conversation_id="order-1")
>>>
>>> announced = InMemoryAnnounce()
>>> _ = publish_interrupts(parked, "order-1", announced)
>>> answer = {**announced.last.reply_with, "answer": {"action": "approve", "args": {"amount": 40_000}}}
>>> results, missing, ignored = deferred_results(answer, parked)
>>> agent.run_sync(message_history=parked.all_messages(), deferred_tool_results=results).output
'{"refund":"refunded 40000"}'
"""

from agent_wait import is_answer

from pydantic_ai_wait._adapter import PydanticAIAdapter
from pydantic_ai_wait._bound import apublish_interrupts, publish_interrupts, wait
from pydantic_ai_wait._deferred import deferred_results
from pydantic_ai_wait._framework import PydanticAIFramework

__all__ = [
    "PydanticAIAdapter",
    "PydanticAIFramework",
    "apublish_interrupts",
    "deferred_results",
    "is_answer",
    "publish_interrupts",
    "wait",
]
