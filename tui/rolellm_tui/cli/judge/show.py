"""`rolellm judge show`: verdicts that were recorded, read back."""

from pathlib import Path
from typing import Annotated

import typer

from rolellm_tui.cli.options import JsonOption


def show(
    run: Annotated[str, typer.Argument(help="A run's folder, or its name among your own runs.")],
    as_json: JsonOption = False,
) -> None:
    """Show the verdicts of a run of “rolellm judge”, be it complete or not; no model is asked.

    \b
    Examples:
      rolellm judge show judge-rubric-1f2e3d4c
      rolellm judge show runs/mine --json
    """
    from rolellm_agents.config.paths import user_paths
    from rolellm_agents.judging.recorded import read_verdicts
    from rolellm_tui.cli.judge.printing import tell

    folder = Path(run).expanduser()
    own = user_paths().runs / run
    if not folder.is_dir() and own.is_dir():
        folder = own
    tell(read_verdicts(folder), folder, as_json=as_json)
