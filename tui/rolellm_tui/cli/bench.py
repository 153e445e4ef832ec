"""`rolellm bench`: the speed benchmarks of a checkout, and the old spellings of `rolellm eval`.

The benchmarks are a package of their own, `rolellm_speed` in `tests/speed/`, which a checkout installs and
the wheel leaves out.
"""

from importlib.util import find_spec
from typing import Any

import typer
from typer.core import TyperGroup

from rolellm_agents.errors import SettingsError
from rolellm_tui.cli.eval import drift, report, rolebench, score, speakers, strategies
from rolellm_tui.cli.renamed import renamed

_HELP = "Measure the speed of this machine."


class _NotInstalled(TyperGroup):
    """Accepts any benchmark's name and explains how to get the benchmarks."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command by its name.

        Raises:
            SettingsError: it is a benchmark, and the benchmarks are not installed.
        """
        if args and args[0] in self.commands:
            return super().resolve_command(ctx, args)
        raise SettingsError(
            "The speed benchmarks are not part of the installed package: clone the repository and run "
            "“make bench” there."
        )


def _bench_app() -> typer.Typer:
    if find_spec("rolellm_speed") is None:
        return typer.Typer(
            name="bench",
            cls=_NotInstalled,
            help=f"{_HELP} Needs a checkout of the repository.",
            rich_markup_mode=None,
        )
    from rolellm_speed.commands.app import app

    return app


app = _bench_app()
for _name, _now, _command in (
    ("rolebench", "rolebench", rolebench.rolebench),
    ("interview", "drift", drift.drift),
    ("report", "report", report.report),
    ("score", "score", score.score),
    ("speakers", "speakers", speakers.speakers),
    ("strategies", "strategies", strategies.strategies),
):
    app.command(_name, hidden=True)(renamed(_command, f"bench {_name}", f"eval {_now}"))
