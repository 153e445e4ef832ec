"""`rolellm scene`: several characters in one place, played, watched, measured and kept."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.cli.scene import export as scene_export
from rolellm_tui.cli.scene import lab as scene_lab
from rolellm_tui.cli.scene import play as scene_play
from rolellm_tui.cli.scene import replay as scene_replay
from rolellm_tui.cli.scene import run as scene_run
from rolellm_tui.cli.scene.options import SceneArgument
from rolellm_tui.output import complain, print_json, print_table, print_text

if TYPE_CHECKING:
    from rolellm_agents.scene import LoadedScene, Seat

_PRIVATE = ("about", "goals", "secrets", "knows", "relations")
"""What a seat's own player alone is told."""

app = typer.Typer(
    name="scene",
    help="Put several characters, and people, in one place.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("run")(scene_run.run_scene)
app.command("play")(scene_play.play_scene)
app.command("lab")(scene_lab.lab)
app.command("replay")(scene_replay.replay)
app.command("export")(scene_export.export)


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the scenes that can be named by id: your own, and those that come with it.

    \b
    Examples:
      rolellm scene list
      rolellm scene list --json
    """
    from rolellm_agents.scene import list_scenes

    found, notes = list_scenes()
    if as_json:
        print_json(
            [
                {
                    "id": one.scene.id,
                    "title": one.scene.title,
                    "cast": [_called(seat) for seat in one.scene.cast],
                    "language": one.scene.language,
                    "director": one.scene.director.kind,
                    "turns": one.scene.stop.turns,
                    "path": str(one.path),
                }
                for one in found
            ]
        )
    else:
        print_table(
            ("ID", "TITLE", "CAST", "DIRECTOR", "TURNS"),
            (
                (
                    one.scene.id,
                    one.scene.title,
                    ", ".join(_called(seat) for seat in one.scene.cast),
                    one.scene.director.kind,
                    str(one.scene.stop.turns),
                )
                for one in found
            ),
        )
    for note in notes:
        complain(note)


@app.command("show")
def show(
    scene: SceneArgument,
    secrets: Annotated[
        bool, typer.Option("--secrets", help="With what each of them keeps from the others.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Tell who is in a scene and what happens in it; secrets only when asked.

    \b
    Examples:
      rolellm scene show dinner-for-four
      rolellm scene show my-scene.yaml --secrets
    """
    from rolellm_agents.scene import load_scene

    loaded = load_scene(scene)
    if as_json:
        private = None if secrets else {"cast": {"__all__": set(_PRIVATE)}}
        print_json(loaded.scene.model_dump(mode="json", exclude_unset=True, exclude=private))
        return
    told = loaded.scene
    print_text(f"{told.title}\n{told.setting} {told.time}\n")
    for seat in told.cast:
        print_text(_about(seat))
        for what, text in _private(loaded, seat) if secrets else ():
            print_text(f"    {what}: {text}")
    print_text(f"\nDirector: {told.director.kind}. At most {told.stop.turns} turns.")
    print_text(f"\nWatch:  rolellm scene run {scene}\nPlay:   rolellm scene play {scene}")


@app.command("check")
def check(
    files: Annotated[list[str], typer.Argument(help="Scene files, or ids.")],
    as_json: JsonOption = False,
) -> None:
    """Check scene files: the first thing that is wrong with each, with its line.

    \b
    Examples:
      rolellm scene check my-scene.yaml
      rolellm scene check scenes/*.yaml --json
    """
    from rolellm_agents.errors import RoleLLMError
    from rolellm_agents.scene import load_scene

    results: list[dict[str, Any]] = []
    for file in files:
        try:
            load_scene(file)
            results.append({"scene": file, "problem": None})
        except RoleLLMError as error:
            results.append({"scene": file, "problem": str(error)})
    if as_json:
        print_json(results)
    else:
        for one in results:
            print_text(f"{one['scene']}: {one['problem'] or 'good'}")
    if any(one["problem"] for one in results):
        raise typer.Exit(2)


def _called(seat: "Seat") -> str:
    return seat.name or seat.persona or seat.id


def _about(seat: "Seat") -> str:
    notes = [
        *(["a person"] if seat.person else []),
        *([] if seat.present else ["comes later"]),
        *([seat.model] if seat.model else []),
    ]
    return f"  {seat.name} ({seat.id}){': ' if notes else ''}{', '.join(notes)}"


def _private(loaded: "LoadedScene", seat: "Seat") -> list[tuple[str, str]]:
    listed = [("wants", seat.goals), ("hides", seat.secrets), ("knows", seat.knows)]
    return [
        *([("is", seat.persona)] if seat.persona and seat.persona != seat.id else []),
        *([("is here", seat.about)] if seat.about else []),
        *((what, text) for what, texts in listed for text in texts),
        *((loaded.names.get(other, other), text) for other, text in seat.relations.items()),
    ]
