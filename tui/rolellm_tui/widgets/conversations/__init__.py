"""Widgets of the conversation list."""
