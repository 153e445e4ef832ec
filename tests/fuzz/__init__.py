"""Coverage-guided fuzzers; `make fuzz` runs them, pytest does not."""
