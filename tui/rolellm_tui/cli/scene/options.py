"""Options that the scene commands share, and the ensemble that they build."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.options import (
    BaseUrlOption,
    MaxTokensOption,
    ModelOption,
    PresetOption,
    StrategyOption,
    TemperatureOption,
    ThinkingOption,
)
from rolellm_tui.cli.scene.trust import TrustOption, with_models_that_count
from rolellm_tui.output import complain

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.language_models import BaseChatModel

    from rolellm_agents.scene import LoadedScene
    from rolellm_agents.scene.run_file import RunLine
    from rolellm_graphs.scene.ensemble import Ensemble
    from rolellm_graphs.scene.stage import Stage

SceneArgument = Annotated[str, typer.Argument(help="Scene id or file.")]
SeatModelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--seat-model",
        help="Model of one seat. Repeatable.",
        metavar="SEAT=PROVIDER:NAME",
    ),
]
DirectorOption = Annotated[
    str | None,
    typer.Option(
        "--director",
        help="round-robin, natural, manual, pooled, bidding or model. Default: the scene's.",
        metavar="KIND",
    ),
]


@dataclass(frozen=True)
class SceneOptions:
    """Options that say which models play a scene, and how."""

    model: ModelOption = None
    seat_model: SeatModelOption = None
    base_url: BaseUrlOption = None
    strategy: StrategyOption = None
    director: DirectorOption = None
    max_tokens: MaxTokensOption = None
    temperature: TemperatureOption = None
    preset: PresetOption = None
    thinking: ThinkingOption = None
    trust_file_models: TrustOption = False


def maker_with(
    base_url: str | None,
    max_tokens: int | None,
    temperature: float | None,
    *,
    preset: str | None = None,
    thinking: str | None = None,
) -> "Callable[..., BaseChatModel]":
    """A function from model spec to model, with these options and the user's settings as defaults.

    Raises:
        SettingsError: there is no such preset, or the settings are invalid.
    """
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.models.presets.files import chosen_preset
    from rolellm_agents.models.presets.using import model_maker

    settings = load_settings()
    return model_maker(
        settings,
        preset=chosen_preset(settings, preset),
        temperature=temperature,
        max_tokens=max_tokens,
        base_url=base_url,
        thinking=thinking,
    )


def open_ensemble(loaded: "LoadedScene", options: SceneOptions) -> "Ensemble":
    """Build the ensemble that plays a scene. Options that are not given default to the user's settings.

    Raises:
        TrustError: the scene comes from elsewhere and names models to which the user has not agreed.
        RoleLLMError: an option names something that does not exist.
    """
    from rolellm_agents.config.settings import load_settings
    from rolellm_graphs.scene.ensemble import Ensemble

    return Ensemble(
        loaded,
        model=options.model,
        usual=load_settings().model,
        models=_by_seat(loaded, options.seat_model or []),
        strategy=options.strategy,
        make=maker_with(
            options.base_url,
            options.max_tokens,
            options.temperature,
            preset=options.preset,
            thinking=options.thinking,
        ),
    )


def scene_to_play(scene: str, options: SceneOptions) -> "LoadedScene":
    """Load a scene, and settle whether the models in its file count; asks in a terminal.

    Raises:
        RoleLLMError: the scene cannot be played, or nobody can be asked.
    """
    from rolellm_agents.scene import load_scene

    return with_models_that_count(
        load_scene(scene),
        model=options.model,
        trust=options.trust_file_models,
        seats=[assignment.partition("=")[0] for assignment in options.seat_model or []],
        base_url=options.base_url,
    )


def default_model(loaded: "LoadedScene", model: str | None) -> str:
    """The model of seats without one of their own: the given one, else the scene's, else the user's."""
    from rolellm_agents.config.settings import load_settings

    return model or loaded.scene.model or load_settings().model


def head_of_file(stage: "Stage", model: str) -> str:
    """The first line of a run file.

    Args:
        stage: the stage that is played.
        model: the spec of the narrator's model.
    """
    from rolellm_agents.scene import NARRATOR
    from rolellm_agents.scene.run_file import as_text, first_line

    models = {seat: voice.model_name for seat, voice in stage.ensemble.voices.items()}
    director = stage.ensemble.choose_speaker
    return as_text(first_line(stage.loaded, stage.seed, {**models, NARRATOR: model}, director=director))


def without_replay_fields(line: "RunLine") -> "RunLine":
    """A line without the fields that only a replay needs."""
    shown = line.copy()
    shown.pop("calls", None)
    shown.pop("made_by", None)
    return shown


def unattended(loaded: "LoadedScene", kind: str | None) -> "LoadedScene":
    """The scene with a director that needs no user; a notice says so when this replaces `manual`.

    Raises:
        SceneError: there is no such director.
    """
    from rolellm_agents.scene.directed import directed

    scene = directed(loaded, kind)
    if scene.scene.director.kind != "manual":
        return scene
    complain("The manual director needs a user, so the scene runs with “natural”.")
    return directed(scene, "natural")


def _by_seat(loaded: "LoadedScene", assignments: list[str]) -> dict[str, str]:
    from rolellm_agents.errors import SceneError
    from rolellm_agents.text import did_you_mean

    models = {}
    for assignment in assignments:
        seat, sign, spec = assignment.partition("=")
        if not sign or not spec:
            raise SceneError(f"--seat-model {assignment!r} names no model; write it as SEAT=PROVIDER:NAME.")
        if seat not in loaded.seats:
            near = did_you_mean(seat, loaded.seats)
            raise SceneError(f"There is no seat {seat!r}{near}; seats are {', '.join(loaded.seats)}.")
        models[seat] = spec
    return models
