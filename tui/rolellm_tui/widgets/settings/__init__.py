"""Widgets of the settings."""
