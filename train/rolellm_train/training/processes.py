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


def is_first() -> bool:
    """Whether this is the first process, which writes files and output."""
    return os.environ.get("RANK", "0") == "0"


def count() -> int:
    """The number of processes of the training."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def open_training(folder: Path, config: Mapping[str, Any]) -> AbstractContextManager[Run]:
    """Open the run. Only the first process locks and writes it; the others read its folder.

    Args:
        folder: the run's folder.
        config: everything that the run depends on.

    Raises:
        StorageError: as `open_run` does, in the first process.
    """
    return open_run(folder, config) if is_first() else nullcontext(Run(folder))
