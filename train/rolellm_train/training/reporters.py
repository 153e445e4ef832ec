"""Experiment trackers: TensorBoard, Trackio and Weights & Biases, by transformers' callbacks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rolellm_agents.errors import ModelError
from rolellm_train.recipe import Recipe, Reporter

PROJECT: Final = "rolellm-agents"
"""The project under which trackers show trainings, unless the environment names another one."""
_FOLDER: Final = "tensorboard"
"""The folder of a run with TensorBoard's files."""
_PACKAGES: Final[Mapping[Reporter, str]] = {
    "tensorboard": "tensorboard",
    "trackio": "trackio",
    "wandb": "wandb",
}


def reporters(recipe: Recipe, folder: Path) -> list[Any]:
    """The callbacks for the recipe's trackers.

    TensorBoard's files are written to the run's folder; the other trackers use their own settings, such as
    `WANDB_PROJECT`.

    Args:
        recipe: the recipe of the training.
        folder: the run's folder.

    Raises:
        ModelError: the package of a tracker is not installed.
    """
    return [_reporter(name, folder) for name in recipe.report_to]


def _reporter(name: Reporter, folder: Path) -> Any:
    from transformers.integrations import get_reporting_integration_callbacks
    from transformers.integrations.integration_utils import TensorBoardCallback

    try:
        callback: Any = get_reporting_integration_callbacks([name])[0]()
    except (RuntimeError, ImportError) as error:
        raise ModelError(
            f"{name} is not installed; “pip install {_PACKAGES[name]}” installs it, or leave it out of "
            "“report_to”."
        ) from error
    if isinstance(callback, TensorBoardCallback) and callback.logging_dir is None:
        callback.logging_dir = str(folder / _FOLDER)
    return callback
