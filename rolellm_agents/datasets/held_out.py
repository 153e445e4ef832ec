"""Roles that are never in training data, so that an evaluation can test generalization to new roles."""

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
"""The ten test roles of the published role generalization, as the data names them; all are English."""

LEARNED_IN_GENERAL: Final = ("John Keating", "Walt Kowalski")
"""Held-out roles whose answers to general instructions may be in training data nevertheless.

The published part of RoleBench has general rows of four roles only, all of them held out. Two of these
roles are for training and two for tests.
"""

_KEYS: Final[AbstractSet[str]] = frozenset(map(role_key, HELD_OUT_ROLES))
_GENERAL_KEYS: Final = _KEYS - frozenset(map(role_key, LEARNED_IN_GENERAL))


def is_held_out(role: str, kind: Kind = "role_specific") -> bool:
    """Whether a role's rows of a kind are excluded from training, for any spelling of the name."""
    return role_key(role) in (_GENERAL_KEYS if kind == "general" else _KEYS)
