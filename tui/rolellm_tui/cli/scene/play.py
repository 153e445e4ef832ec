"""`rolellm scene play`: watch a scene in the terminal and take part in it."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.chat.chat import has_screen
from rolellm_tui.cli.options import SeedOption, SessionOptions, open_session, with_option_groups
from rolellm_tui.cli.scene.options import (
    SceneArgument,
    SceneOptions,
    open_ensemble,
    scene_to_play,
)
from rolellm_tui.cli.transcripts import open_transcript

if TYPE_CHECKING:
    from rolellm_agents.persona import Persona
    from rolellm_agents.scene import LoadedScene
    from rolellm_agents.transcript import Transcript
    from rolellm_graphs.chat.session import Session
    from rolellm_graphs.scene.stage import Stage
    from rolellm_tui.staging import OpenStage


@with_option_groups
def play(
    *,
    scene: SceneArgument,
    seat: Annotated[
        list[str] | None,
        typer.Option("--as", help="Take this seat. Repeatable.", metavar="SEAT"),
    ] = None,
    new: Annotated[
        bool, typer.Option("--new", help="Start a new conversation instead of resuming the latest one.")
    ] = False,
    seed: SeedOption = None,
    as_lines: Annotated[
        bool, typer.Option("--plain", help="Print plain lines of text, for screen readers.")
    ] = False,
    options: SceneOptions,
) -> None:
    """Play a scene in the terminal: watch, pause, step, take a seat, whisper, branch.

    \b
    Examples:
      rolellm scene play dinner-for-four
      rolellm scene play harcombe-library --as secretary
      rolellm scene play harcombe-library --as secretary --plain
      rolellm scene play my-scene.yaml --new --model openai:gpt-4o-mini
    """
    from rolellm_agents.errors import SceneError
    from rolellm_agents.scene.directed import directed
    from rolellm_graphs.scene.stage import Stage

    if not as_lines and not has_screen():
        raise SceneError(
            "“rolellm scene play” needs a terminal, or --plain; "
            f"“rolellm scene run {scene}” prints the scene."
        )
    loaded = directed(scene_to_play(scene, options), options.director)
    with open_transcript() as transcript:

        def open_stage(
            chosen: "LoadedScene", conversation: str | None, /, *, seed: int | None = seed
        ) -> "Stage":
            # Seats are those of the scene on the command line, not of others that are opened from it.
            is_first = chosen.scene.id == loaded.scene.id and chosen.scene.cast == loaded.scene.cast
            own = options if is_first else replace(options, seat_model=None)
            persons = seat if seat and is_first else None
            ensemble = open_ensemble(chosen, own)
            return Stage(ensemble, transcript, conversation=conversation, seed=seed, persons=persons)

        latest = None if new else _latest(transcript, loaded)
        if latest is None:
            stage = open_stage(loaded, None)
        else:
            conversation, stored_seed = latest
            stage = open_stage(loaded, conversation, seed=stored_seed if seed is None else seed)
        if as_lines:
            from rolellm_tui.plain.scene import play_plainly

            play_plainly(stage, open_stage)
        else:
            _run_app(stage, open_stage, transcript)


def _latest(transcript: "Transcript", loaded: "LoadedScene") -> tuple[str, int] | None:
    """The scene's latest conversation and its seed, if it has the present cast."""
    from rolellm_agents.chat_files.scenes import SCENE
    from rolellm_graphs.scene.stage import stored_scene

    for found in transcript.conversations(f"{SCENE}{loaded.scene.id}"):
        stored, seed = stored_scene(transcript, found.id)
        return (found.id, seed) if stored.scene.cast == loaded.scene.cast else None
    return None


def _run_app(stage: "Stage", open_stage: "OpenStage", transcript: "Transcript") -> None:
    from rolellm_agents.config.settings import load_settings
    from rolellm_agents.persona.user_persona import current_user_persona
    from rolellm_tui.app import RoleApp
    from rolellm_tui.habits import AppHabits
    from rolellm_tui.widgets.library.portrait import find_pixels

    def open_chat(
        chosen: "Persona",
        conversation: str | None,
        *,
        strategy: str | None = None,
        model: str | None = None,
    ) -> "Session":
        options = SessionOptions(model=model, strategy=strategy)
        return open_session(chosen, transcript, options, conversation=conversation)

    settings = load_settings()
    app = RoleApp(
        open_chat,
        transcript,
        stage=stage,
        open_stage=open_stage,
        theme=settings.theme,
        user=current_user_persona(settings).name,
        habits=AppHabits.of(settings),
        pixels=find_pixels(),
    )
    failure = app.run()
    if failure:
        raise failure
    if app.return_code:
        raise typer.Exit(app.return_code)
