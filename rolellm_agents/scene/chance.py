"""Chance that does not depend on what was drawn before: a scene goes on the same after any interruption."""

import hashlib
import random


def seed_for(seed: int, *about: str | int) -> int:
    """A seed below 2³¹ for one decision.

    Args:
        seed: the scene's.
        about: what the decision is about, such as the turn and the speaker.
    """
    words = "\x1f".join(str(part) for part in (seed, *about))
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:4], "big") >> 1


def chance_for(seed: int, *about: str | int) -> random.Random:
    """A generator for one decision."""
    return random.Random(seed_for(seed, *about))  # noqa: S311
