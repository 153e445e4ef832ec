"""Processes of a training that `accelerate launch` or `torchrun` started.

Each process trains on other packs and reaches the same weights; only the first one writes files and output.
"""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from rolellm_agents.runs.folder import Run, open_run


def is_first() -> bool:
    """Whether this is the first process, which writes files and output."""
    return os.environ.get("RANK", "0") == "0"


def count() -> int:
    """Number of processes of the training."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def open_training(folder: Path, config: Mapping[str, Any]) -> AbstractContextManager[Run]:
    """Open the run. Only the first process holds it; the others use its folder.

    `config` is everything that the training depends on.

    Raises:
        StorageError: as `open_run` does, in the first process.
    """
    return open_run(folder, config) if is_first() else nullcontext(Run(folder))
