"""Export: from an adapter to GGUF files that are proven to compute the same."""
