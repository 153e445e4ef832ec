"""Opening stages, and the default ensemble."""

from collections.abc import Callable
from typing import Protocol

from rolellm_agents.config.settings import load_settings
from rolellm_agents.errors import MessageError
from rolellm_agents.models.presets.files import chosen_preset
from rolellm_agents.models.presets.using import model_maker
from rolellm_agents.scene import LoadedScene
from rolellm_agents.scene.directed import directed
from rolellm_agents.transcript import Transcript
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.stage import Stage


class OpenStage(Protocol):
    """Opens stages with the options of the command line and the settings."""

    def __call__(
        self, scene: LoadedScene, conversation: str | None, /, *, seed: int | None = None
    ) -> Stage:
        """Open a stage.

        Args:
            scene: the scene to play.
            conversation: the id of a conversation to resume; None starts a new one.
            seed: the seed of a new conversation; None for the scene's own.

        Raises:
            RoleLLMError: the stage cannot be opened.
        """


def stage_opener(
    transcript: Transcript, cast: Callable[[LoadedScene], Ensemble], *, seed: int | None = None
) -> OpenStage:
    """Create a function that opens stages.

    Args:
        transcript: stores all messages.
        cast: builds the ensemble of a scene.
        seed: the seed of new conversations; None for the scene's own.
    """

    def open_stage(scene: LoadedScene, conversation: str | None, /, *, seed: int | None = seed) -> Stage:
        return Stage(cast(scene), transcript, conversation=conversation, seed=seed)

    return open_stage


def usual_ensemble(scene: LoadedScene) -> Ensemble:
    """Build the ensemble of a scene with the model from the settings.

    Raises:
        TrustError: the scene comes from elsewhere and names models to which the user has not agreed.
        RoleLLMError: the scene or the settings are invalid.
    """
    settings = load_settings()
    make = model_maker(settings, preset=chosen_preset(settings))
    return Ensemble(scene, usual=settings.model, make=make)


def with_director(stage: Stage, kind: str, reopen: OpenStage) -> Stage:
    """The same scene at the same place, with another director.

    Args:
        stage: the scene; it must not be used any more.
        kind: the kind of the director.
        reopen: opens the stage.

    Raises:
        MessageError: a turn is running.
        RoleLLMError: there is no such director, or the stage cannot be opened.
    """
    if stage.answering:
        raise MessageError("A turn is still running; stop it first.")
    other = reopen(directed(stage.loaded, kind), stage.conversation, seed=stage.seed)
    for seat in set(other.persons) - set(stage.persons):
        other.give_back(seat)
    for seat in stage.persons:
        other.take_seat(seat)
    return other
