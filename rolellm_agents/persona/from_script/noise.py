"""Add noise to a persona: lines of other characters, as a profile from a script may contain."""

import random
from collections.abc import Sequence
from itertools import chain
from typing import TypeVar

from rolellm_agents.persona import Persona

_Item = TypeVar("_Item")


def with_noise(persona: Persona, cast: Sequence[Persona], share: float, seed: int = 0) -> Persona:
    """The persona with a share of its demonstrations and knowledge replaced by other characters'.

    The persona is not modified. Foreign lines come from personas of the same language; their share is from
    0 to 1.

    Raises:
        ValueError: `share` is not between 0 and 1.
    """
    if not 0 <= share <= 1:
        raise ValueError("the share of noise must lie between 0 and 1")
    others = [other for other in cast if other.id != persona.id and other.language == persona.language]
    chance = random.Random(f"{seed} {persona.id}")  # noqa: S311 - nothing to keep secret
    pairs = [*chain.from_iterable(other.demonstrations for other in others)]
    pieces = [*chain.from_iterable(other.knowledge for other in others)]
    return persona.model_copy(
        update={
            "demonstrations": _mixed(persona.demonstrations, pairs, share, chance),
            "knowledge": _mixed(persona.knowledge, pieces, share, chance),
        }
    )


def _mixed(
    own: Sequence[_Item], foreign: Sequence[_Item], share: float, chance: random.Random
) -> tuple[_Item, ...]:
    count = min(round(share * len(own)), len(foreign))
    mixed = list(own)
    for place, item in zip(
        chance.sample(range(len(own)), count), chance.sample(foreign, count), strict=True
    ):
        mixed[place] = item
    return tuple(mixed)
