"""Who speaks next: directors that need no model. Each decides from a `Situation` alone."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from rolellm_agents.scene.directors.manual import manual
from rolellm_agents.scene.directors.natural import natural
from rolellm_agents.scene.directors.pooled import pooled
from rolellm_agents.scene.directors.round_robin import round_robin
from rolellm_agents.scene.directors.scripted import scripted
from rolellm_agents.scene.directors.situation import NextSpeaker, Situation

__all__ = ["DIRECTORS", "NextSpeaker", "Situation"]

DIRECTORS: Mapping[str, Callable[[Situation], NextSpeaker]] = MappingProxyType(
    {
        "round-robin": round_robin,
        "natural": natural,
        "pooled": pooled,
        "scripted": scripted,
        "manual": manual,
    }
)
"""By the kind that a scene's file names."""
