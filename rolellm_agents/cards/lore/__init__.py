"""Lorebooks: entries, keys, and which entries are active in a scene."""
