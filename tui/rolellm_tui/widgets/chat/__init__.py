"""Widgets of the chat and of the comparison of answers."""
