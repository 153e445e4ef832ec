"""The role graph and what is built on it: a chat model, a tool, a retriever."""
