"""Screens, one per file."""
