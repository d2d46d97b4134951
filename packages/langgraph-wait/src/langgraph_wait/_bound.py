"""The names that agent-wait makes of a framework, made of LangGraph."""

from agent_wait import make_apublish_interrupts, make_ask, make_publish_interrupts, make_wait

from langgraph_wait._framework import LangGraphFramework

_framework = LangGraphFramework()

wait = make_wait(_framework)
ask = make_ask(_framework)
publish_interrupts = make_publish_interrupts(_framework)
apublish_interrupts = make_apublish_interrupts(_framework)
