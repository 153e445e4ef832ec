"""`rolellm eval report`: what runs came to, as a page, as Markdown, as a log of inspect_ai."""

from pathlib import Path
from typing import Annotated

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import print_json, print_text


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Folders of runs: of “eval rolebench”, of “eval drift”, of “judge”."),
    ],
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", help="A folder, or a file that ends in .html; the first run's folder otherwise."
        ),
    ] = None,
    samples: Annotated[
        int,
        typer.Option("--samples", min=0, help="Questions of each role that are shown with their replies."),
    ] = 4,
    inspect: Annotated[
        Path | None,
        typer.Option(
            "--inspect",
            help="Write a log that inspect_ai reads, too: a .json file; of several systems one for each.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """One self-contained HTML page of one or several runs, with plots, and Markdown beside it.

    Every score with its interval, by kind of question and by role, length against score, what judges said
    and how far they agree, and replies side by side. The page needs no network and no script.

    \b
    Examples:
      rolellm eval report runs/rolebench
      rolellm eval report runs/rolebench runs/interviews --to report.html
      rolellm eval report runs/rolebench --inspect logs/rolebench.json
    """
    from rolellm_agents.reports import report_of, write_report
    from rolellm_agents.reports.inspect_log import write_inspect_logs
    from rolellm_agents.reports.reading import read_run

    read = [read_run(folder.expanduser()) for folder in runs]
    written = write_report(report_of(read, samples=samples), (to or runs[0]).expanduser())
    logs = []
    if inspect is not None:
        # Verdicts and interviews are told by the page alone; where there is nothing else, that is an error.
        answered = [run for run in read if run.kind == "rolebench"] or read[:1]
        file = inspect.expanduser()
        for run in answered:
            own = file.with_stem(f"{file.stem}-{run.name}") if len(answered) > 1 else file
            logs += write_inspect_logs(run, own)
    if as_json:
        print_json(
            {
                "page": str(written.page),
                "markdown": str(written.markdown),
                "pictures": [str(file) for file in written.pictures],
                "logs": [str(file) for file in logs],
            }
        )
        return
    for file in (written.page, written.markdown, *logs):
        print_text(str(file))
