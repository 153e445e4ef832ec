"""`rolellm judge`: judge replies, pairs and scenes, and check judges."""

from pathlib import Path
from typing import Annotated

import typer

from rolellm_tui.cli.judge.chat import chat
from rolellm_tui.cli.judge.check import check
from rolellm_tui.cli.judge.pair import pair
from rolellm_tui.cli.judge.scene import scene
from rolellm_tui.cli.options import JsonOption

app = typer.Typer(
    name="judge",
    help="Judge chats, pairs of systems and scenes, and check judges.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("chat")(chat)
app.command("pair")(pair)
app.command("scene")(scene)


@app.command("show")
def show(
    run: Annotated[str, typer.Argument(help="A run's folder, or its name among your own runs.")],
    as_json: JsonOption = False,
) -> None:
    """Show the recorded verdicts of a run, complete or not. No model is needed.

    \b
    Examples:
      rolellm judge show judge-rubric-1f2e3d4c
      rolellm judge show runs/mine --json
    """
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.judging.recorded import read_verdicts
    from rolellm_tui.cli.judge.printing import print_verdicts

    folder = Path(run).expanduser()
    own = user_paths().runs / run
    if not folder.is_dir() and own.is_dir():
        folder = own
    print_verdicts(read_verdicts(folder), folder, as_json=as_json)


app.command("check")(check)
