"""The objectives of a training, and the fields of a recipe that only some of them use."""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

Objective = Literal["rocit", "dpo", "simpo", "orpo", "grpo"]

PREFERENCES: Final[frozenset[Objective]] = frozenset({"dpo", "simpo", "orpo"})
"""The objectives that learn from preferred answers."""
_PACKS: Final[frozenset[Objective]] = PREFERENCES | {"rocit"}
_ROCIT: Final[frozenset[Objective]] = frozenset({"rocit"})
_GRPO: Final[frozenset[Objective]] = frozenset({"grpo"})

USES: Final[Mapping[str, frozenset[Objective]]] = {
    "beta": PREFERENCES,
    "margin": frozenset({"simpo"}),
    **dict.fromkeys(("role_specific", "general", "cast", "answers"), _ROCIT | _GRPO),
    **dict.fromkeys(("corpus", "scenes", "forms", "conversations"), _ROCIT),
    **dict.fromkeys(("rewards", "judge_model", "samples", "questions_per_step"), _GRPO),
    **dict.fromkeys(("longest_answer", "temperature"), _GRPO),
    **dict.fromkeys(("pack", "packs_per_step"), _PACKS),
    **dict.fromkeys(("evaluations", "patience", "held_out_questions"), _PACKS),
}
"""The objectives that use a field; fields that are not listed are used by all."""


def uses(objective: Objective, field: str) -> bool:
    """Whether a training of this objective uses a field of its recipe."""
    return field not in USES or objective in USES[field]


def unused_field(objective: Objective, fields: Iterable[str]) -> str | None:
    """A sentence about the first of these fields that the objective does not use; None if it uses all."""
    for field in fields:
        if not uses(objective, field):
            others = " and ".join(sorted(USES[field]))
            return f"“{field}” has no effect on the objective {objective}, only on {others}; leave it out."
    return None
