"""Tags, metadata and spans for tracing tools."""
