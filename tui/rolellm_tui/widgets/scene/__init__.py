"""Widgets of the scene screens."""
