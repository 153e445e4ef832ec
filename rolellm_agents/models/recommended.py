"""Models that we recommend, from `recommended.toml`, and which of them this machine can run."""

import tomllib
from importlib.resources import files
from typing import Final

import psutil
from pydantic import BaseModel, ConfigDict

from rolellm_agents.models.llamacpp.engine import cgroup

_FILE: Final = "recommended.toml"
_SHARE: Final = 0.75
"""The share of the machine's memory that a model may take."""
_COMFORTABLE_GB: Final = 4.0
"""The most memory of a model that answers at reading speed without a GPU."""
_GB: Final = 1e9


class RecommendedModel(BaseModel):
    """One entry of the list."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """The name under which `rolellm models pull` keeps it in `models.toml`."""
    source: str
    """`hf:ORG/REPO:QUANT`."""
    parameters: str
    size_gb: float
    """Size of the file."""
    memory_gb: float
    """Memory with a conversation of 8,192 tokens."""
    licence: str
    languages: str
    reasons: bool
    """Whether it can reason before it answers (`thinking`)."""
    role_play: str
    """What it is good for."""

    def fits(self, memory: int) -> bool:
        """Whether it runs within a machine's memory, in bytes."""
        return self.memory_gb * _GB <= memory * _SHARE


def recommended_models() -> list[RecommendedModel]:
    """The list, smallest first."""
    text = (files("rolellm_agents.models") / _FILE).read_text(encoding="utf-8")
    return [RecommendedModel(name=name, **entry) for name, entry in tomllib.loads(text)["models"].items()]


def best_for(memory: int, *, has_gpu: bool) -> RecommendedModel | None:
    """The model to try first on a machine; None if all are too large.

    Args:
        memory: the machine's memory in bytes.
        has_gpu: whether llama.cpp can use a GPU; without one, large models answer too slowly.
    """
    usable = [one for one in recommended_models() if one.fits(memory)]
    quick = [one for one in usable if has_gpu or one.memory_gb <= _COMFORTABLE_GB]
    # The list's order decides between models of one size: the first of the largest.
    return max(quick or usable[:1], key=lambda one: one.memory_gb, default=None)


def machine_memory() -> int:
    """The memory of this machine, or what its container may still use, in bytes."""
    total = int(psutil.virtual_memory().total)
    granted = cgroup.memory_left()
    return total if granted is None else min(total, granted)
