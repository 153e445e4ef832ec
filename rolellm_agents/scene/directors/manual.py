"""Somebody is told to speak, each time."""

from rolellm_agents.scene.directors.situation import NextSpeaker, Situation


def manual(_situation: Situation) -> NextSpeaker:
    """Choose nobody, and wait to be told."""
    return NextSpeaker(seat=None, why="You choose who speaks.")
