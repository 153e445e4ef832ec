"""`rolellm persona check`: faults of personas, and how distinct their voices are."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import print_json, print_text
from rolellm_tui.widgets.common.formatting import counted

if TYPE_CHECKING:
    from rolellm_agents.corpus.checks import CorpusFinding
    from rolellm_agents.persona import FoundPersona, Persona
    from rolellm_agents.persona.lint import PersonaFinding
    from rolellm_agents.persona.lint.voices import VoiceReport

_FEWEST_VOICES = 3
_SHOWN = 5


def check(
    personas: Annotated[
        list[str] | None,
        typer.Argument(help="Ids, names, persona files or folders. Default: all personas."),
    ] = None,
    voices: Annotated[
        bool, typer.Option("--voices", help="Show the hit rate of each persona in the voice check.")
    ] = False,
    corpus: Annotated[
        bool, typer.Option("--corpus", help="Check the personas' conversations in the cast's corpus, too.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check personas: thin parts, copied lines, assistant phrases, similar voices, unusable portraits.

    The voice check leaves out one reply at a time, removes names, and lets the most similar other lines
    vote for its speaker. Exits with 2 when there are findings.

    \b
    Examples:
      rolellm persona check
      rolellm persona check my-persona.yaml
      rolellm persona check --voices --json
      rolellm persona check --corpus sherlock-holmes
    """
    from rolellm_agents.persona import list_personas
    from rolellm_agents.persona.lint import check_personas
    from rolellm_agents.persona.lint.portraits import check_portraits

    listed = list_personas().found
    found = [one for name in personas for one in _named(name)] if personas else listed
    cast, checked = [one.persona for one in listed], [one.persona for one in found]
    own = {persona.id for persona in checked}
    others = [persona for persona in cast if persona.id not in own]
    findings: Sequence[PersonaFinding | CorpusFinding] = [
        *check_personas(checked, others),
        *check_portraits(found),
    ]
    if corpus:
        findings = [*findings, *_corpus_findings(checked)]
    reports = {
        language: report
        for language in ("en", "zh")
        if (report := _voices([*checked, *others], language, own))
    }
    if as_json:
        print_json(_as_json(checked, findings, reports))
    else:
        _print(checked, findings, reports, own if voices or personas else set())
    if findings:
        raise typer.Exit(2)


def _corpus_findings(personas: "Sequence[Persona]") -> "Iterator[CorpusFinding]":
    from rolellm_agents.corpus.checks import check_copies_between, check_corpus
    from rolellm_agents.corpus.location import corpus_folder, read_corpus

    by_id = {persona.id: persona for persona in personas}
    corpora = read_corpus(corpus_folder())
    for one in corpora:
        if one.persona in by_id:
            yield from check_corpus(one, by_id[one.persona])
    yield from (finding for finding in check_copies_between(corpora) if finding.persona in by_id)


def _named(name: str) -> "list[FoundPersona]":
    """The personas of a folder, or the one of an id, a name or a file."""
    from rolellm_agents.errors import PersonaError
    from rolellm_agents.persona import find_persona

    folder = Path(name).expanduser()
    if not folder.is_dir():
        return [find_persona(name)]
    files = sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])
    if not files:
        raise PersonaError(f"There is no persona file in {folder}; name another folder.")
    return [find_persona(file) for file in files]


def _voices(personas: "list[Persona]", language: str, own: set[str]) -> "VoiceReport | None":
    from rolellm_agents.persona.lint.voices import check_voices

    some = [persona for persona in personas if persona.language == language and persona.demonstrations]
    if len(some) < _FEWEST_VOICES or not any(persona.id in own for persona in some):
        return None
    return check_voices(some)


def _as_json(
    checked: "list[Persona]",
    findings: "Sequence[PersonaFinding | CorpusFinding]",
    reports: "dict[str, VoiceReport]",
) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "personas": len(checked),
        "findings": [asdict(finding) for finding in findings],
        "voices": {language: asdict(report) for language, report in reports.items()},
    }


def _print(
    checked: "list[Persona]",
    findings: "Sequence[PersonaFinding | CorpusFinding]",
    reports: "dict[str, VoiceReport]",
    shown: set[str],
) -> None:
    for finding in findings:
        print_text(f"{finding.place}: {finding.message}  [{finding.rule}]")
    found = counted(len(findings), "finding") if findings else "No findings"
    print_text(f"{found} in {counted(len(checked), 'persona')}.")
    for language, report in reports.items():
        print_text(_voices_line(language, report))
        _print_shares(report, shown)


def _voices_line(language: str, report: "VoiceReport") -> str:
    line = (
        f"Voices ({language}): {report.hit_rate:.0%} of {report.replies} replies match their persona among "
        f"{report.personas} (chance {report.chance:.0%})"
    )
    if report.hit_rate_of_five is not None:
        line += f", {report.hit_rate_of_five:.0%} among five (chance 20%)"
    return line + "."


def _print_shares(report: "VoiceReport", shown: set[str]) -> None:
    """Print the hit rate of each persona, lowest first."""
    for name, share in sorted(report.by_persona.items(), key=lambda item: item[1]):
        if name in shown:
            taken = f", mistaken for {report.taken_for[name]}" if name in report.taken_for else ""
            print_text(f"  {share:4.0%}  {name}{taken}")
