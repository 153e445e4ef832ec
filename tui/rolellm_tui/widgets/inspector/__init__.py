"""Widgets of the inspector, which shows how an answer came about."""
