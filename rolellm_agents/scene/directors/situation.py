"""What a director decides from, and what it decides."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from rolellm_agents.scene.line import SceneLine
from rolellm_agents.scene.scene import Scene


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A scene between two turns."""

    scene: Scene
    lines: Sequence[SceneLine]
    """All that happened so far."""
    present: tuple[str, ...]
    """The seats that are there, in the order of the cast; never empty."""
    turn: int
    """How many turns are over."""
    chance: random.Random
    """For this decision alone."""


@dataclass(frozen=True, kw_only=True)
class NextSpeaker:
    """Who speaks next."""

    seat: str | None
    """None: the director chooses nobody. A manual one waits to be told, a scripted one is at its end."""
    why: str
    """In a few words, for people who wonder."""
