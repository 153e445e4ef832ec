"""RoCIT: from RoleBench rows to a model that speaks in role. For now, the way from GGUF to transformers."""
