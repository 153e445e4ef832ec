"""Options that the scene commands share, and how they become an ensemble."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rolellm_tui.output import complain

if TYPE_CHECKING:
    from collections.abc import Callable

    from langchain_core.language_models import BaseChatModel

    from rolellm_agents.scene import LoadedScene
    from rolellm_agents.scene.run_file import RunLine
    from rolellm_graphs.scene.ensemble import Ensemble
    from rolellm_graphs.scene.stage import Stage

SceneArgument = Annotated[str, typer.Argument(help="An id, or a scene file.")]
SeatModelOption = Annotated[
    list[str] | None,
    typer.Option(
        "--seat-model",
        help="A model for one seat, as SEAT=PROVIDER:NAME; several may be given.",
        metavar="…",
    ),
]
DirectorOption = Annotated[
    str | None,
    typer.Option(
        "--director",
        help="round-robin, natural, manual, pooled, bidding or model, in place of the scene's.",
        metavar="KIND",
    ),
]


def model_maker(
    base_url: str | None, max_tokens: int | None, temperature: float | None
) -> "Callable[..., BaseChatModel]":
    """What makes the models of a scene from specs, with these options and the user's defaults."""
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.models.catalog import get_model

    settings = load_settings()
    return partial(
        get_model,
        temperature=settings.temperature if temperature is None else temperature,
        max_tokens=max_tokens or settings.max_tokens,
        base_url=base_url,
    )


def open_ensemble(
    loaded: "LoadedScene",
    *,
    model: str | None,
    seat_models: list[str] | None = None,
    strategy: str | None = None,
    base_url: str | None = None,
    max_tokens: int | None = None,
    temperature: float | None = None,
) -> "Ensemble":
    """Who plays the scene with these options, and the user's defaults for those not given.

    Raises:
        RoleLLMError: an option names something that does not exist.
    """
    from rolellm_graphs.scene.ensemble import Ensemble

    return Ensemble(
        loaded,
        model=default_model(loaded, model),
        models=_by_seat(loaded, seat_models or []),
        strategy=strategy,
        make=model_maker(base_url, max_tokens, temperature),
    )


def default_model(loaded: "LoadedScene", model: str | None) -> str:
    """The model of all who have none of their own: as told, else the scene's, else the user's."""
    from rolellm_agents.config.settings import load_settings

    return model or loaded.scene.model or load_settings().model


def head_of_file(stage: "Stage", model: str) -> str:
    """The first line of a run file.

    Args:
        stage: what is played.
        model: of all who have none of their own; the narrator's, if it has none.
    """
    from rolellm_agents.scene import NARRATOR
    from rolellm_agents.scene.run_file import as_text, first_line

    models = {seat: voice.model_name for seat, voice in stage.ensemble.voices.items()}
    return as_text(first_line(stage.loaded, stage.seed, {**models, NARRATOR: model}))


def for_readers(line: "RunLine") -> "RunLine":
    """A line without what it has for playing it again."""
    shown = line.copy()
    shown.pop("calls", None)
    shown.pop("made_by", None)
    return shown


def unattended(loaded: "LoadedScene", kind: str | None) -> "LoadedScene":
    """The scene with a director that waits for nobody, and told so where that changes it.

    Raises:
        SceneError: there is no such director.
    """
    scene = directed(loaded, kind)
    if scene.scene.director.kind != "manual":
        return scene
    complain("Nobody is here to say who speaks next, so the director is “natural”.")
    return directed(scene, "natural")


def directed(loaded: "LoadedScene", kind: str | None) -> "LoadedScene":
    """The scene with another director.

    Raises:
        SceneError: there is no such director.
    """
    from dataclasses import replace

    from rolellm_agents.errors import SceneError
    from rolellm_agents.scene.scene import Director, director_kinds
    from rolellm_agents.text import did_you_mean

    if kind is None:
        return loaded
    known = [one for one in director_kinds() if one != "scripted"]
    if kind not in known:
        raise SceneError(
            f"There is no director {kind!r}{did_you_mean(kind, known)}; known are {', '.join(known)}, "
            "and “scripted” in a scene file."
        )
    changed: dict[str, Any] = {"director": Director(kind=kind)}
    return replace(loaded, scene=loaded.scene.model_copy(update=changed))


def _by_seat(loaded: "LoadedScene", told: list[str]) -> dict[str, str]:
    from rolellm_agents.errors import SceneError
    from rolellm_agents.text import did_you_mean

    models = {}
    for one in told:
        seat, sign, spec = one.partition("=")
        if not sign or not spec:
            raise SceneError(f"--seat-model {one!r} names no model; write it as SEAT=PROVIDER:NAME.")
        if seat not in loaded.seats:
            near = did_you_mean(seat, loaded.seats)
            raise SceneError(f"There is no seat {seat!r}{near}; seats are {', '.join(loaded.seats)}.")
        models[seat] = spec
    return models
