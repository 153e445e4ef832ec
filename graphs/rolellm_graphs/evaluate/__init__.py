"""Evaluation with models: RoleBench, persona drift, speaker identification."""
