"""Widgets of the persona library."""
