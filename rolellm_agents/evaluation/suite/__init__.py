"""Benchmarks of others in one table: their items as tasks, scores of answers, and results."""
