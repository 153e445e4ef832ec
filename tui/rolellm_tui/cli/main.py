"""The `rolellm` command itself.

Nothing heavy is imported until a command runs, so that `--help` is instant: command functions import
what they need, and never at the top of their file.
"""

import io
import logging
import os
import sys

import typer

from rolellm_agents.errors import RoleLLMError
from rolellm_tui.cli import bench, mcp, preset, serve
from rolellm_tui.cli.chat import chat, history, recall, say
from rolellm_tui.cli.data import app as data
from rolellm_tui.cli.doctor import doctor
from rolellm_tui.cli.eval import app as evaluation
from rolellm_tui.cli.judge import app as judge
from rolellm_tui.cli.models import app as models
from rolellm_tui.cli.persona import app as persona
from rolellm_tui.cli.scene import app as scene
from rolellm_tui.cli.train import export, train
from rolellm_tui.output import complain

app = typer.Typer(
    name="rolellm",
    help="Talk with persona agents, offline or with any model.",
    epilog=(
        "\b\nExamples:\n"
        "  rolellm chat\n"
        "  rolellm say sherlock-holmes 'Who are you?'\n"
        "  rolellm scene run last-booth\n"
        "  rolellm persona list"
    ),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("chat")(chat.chat)
app.command("say")(say.say)
app.add_typer(persona.app)
app.add_typer(scene.app)
app.command("recall")(recall.recall)
app.add_typer(serve.app)
app.command("mcp")(mcp.mcp)
app.add_typer(models.app)
app.add_typer(preset.app)
app.add_typer(history.app)
app.add_typer(data.app)
app.command("train")(train.train)
app.add_typer(judge.app)
app.add_typer(evaluation.app)
app.command("export")(export.export)
app.command("doctor")(doctor.doctor)
app.add_typer(bench.app)


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version."),
) -> None:
    if version:
        from importlib.metadata import version as installed_version

        typer.echo(installed_version("rolellm-agents"))
        raise typer.Exit


def main() -> None:
    """Run the command line.

    Exit codes: 0 success, 1 internal error, 2 an error that the user can fix, 130 after Ctrl-C.
    """
    # At every import it recommends a faster kernel for processors, which another package would download.
    logging.getLogger("bitsandbytes.backends.cpu").setLevel(logging.ERROR)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal without Chinese characters shows question marks instead of failing.
            stream.reconfigure(errors="replace")
    try:
        app()
    except RoleLLMError as error:
        complain(str(error))
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        if os.environ.get("ROLELLM_DEBUG"):
            raise
        complain(
            f"Internal error: {type(error).__name__}: {error}. "
            "Set ROLELLM_DEBUG=1 for the traceback, and please report it."
        )
        sys.exit(1)
