"""A profile that is not clean: lines of others in it, as a profile parsed from a script may have."""

import random
from collections.abc import Sequence
from itertools import chain
from typing import TypeVar

from rolellm_agents.persona import Persona

_Item = TypeVar("_Item")


def with_noise(persona: Persona, cast: Sequence[Persona], share: float, seed: int = 0) -> Persona:
    """The persona with a share of its demonstrations and knowledge replaced by other characters'.

    Args:
        persona: stays as it is.
        cast: where the foreign lines are drawn from; only those who speak the persona's language.
        share: from 0, none, to 1, all.
        seed: of the draws; the same seed replaces the same lines.

    Raises:
        ValueError: `share` is not between 0 and 1.
    """
    if not 0 <= share <= 1:
        raise ValueError("the share of noise must lie between 0 and 1")
    others = [one for one in cast if one.id != persona.id and one.language == persona.language]
    chance = random.Random(f"{seed} {persona.id}")  # noqa: S311 - nothing to keep secret
    pairs = [*chain.from_iterable(one.demonstrations for one in others)]
    pieces = [*chain.from_iterable(one.knowledge for one in others)]
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
