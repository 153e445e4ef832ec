"""The state machines of RoleLLM Agents, one file a graph, and the session that drives them."""
