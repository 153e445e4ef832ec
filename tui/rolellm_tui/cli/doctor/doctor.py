"""`rolellm doctor`: what is installed, what works here, and what to do about what does not."""

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
            help="Measure which settings are quickest for the default model here, and keep them (8 s).",
        ),
    ] = False,
    if_needed: Annotated[
        bool, typer.Option("--if-needed", help="Measure only what was not measured here before.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Look at the installation: packages, processor, model, folders, personas, conversations.

    Exits with 1 when something needs to be put right.

    \b
    Examples:
      rolellm doctor
      rolellm doctor --json
      rolellm doctor --calibrate
    """
    if if_needed and not calibrate:
        raise typer.BadParameter("It says when to --calibrate; give both.", param_hint="--if-needed")
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
