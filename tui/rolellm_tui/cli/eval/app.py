"""`rolellm eval`: measure the quality of models and replies."""

import typer

from rolellm_tui.cli.eval.drift import drift
from rolellm_tui.cli.eval.paper import paper
from rolellm_tui.cli.eval.reading import app as reading
from rolellm_tui.cli.eval.report import report
from rolellm_tui.cli.eval.rolebench import rolebench
from rolellm_tui.cli.eval.score import score
from rolellm_tui.cli.eval.speakers import speakers
from rolellm_tui.cli.eval.strategies import strategies
from rolellm_tui.cli.eval.suite import suite

app = typer.Typer(
    name="eval",
    help="Measure the quality of models and replies.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("rolebench")(rolebench)
app.command("paper")(paper)
app.command("suite")(suite)
app.command("drift")(drift)
app.command("strategies")(strategies)
app.command("speakers")(speakers)
app.add_typer(reading)
app.command("score")(score)
app.command("report")(report)
