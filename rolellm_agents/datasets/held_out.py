"""The roles that nobody may be trained on, so that they are new to whoever is tested."""

from collections.abc import Set as AbstractSet
from typing import Final

from rolellm_agents.datasets.keys import role_key
from rolellm_agents.datasets.sample import Kind

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

LEARNED_IN_GENERAL: Final = ("John Keating", "Walt Kowalski")
"""Of those, whose answers to general instructions may be learned all the same.

The part of RoleBench that can be had has general rows of four roles alone, all of them held out: two are
learned and two measured.
"""

_KEYS: Final[AbstractSet[str]] = frozenset(map(role_key, HELD_OUT_ROLES))
_GENERAL_KEYS: Final = _KEYS - frozenset(map(role_key, LEARNED_IN_GENERAL))


def is_held_out(role: str, kind: Kind = "role_specific") -> bool:
    """Whether nobody may learn a role's rows of a kind, however its name is written."""
    return role_key(role) in (_GENERAL_KEYS if kind == "general" else _KEYS)
