"""Directors that need no model: each decides from a `Situation` who speaks next.

The directors that ask a model, `model` and `bidding`, are in `rolellm_graphs/scene/directing.py`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from rolellm_agents.errors import SceneError
from rolellm_agents.plugins import load_plugin
from rolellm_agents.scene.directors.manual import manual
from rolellm_agents.scene.directors.natural import natural
from rolellm_agents.scene.directors.pooled import pooled
from rolellm_agents.scene.directors.round_robin import round_robin
from rolellm_agents.scene.directors.scripted import scripted
from rolellm_agents.scene.directors.situation import NextSpeaker, Situation

__all__ = ["DIRECTORS", "DirectorFunction", "NextSpeaker", "Situation", "director_named"]

DirectorFunction = Callable[[Situation], NextSpeaker]
"""Decides who speaks next; an object that is called like a function may be one, too."""

DIRECTORS: Mapping[str, DirectorFunction] = MappingProxyType(
    {
        "round-robin": round_robin,
        "natural": natural,
        "pooled": pooled,
        "scripted": scripted,
        "manual": manual,
    }
)
"""Our own directors, by kind."""


def director_named(kind: str) -> DirectorFunction:
    """The director of a kind: one of `DIRECTORS`, or an entry point of `rolellm.directors`.

    Raises:
        SceneError: there is no such director.
        PluginError: the package that provides it cannot be used.
    """
    found = DIRECTORS.get(kind) or load_plugin("rolellm.directors", kind)
    if found is None:
        raise SceneError(f"There is no director {kind!r}; install the package that provides it.")
    return found
