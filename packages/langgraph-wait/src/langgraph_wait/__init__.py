"""agent-wait for LangGraph: ask from a node or a tool, publish the interrupts, resume with the answer.

>>> from typing import TypedDict
>>> from agent_wait import InMemoryAnnounce
>>> from langgraph.checkpoint.memory import InMemorySaver
>>> from langgraph.graph import START, StateGraph
>>> from langgraph_wait import publish_interrupts, resume_command, wait
>>>
>>> class State(TypedDict, total=False):
...     amount: int
...     done: str
>>>
>>> @wait
... def refund(amount: int) -> str:
...     return f"refunded {amount}"
>>>
>>> builder = StateGraph(State)
>>> _ = builder.add_node("refund", lambda state: {"done": str(refund(state["amount"]))})
>>> _ = builder.add_edge(START, "refund")
>>> graph = builder.compile(checkpointer=InMemorySaver())
>>> config = {"configurable": {"thread_id": "order-1"}}
>>>
>>> announced = InMemoryAnnounce()
>>> _ = publish_interrupts(graph.invoke({"amount": 41_000}, config), "order-1", announced)
>>> answer = {**announced.last.reply_with, "answer": {"action": "approve", "args": {"amount": 40_000}}}
>>> graph.invoke(resume_command(answer), config)["done"]
'refunded 40000'
"""

from agent_wait import is_answer

from langgraph_wait._adapter import LangGraphAdapter
from langgraph_wait._bound import apublish_interrupts, ask, publish_interrupts, wait
from langgraph_wait._framework import LangGraphFramework
from langgraph_wait._resume import resume_command

__all__ = [
    "LangGraphAdapter",
    "LangGraphFramework",
    "apublish_interrupts",
    "ask",
    "is_answer",
    "publish_interrupts",
    "resume_command",
    "wait",
]
