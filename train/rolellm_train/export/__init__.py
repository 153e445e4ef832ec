"""Export of adapters to GGUF files, verified by parity."""
