"""Models by name: `get_model("provider:name")` gives a LangChain chat model."""
