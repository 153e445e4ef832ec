"""`rolellm bench`: measure this machine; each benchmark lies beside what it measures."""

from pathlib import Path
from typing import Annotated, Any

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.cli.output import complain, print_json, print_table, print_text

app = typer.Typer(name="bench", help="Measure this machine.", no_args_is_help=True, rich_markup_mode=None)

RoundsOption = Annotated[int, typer.Option("--rounds", min=1, help="How often each is measured.")]


@app.command("start")
def start(rounds: RoundsOption = 5, as_json: JsonOption = False) -> None:
    """Time of `rolellm --help`, and of `say` to its first word in a new process and a warm one.

    \b
    Example:
      rolellm bench start --json
    """
    from rolellm_tui.cli.start_benchmark import measure_start

    _print(measure_start(rounds), as_json=as_json)


@app.command("turn")
def turn(rounds: RoundsOption = 50, as_json: JsonOption = False) -> None:
    """What graph and session add to the bare model call, in milliseconds a turn.

    \b
    Example:
      rolellm bench turn --json
    """
    from rolellm_graphs.session_benchmark import measure_turn

    _print(measure_turn(rounds), as_json=as_json)


@app.command("script")
def script(
    files: Annotated[list[Path], typer.Argument(help="Plays, screenplays, subtitles or novels.")],
    as_json: JsonOption = False,
) -> None:
    """How fast scripts are read; for a tagged play also how much its plain text gives back.

    \b
    Example:
      rolellm bench script hamlet.xml pride.txt --json
    """
    from rolellm_agents.scripts.benchmark import measure_script

    found = [{"file": file.name, **measure_script(file)} for file in files]
    if as_json:
        print_json(found)
        return
    for one in found:
        _print(one, as_json=False)
        print_text("")


@app.command("cards")
def cards(as_json: JsonOption = False) -> None:
    """Reading a thousand cards, the memory of a large one, and scanning a thousand lore entries.

    \b
    Example:
      rolellm bench cards --json
    """
    from rolellm_agents.cards.benchmark import measure_lore
    from rolellm_agents.cards.reading_benchmark import measure_reading

    _print({**measure_reading(), **measure_lore()}, as_json=as_json)


@app.command("engine")
def engine(
    characters: Annotated[int, typer.Option("--characters", min=2, max=10, help="Who speak in turn.")] = 4,
    turns: Annotated[int, typer.Option("--turns", min=1, help="Lines of the scene.")] = 24,
    reply: Annotated[int, typer.Option("--reply", min=2, help="Tokens of a line.")] = 32,
    rounds: RoundsOption = 1,
    as_json: JsonOption = False,
) -> None:
    """A scene played by our engine and by llama.cpp in other hands; takes minutes.

    Also how fast each writes one answer, or up to sixteen at once. Progress is told on standard error.

    \b
    Examples:
      rolellm bench engine
      rolellm bench engine --turns 8 --rounds 3 --json
    """
    from rolellm_agents.models.llamacpp.benchmark import measure_engine

    measured = measure_engine(
        characters=characters,
        turns=turns,
        reply=reply,
        rounds=rounds,
        progress=lambda text: typer.echo(text, err=True),
    )
    for note in measured["notes"]:
        complain(note)
    if as_json:
        print_json(measured)
    else:
        _print_engines(measured)


def _print_engines(measured: dict[str, Any]) -> None:
    """One table of all that was measured, a column for each engine, and one of the ratios."""
    installed = dict(measured["as_installed"])
    installed_ratios = installed.pop("ratios", {})
    columns = dict(measured["engines"])
    if "ours" in installed:
        columns["ours as installed"] = installed["ours"]
    names = dict.fromkeys(name for figures in columns.values() for name in figures)
    rows = ((name, *(_cell(figures.get(name)) for figures in columns.values())) for name in names)
    print_table(("WHAT", *(column.upper() for column in columns)), rows)
    if not measured["ratios"]:
        return
    print_text("")
    print_table(
        ("OURS COMPARED", "SAME FILE", "AS INSTALLED"),
        (
            (name, _cell(ratio), _cell(installed_ratios.get(name)))
            for name, ratio in measured["ratios"].items()
        ),
    )


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:,g}"


def _print(measured: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(measured)
    else:
        print_table(("WHAT", "MEASURED"), ((name, str(value)) for name, value in measured.items()))
