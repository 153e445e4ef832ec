"""The processes of a training that was started with `accelerate launch` or `torchrun`.

Each process trains on different packs and computes the same weights. Only the first one writes files and
output.
"""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from rolellm_agents.runs.folder import Run, open_run
from rolellm_train.errors import TrainingError


def is_first() -> bool:
    """Whether this is the first process, which writes files and output."""
    return os.environ.get("RANK", "0") == "0"


def count() -> int:
    """The number of processes of the training."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def local_rank() -> int:
    """The number of this process on its machine, which is that of its GPU."""
    return int(os.environ.get("LOCAL_RANK", "0"))


def local_count() -> int:
    """The number of processes on this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def share(field: str, total: int) -> int:
    """The share of each process in the batches of a step.

    Args:
        field: the recipe's field with the number of batches.
        total: the number of batches of a step, of all processes.

    Raises:
        TrainingError: the batches cannot be shared equally.
    """
    each, rest = divmod(total, count())
    if rest:
        raise TrainingError(
            f"{count()} processes cannot share {field}={total} equally; set {field} to a multiple of "
            f"{count()}, such as --set {field}={(each + 1) * count()}."
        )
    return each


def check_gpus() -> None:
    """Reject one process that sees several GPUs, over which transformers would split each batch.

    Raises:
        TrainingError: the process sees several GPUs.
    """
    import torch

    if count() == 1 and torch.cuda.device_count() > 1:
        raise TrainingError(
            f"This machine has {torch.cuda.device_count()} GPUs; use all with “accelerate launch $(which "
            "rolellm) train …”, or one with CUDA_VISIBLE_DEVICES=0 in the environment."
        )


def open_training(folder: Path, config: Mapping[str, Any]) -> AbstractContextManager[Run]:
    """Open the run. Only the first process locks and writes it; the others read its folder.

    Args:
        folder: the run's folder.
        config: everything that the run depends on.

    Raises:
        StorageError: as `open_run` does, in the first process.
    """
    return open_run(folder, config) if is_first() else nullcontext(Run(folder))
