"""The roles that nobody may be trained on, so that they are new to whoever is tested."""

from collections.abc import Set as AbstractSet
from typing import Final

from rolellm_agents.rolebench.keys import role_key

HELD_OUT_ROLES: Final = (
    "Andrew Detmer",
    "Coriolanus",
    "Jack Sparrow",
    "John Doe",
    "John Keating",
    "Lestat de Lioncourt",
    "Professor G.H. Dorr",
    "Raylan Givens",
    "Tom Ripley",
    "Walt Kowalski",
)
"""The ten of the published role generalization, named as they are in the data; all of them English."""

_KEYS: Final[AbstractSet[str]] = frozenset(map(role_key, HELD_OUT_ROLES))


def is_held_out(role: str) -> bool:
    """Whether a role is one of them, however its name is written."""
    return role_key(role) in _KEYS
