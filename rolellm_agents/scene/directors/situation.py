"""A director's input and its decision."""

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
    """All lines so far."""
    present: tuple[str, ...]
    """The seats that are present, in the order of the cast; never empty."""
    turn: int
    """Number of finished turns."""
    chance: random.Random
    """A random generator for this decision alone, seeded by scene and turn."""


@dataclass(frozen=True, kw_only=True)
class NextSpeaker:
    """Who speaks next."""

    seat: str | None
    """None chooses nobody: a manual director waits for a person, all others end the scene."""
    why: str
    """The reason in a few words, for display."""
