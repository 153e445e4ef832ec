"""Somebody is told to speak, each time."""

from rolellm_agents.scene.directors.situation import Choice, Situation


def manual(_situation: Situation) -> Choice:
    """Choose nobody, and wait to be told."""
    return Choice(seat=None, why="You choose who speaks.")
