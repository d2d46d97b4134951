"""The names that agent-wait makes of a framework, made of Pydantic AI."""

from agent_wait import make_apublish_interrupts, make_publish_interrupts, make_wait

from pydantic_ai_wait._framework import PydanticAIFramework

_framework = PydanticAIFramework()

wait = make_wait(_framework)
publish_interrupts = make_publish_interrupts(_framework)
apublish_interrupts = make_apublish_interrupts(_framework)
