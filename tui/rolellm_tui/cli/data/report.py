"""`rolellm data check`, `stats` and `card`: faults, figures and the card of a data set."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.output import print_json, print_table, print_text

if TYPE_CHECKING:
    from rolellm_agents.datasets.checking import DatasetReport
    from rolellm_agents.datasets.checking.finding import DatasetFinding
    from rolellm_agents.datasets.paraphrases import Paraphrases
    from rolellm_agents.datasets.statistics import Group
    from rolellm_agents.persona import Persona

_EXAMPLES = 3
_SHOWN = 140

SourceArgument = Annotated[
    Path, typer.Argument(help="A JSONL file, a folder in RoleBench's layout, or a run's folder.")
]


EmbeddingsOption = Annotated[
    str | None,
    typer.Option(
        "--embeddings",
        help="Also compare the meaning of questions, by these embeddings: minilm, huggingface:FOLDER or "
        "openai:MODEL.",
        metavar="NAME",
    ),
]


def check(source: SourceArgument, embeddings: EmbeddingsOption = None, as_json: JsonOption = False) -> None:
    """Check a data set: leaks between training and test, invalid rows, faulty answers.

    Prints counts for each rule and file with three examples; --json lists all. Exits with 1 when training
    data leaks into the test or a row is invalid. With --embeddings, a test question that training asks in
    other words is a leak too.

    \b
    Examples:
      rolellm data check dataset
      rolellm data check dataset --embeddings minilm
      rolellm data check ../RoleBench --json
    """
    from rolellm_agents.datasets.checking import check_source

    cast = {persona.name: persona.language for persona in _cast()}
    report = check_source(source.expanduser(), cast, paraphrases=paraphrases_by(embeddings))
    if as_json:
        print_json(report.as_json())
    else:
        _print_report(report)
    if not report.is_usable:
        raise typer.Exit(1)


def stats(
    source: SourceArgument,
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Plot the lengths to a .svg or .png file.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Count roles, samples and instructions and measure their lengths, as in the paper's Table 1.

    Lengths are in words, for Chinese in characters.

    \b
    Examples:
      rolellm data stats dataset
      rolellm data stats run --plot lengths.svg --json
    """
    from rolellm_agents.datasets.sources import source_samples
    from rolellm_agents.datasets.statistics import count_samples

    groups = count_samples((file.part, sample) for file, sample in source_samples(source.expanduser()))
    if plot is not None:
        from rolellm_agents.datasets.length_chart import write_chart

        write_chart(plot.expanduser(), groups)
    if as_json:
        print_json([group.as_json() for group in groups])
    else:
        _print_groups(groups)


def card(
    source: SourceArgument,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Output file. Default: standard output.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", help="Name of the data set. Default: the name of its file or folder."),
    ] = None,
    licence: Annotated[
        str, typer.Option("--licence", help="Licence identifier of Hugging Face, such as apache-2.0.")
    ] = "unknown",
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a data set card: sources, statistics, faults and limitations.

    The card is Markdown with Hugging Face's YAML header. It is made from the samples and the manifest of a
    run or of “data split”.

    \b
    Examples:
      rolellm data card dataset --licence cc-by-4.0 --out dataset/README.md
      rolellm data card run
    """
    from rolellm_agents.datasets.data_card import card_facts, data_card
    from rolellm_agents.errors import RoleBenchError
    from rolellm_agents.files.atomic_write import write_atomically

    if out is not None and out.expanduser().exists() and not force:
        raise RoleBenchError(f"{out} already exists; name another file, or overwrite it with --force.")
    text = data_card(card_facts(source.expanduser(), _cast(), name=name, licence=licence))
    if out is None:
        print_text(text, end="")
    else:
        write_atomically(out.expanduser(), text, RoleBenchError)
        print_text(str(out))


def paraphrases_by(embeddings: str | None) -> "Paraphrases | None":
    """The function that finds paraphrases by these embeddings; None without embeddings.

    Raises:
        ModelError: there are no embeddings of this name, or they cannot be used here.
    """
    if embeddings is None:
        return None
    from functools import partial

    from rolellm_agents.datasets.paraphrases import paraphrases
    from rolellm_agents.recall.embeddings import get_embeddings

    return partial(paraphrases, embed=get_embeddings(embeddings).embed)


def _cast() -> "list[Persona]":
    from rolellm_agents.persona import list_personas

    return [found.persona for found in list_personas().found]


def _print_report(report: "DatasetReport") -> None:
    rows = sum(report.files.values())
    files = "file" if len(report.files) == 1 else "files"
    if not report.findings:
        print_text(f"No faults in {rows:,} rows of {len(report.files)} {files}.")
        return
    print_table(
        ("SEVERITY", "COUNT", "RULE", "FILE"),
        ((one.severity, f"{one.count:,}", one.rule, one.file) for one in report.findings),
    )
    for rule, group in groupby(report.findings, key=lambda finding: finding.rule):
        findings = list(group)
        print_text(f"\n{rule}: {findings[0].description}")
        for finding in findings:
            _print_examples(finding)
    leaks, broken = (
        sum(one.count for one in report.findings if one.severity == severity)
        for severity in ("leak", "schema")
    )
    print_text(
        f"\n{rows:,} rows of {len(report.files)} {files}: {leaks:,} leak, {broken:,} are invalid; "
        "--json lists all findings."
    )


def _print_examples(finding: "DatasetFinding") -> None:
    from rolellm_agents.text import one_line

    for spot in finding.spots[:_EXAMPLES]:
        place = f"{finding.file}:{spot.line}" if spot.line else finding.file
        beside = f" (see {spot.other})" if spot.other else ""
        print_text(f"  {place}{beside}\n    {one_line(spot.shown, _SHOWN)}")


def _print_groups(groups: "Sequence[Group]") -> None:
    print_table(
        (
            *(
                "LANGUAGE",
                "KIND",
                "ROLES",
                "SAMPLES",
                "INSTRUCTIONS",
                "ANSWERS",
                "TRAIN",
                "TEST",
                "BASELINE",
            ),
            *("WORDS/INSTRUCTION", "(P95)", "WORDS/ANSWER", "(P95)", "TYPES"),
        ),
        (_group_row(group) for group in groups),
    )


def _group_row(group: "Group") -> list[str]:
    questions, answers = group.instruction_lengths, group.answer_lengths
    numbers = [group.roles, group.samples, group.instructions, group.answers]
    parts = [group.parts.get(part, 0) for part in ("train", "test", "rolegpt_baseline")]
    return [
        group.language,
        group.kind.replace("_", "-"),
        *(f"{number:,}" for number in (*numbers, *parts)),
        f"{questions.mean:.2f}",
        str(questions.at(0.95)),
        f"{answers.mean:.2f}",
        str(answers.at(0.95)),
        ", ".join(f"{name} {number:,}" for name, number in sorted(group.types.items())),
    ]
