"""`rolellm scene`: play, run, compare, replay, export, list and check scenes."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.cli.scene.export import export
from rolellm_tui.cli.scene.lab import lab
from rolellm_tui.cli.scene.options import SceneArgument
from rolellm_tui.cli.scene.play import play
from rolellm_tui.cli.scene.replay import replay
from rolellm_tui.cli.scene.run import run
from rolellm_tui.output import complain, print_json, print_table, print_text

if TYPE_CHECKING:
    from rolellm_agents.scene import LoadedScene, Seat

_PRIVATE = ("about", "goals", "secrets", "knows", "relations")
"""Fields of a seat that only its own player knows."""

app = typer.Typer(
    name="scene",
    help="Play, run, compare and export scenes with several characters.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("run")(run)
app.command("play")(play)
app.command("lab")(lab)
app.command("replay")(replay)
app.command("export")(export)


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List scenes: your own and the bundled ones.

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
        bool, typer.Option("--secrets", help="Include goals, secrets and private knowledge.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the cast, setting and director of a scene.

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
    shown = loaded.scene
    print_text(f"{shown.title}\n{shown.setting} {shown.time}\n")
    for seat in shown.cast:
        print_text(_about(seat))
        for what, text in _private(loaded, seat) if secrets else ():
            print_text(f"    {what}: {text}")
    print_text(f"\nDirector: {shown.director.kind}. At most {shown.stop.turns} turns.")
    print_text(f"\nWatch:  rolellm scene run {scene}\nPlay:   rolellm scene play {scene}")


@app.command("check")
def check(
    files: Annotated[list[str], typer.Argument(help="Scene files or ids.")],
    as_json: JsonOption = False,
) -> None:
    """Check scene files. Reports the first error of each file with its line.

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
            print_text(f"{one['scene']}: {one['problem'] or 'valid'}")
    if any(one["problem"] for one in results):
        raise typer.Exit(2)


def _called(seat: "Seat") -> str:
    return seat.name or seat.persona or seat.id


def _about(seat: "Seat") -> str:
    notes = [
        *(["a person"] if seat.person else []),
        *([] if seat.present else ["joins later"]),
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
