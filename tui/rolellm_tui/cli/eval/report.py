"""`rolellm eval report`: the results of runs as HTML, Markdown and logs of inspect_ai."""

from pathlib import Path
from typing import Annotated

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import print_json, print_text


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Folders of runs of “eval rolebench”, “eval drift” or “judge”."),
    ],
    to: Annotated[
        Path | None,
        typer.Option("--to", help="Output folder or .html file. Default: the first run's folder."),
    ] = None,
    samples: Annotated[
        int,
        typer.Option("--samples", min=0, help="Questions per role to show with their replies."),
    ] = 4,
    inspect: Annotated[
        Path | None,
        typer.Option(
            "--inspect",
            help="Also write logs for inspect_ai: a .json file, one per system.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write an HTML report of one or several runs, and the same in Markdown.

    The report has scores with intervals by kind of question and by role, length against score, verdicts and
    agreement of judges, and replies side by side. The page works without network and scripts.

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
        # Logs hold RoleBench runs only; `write_inspect_logs` raises an error if there is none.
        logged = [run for run in read if run.kind == "rolebench"] or read[:1]
        file = inspect.expanduser()
        for run in logged:
            own = file.with_stem(f"{file.stem}-{run.name}") if len(logged) > 1 else file
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
