"""Judges: rubric, ranking, likelihood, panels and the scene critic."""
