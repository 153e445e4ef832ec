"""Models that we recommend, from `recommended.toml`, and which of them this machine can run."""

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

import psutil
from pydantic import BaseModel, ConfigDict

from rolellm_agents.models.llamacpp.devices import gpus
from rolellm_agents.models.llamacpp.engine import cgroup

_FILE: Final = "recommended.toml"
_SHARE: Final = 0.75
"""The share of the machine's memory that a model may take."""
_GPU_SHARE: Final = 0.9
"""The share of a GPU's memory that a model may take; the screen needs some of it."""
_COMFORTABLE_GB: Final = 4.0
"""The most memory of a model that answers at reading speed without a GPU."""
_GB: Final = 1e9


@dataclass(frozen=True)
class Machine:
    """What decides which models a machine can run."""

    memory: int
    """Bytes of memory, or what a container may still use."""
    gpu_memory: int = 0
    """Bytes of the memory of all GPUs that llama.cpp can use."""


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

    def fits(self, machine: Machine) -> bool:
        """Whether it runs within the machine's memory or that of its GPUs."""
        return self.memory_gb * _GB <= machine.memory * _SHARE or self.fits_gpu(machine)

    def fits_gpu(self, machine: Machine) -> bool:
        """Whether it runs within the memory of the machine's GPUs alone."""
        return self.memory_gb * _GB <= machine.gpu_memory * _GPU_SHARE


def recommended_models() -> list[RecommendedModel]:
    """The list, smallest first."""
    text = (files("rolellm_agents.models") / _FILE).read_text(encoding="utf-8")
    return [RecommendedModel(name=name, **entry) for name, entry in tomllib.loads(text)["models"].items()]


def best_for(machine: Machine) -> RecommendedModel | None:
    """The model to try first on a machine; None if all are too large.

    Where a model does not fit into a GPU, the processors compute, and large models answer too slowly.
    """
    usable = [one for one in recommended_models() if one.fits(machine)]
    quick = [one for one in usable if one.fits_gpu(machine) or one.memory_gb <= _COMFORTABLE_GB]
    # The list's order decides between models of one size: the first of the largest.
    return max(quick or usable[:1], key=lambda one: one.memory_gb, default=None)


def this_machine() -> Machine:
    """The memory of this machine, or what its container may still use, and of its GPUs."""
    total = int(psutil.virtual_memory().total)
    granted = cgroup.memory_left()
    memory = total if granted is None else min(total, granted)
    return Machine(memory, sum(gpu.total for gpu in gpus()))
