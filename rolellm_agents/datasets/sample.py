"""One row of RoleBench, and the names of its parts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rolellm_agents.text.language import Language

Kind = Literal["role_specific", "general"]
"""Questions about the role's life and knowledge, or general instructions."""

Split = Literal["instruction-generalization", "role-generalization"]
"""What is new in the test: the instructions, or the roles."""

Part = Literal["train", "test", "rolegpt_baseline"]
"""A file of a split; the last holds RoleGPT's answers to the test."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A question to a role, with reference answers."""

    role: str
    question: str
    references: tuple[str, ...]
    """Answers in the role's voice, at least one; in RoleGPT's file, its answer."""
    kind: Kind
    types: tuple[str, ...]
    """The origin of a role-specific question, `script_based` or `script_agnostic`: one value for all
    references, one for each, or none."""
    language: Language
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """Other fields of the row as JSON values, for example `persona` and `labels`."""
