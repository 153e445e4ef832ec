"""The role graph, and a persona as a chat model, a tool and a retriever."""
