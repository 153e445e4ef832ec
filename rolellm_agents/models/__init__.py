"""Models by name: `get_model("provider:name")` returns a LangChain chat model."""
