"""`rolellm doctor`: check the installation and suggest fixes."""

from typing import Annotated

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import print_json, print_text

_SIGNS = {"ok": "ok  ", "note": "note", "problem": "FIX "}


def doctor(
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate",
            help="Measure and save the fastest settings of the default model on this machine (8 s).",
        ),
    ] = False,
    if_needed: Annotated[
        bool, typer.Option("--if-needed", help="With --calibrate: do nothing if this was measured before.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check the installation: packages, processor, model, folders, personas, conversations.

    Exits with 1 when something must be fixed.

    \b
    Examples:
      rolellm doctor
      rolellm doctor --json
      rolellm doctor --calibrate
    """
    if if_needed and not calibrate:
        raise typer.BadParameter("It requires --calibrate.", param_hint="--if-needed")
    if calibrate:
        from rolellm_tui.cli.doctor.calibrate import calibrate_default_model

        calibrate_default_model(if_needed=if_needed, as_json=as_json)
        return

    from rolellm_tui.cli.doctor.checkup import run_checkup

    findings = run_checkup()
    if as_json:
        print_json([finding._asdict() for finding in findings])
    else:
        for finding in findings:
            print_text(f"{_SIGNS[finding.state]}  {finding.what}: {finding.found}")
            if finding.advice:
                print_text(f"      → {finding.advice}")
    if any(finding.state == "problem" for finding in findings):
        raise typer.Exit(1)
