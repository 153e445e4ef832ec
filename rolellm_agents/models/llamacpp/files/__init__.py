"""GGUF files: the bundled ones, what can be read of a file before it is opened, repacked weights."""
