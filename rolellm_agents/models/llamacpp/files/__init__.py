"""GGUF files: bundled models, checks before a file is opened, and converted weights."""
