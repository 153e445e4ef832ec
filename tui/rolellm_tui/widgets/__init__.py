"""Widgets, in one folder for each screen."""
