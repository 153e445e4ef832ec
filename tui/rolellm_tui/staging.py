"""How a scene comes onto the stage when nobody says otherwise: with the model and the ways that are set."""

from functools import partial
from typing import Protocol

from rolellm_agents.models.catalog import get_model
from rolellm_agents.scene import LoadedScene
from rolellm_agents.settings import load_settings
from rolellm_agents.transcript import Transcript
from rolellm_graphs.ensemble import Ensemble
from rolellm_graphs.stage import Stage


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


def usual_stage(transcript: Transcript) -> OpenStage:
    """What opens scenes with the settings' model, for all who have none of their own.

    Args:
        transcript: where all that happens is kept.
    """

    def open_stage(scene: LoadedScene, conversation: str | None, /, *, seed: int | None = None) -> Stage:
        settings = load_settings()
        make = partial(get_model, temperature=settings.temperature, max_tokens=settings.max_tokens)
        ensemble = Ensemble(scene, model=scene.scene.model or settings.model, make=make)
        return Stage(ensemble, transcript, conversation=conversation, seed=seed)

    return open_stage
