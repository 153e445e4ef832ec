"""Turns of a scene: which lines are turns, who spoke last, and the random seed of each decision."""

import hashlib
import random
from collections.abc import Iterable, Sequence

from rolellm_agents.scene.line import NO_TURNS, SceneLine
from rolellm_agents.scene.scene import NARRATOR


def is_seat_line(line: SceneLine) -> bool:
    """Whether a seat says, does, whispers or thinks the line, as a turn or as an opening line."""
    return line["kind"] not in NO_TURNS and line["speaker"] != NARRATOR


def turns(lines: Iterable[SceneLine]) -> list[SceneLine]:
    """The turns among the lines: those of a seat, without the opening lines."""
    return [
        line
        for line in lines
        if line["kind"] not in NO_TURNS and line["speaker"] != NARRATOR and "opening" not in line["made_by"]
    ]


def last_speaker(lines: Sequence[SceneLine]) -> str | None:
    """The seat of the last line that `is_seat_line`; None when there is none."""
    return next((line["speaker"] for line in reversed(lines) if is_seat_line(line)), None)


def seed_for(seed: int, *about: str | int) -> int:
    """A seed below 2³¹ for one decision; it does not depend on earlier decisions.

    `about` identifies the decision, for example the turn and the speaker.
    """
    words = "\x1f".join([str(part) for part in (seed, *about)])
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:4], "big") >> 1


def random_for(seed: int, *about: str | int) -> random.Random:
    """A random generator for one decision, seeded by `seed_for`."""
    return random.Random(seed_for(seed, *about))  # noqa: S311
