"""`rolellm bench`: measure this machine; each benchmark lies beside what it measures."""

from typing import Annotated, Any

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.cli.output import print_json, print_table

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


def _print(measured: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(measured)
    else:
        print_table(("WHAT", "MEASURED"), ((name, str(value)) for name, value in measured.items()))
