"""Colour themes of ours, and the reading of theme files, which users can write, too."""
