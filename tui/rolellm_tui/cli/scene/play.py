"""`rolellm scene play`: a scene in the terminal, to watch and to take part in."""

from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.chat.chat import has_screen
from rolellm_tui.cli.options import (
    BaseUrlOption,
    MaxTokensOption,
    ModelOption,
    SeedOption,
    StrategyOption,
    TemperatureOption,
    open_session,
)
from rolellm_tui.cli.scene.options import (
    DirectorOption,
    SceneArgument,
    SeatModelOption,
    directed,
    open_ensemble,
)

if TYPE_CHECKING:
    from rolellm_agents.persona import Persona
    from rolellm_agents.scene import LoadedScene
    from rolellm_agents.transcript import Transcript
    from rolellm_graphs.chat.session import Session
    from rolellm_graphs.scene.stage import Stage
    from rolellm_tui.staging import OpenStage


def play_scene(
    scene: SceneArgument,
    seat: Annotated[
        list[str] | None,
        typer.Option("--as", help="A seat that you take; several may be given.", metavar="SEAT"),
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Begin it anew, and do not go on with the last time.")
    ] = False,
    seed: SeedOption = None,
    model: ModelOption = None,
    seat_model: SeatModelOption = None,
    base_url: BaseUrlOption = None,
    strategy: StrategyOption = None,
    director: DirectorOption = None,
    max_tokens: MaxTokensOption = None,
    temperature: TemperatureOption = None,
) -> None:
    """Play a scene in the terminal: watch, pause, step, take a seat, whisper, branch.

    \b
    Examples:
      rolellm scene play dinner-for-four
      rolellm scene play harcombe-library --as secretary
      rolellm scene play my-scene.yaml --new --model openai:gpt-4o-mini
    """
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.errors import SceneError
    from rolellm_agents.scene import load_scene
    from rolellm_agents.transcript import Transcript
    from rolellm_graphs.scene.stage import Stage

    if not has_screen():
        raise SceneError(
            f"A scene is played in a terminal, and this is none; “rolellm scene run {scene}” prints it."
        )
    loaded = directed(load_scene(scene), director)
    with Transcript(user_paths().transcript) as transcript:

        def open_stage(
            chosen: "LoadedScene", conversation: str | None, /, *, seed: int | None = seed
        ) -> "Stage":
            ensemble = open_ensemble(
                chosen,
                model=model,
                seat_models=seat_model if chosen is loaded else None,
                strategy=strategy,
                base_url=base_url,
                max_tokens=max_tokens,
                temperature=temperature,
            )
            persons = seat if seat and chosen is loaded else None
            return Stage(ensemble, transcript, conversation=conversation, seed=seed, persons=persons)

        begun = None if new else _latest(transcript, loaded)
        if begun is None:
            stage = open_stage(loaded, None)
        else:
            conversation, sown = begun
            stage = open_stage(loaded, conversation, seed=sown if seed is None else seed)
        _run_app(stage, open_stage, transcript)


def _latest(transcript: "Transcript", loaded: "LoadedScene") -> tuple[str, int] | None:
    """The last time this scene was played and its seed, if it had the cast that it has now."""
    from rolellm_agents.chat_files.scenes import SCENE
    from rolellm_graphs.scene.stage import stored_scene

    for found in transcript.conversations(f"{SCENE}{loaded.scene.id}"):
        stored, sown = stored_scene(transcript, found.id)
        return (found.id, sown) if stored.scene.cast == loaded.scene.cast else None
    return None


def _run_app(stage: "Stage", open_stage: "OpenStage", transcript: "Transcript") -> None:
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.persona.user_persona import current_user_persona
    from rolellm_tui.app import RoleApp
    from rolellm_tui.widgets.library.portrait import find_pixels

    def open_chat(
        chosen: "Persona",
        conversation: str | None,
        *,
        strategy: str | None = None,
        model: str | None = None,
    ) -> "Session":
        return open_session(
            chosen, transcript, model=model, base_url=None, strategy=strategy, conversation=conversation
        )

    settings = load_settings()
    app = RoleApp(
        open_chat,
        transcript,
        stage=stage,
        open_stage=open_stage,
        theme=settings.theme,
        user=current_user_persona(settings).name,
        pixels=find_pixels(),
    )
    failure = app.run()
    if failure:
        raise failure
