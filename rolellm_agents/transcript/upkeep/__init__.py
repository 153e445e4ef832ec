"""Upkeep of the transcript's file: checking, backups, restoring, and salvage of a damaged file."""
