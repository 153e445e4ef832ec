"""The processes of one training, as `accelerate launch` and `torchrun` start them: one keeps the run.

All of them learn, each other packs, and come to the same weights; only the first writes and speaks.
"""

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from rolellm_agents.runs.folder import Run, open_run


def is_first() -> bool:
    """Whether this process is the one that writes and speaks; true where there is one only."""
    return os.environ.get("RANK", "0") == "0"


def count() -> int:
    """How many processes learn together."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def open_training(folder: Path, config: Mapping[str, Any]) -> AbstractContextManager[Run]:
    """The run of a training, which the first process has for itself; the others know its folder.

    Args:
        folder: of the run.
        config: everything that it depends on.

    Raises:
        StorageError: as `open_run` does, in the first process.
    """
    return open_run(folder, config) if is_first() else nullcontext(Run(folder))
