"""Sessions, which front ends use to run a conversation with one persona."""
