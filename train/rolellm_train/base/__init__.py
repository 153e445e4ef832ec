"""Base models and adapters on disk, as transformers and llama.cpp read them."""
