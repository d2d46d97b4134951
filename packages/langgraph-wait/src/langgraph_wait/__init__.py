"""agent-wait for LangGraph: ask from a node or a tool, publish the interrupts, resume with the answer."""
