"""One row of RoleBench, and the names of its parts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rolellm_agents.text.language import Language

Kind = Literal["role_specific", "general"]
"""What is asked: about the role's own life and knowledge, or anything at all."""

Split = Literal["instruction-generalization", "role-generalization"]
"""What is new in the test: the instructions, or the roles."""

Part = Literal["train", "test", "rolegpt_baseline"]
"""A file of a split; the last holds RoleGPT's answers to the test."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A question to a role, and how it should be answered."""

    role: str
    question: str
    references: tuple[str, ...]
    """Answers in the role's voice, at least one; in RoleGPT's own file the answer it gave."""
    kind: Kind
    types: tuple[str, ...]
    """What a role-specific question is from, `script_based` or `script_agnostic`: one for all references,
    one for each of them, or none."""
    language: Language
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """What else the row says, as JSON values, such as `persona` and `labels`."""
