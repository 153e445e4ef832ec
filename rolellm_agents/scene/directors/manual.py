"""The person chooses each speaker."""

from rolellm_agents.scene.directors.situation import NextSpeaker, Situation


def manual(_situation: Situation) -> NextSpeaker:
    """Choose nobody; the scene waits for the person's choice."""
    return NextSpeaker(seat=None, why="You choose who speaks.")
