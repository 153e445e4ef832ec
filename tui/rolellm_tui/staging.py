"""How a scene comes onto the stage, and who plays it when nobody says otherwise."""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from rolellm_agents.config.settings import load_settings
from rolellm_agents.models.catalog import get_model
from rolellm_agents.scene import LoadedScene
from rolellm_agents.transcript import Transcript
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.stage import Stage


class OpenStage(Protocol):
    """Makes a stage as the command line and the settings say."""

    def __call__(
        self, scene: LoadedScene, conversation: str | None, /, *, seed: int | None = None
    ) -> Stage:
        """Open one.

        Args:
            scene: to be played.
            conversation: the id of one to go on with; None begins a new one.
            seed: that it was begun with; None for the scene's own.

        Raises:
            RoleLLMError: something of it cannot be used.
        """


def stage_opener(
    transcript: Transcript, cast: Callable[[LoadedScene], Ensemble], *, seed: int | None = None
) -> OpenStage:
    """What opens any scene.

    Args:
        transcript: where all that happens is kept.
        cast: who plays a scene.
        seed: of scenes that are begun; their own when None.
    """

    def open_stage(scene: LoadedScene, conversation: str | None, /, *, seed: int | None = seed) -> Stage:
        return Stage(cast(scene), transcript, conversation=conversation, seed=seed)

    return open_stage


def usual_ensemble(scene: LoadedScene) -> Ensemble:
    """The settings' model plays all who have none of their own.

    Raises:
        RoleLLMError: something of the scene or the settings cannot be used.
    """
    settings = load_settings()
    make = partial(get_model, temperature=settings.temperature, max_tokens=settings.max_tokens)
    return Ensemble(scene, model=scene.scene.model or settings.model, make=make)
