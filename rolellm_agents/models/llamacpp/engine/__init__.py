"""The engine: one model, one KV cache, many requests in shared batches."""
