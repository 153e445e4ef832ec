"""Vim keys for a text area."""
