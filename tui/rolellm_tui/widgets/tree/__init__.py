"""Widgets of the conversation tree."""
