"""`rolellm data`: generate, merge, split and convert data sets."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rolellm_tui.cli.data import cast as data_cast
from rolellm_tui.cli.data import generate as data_generate
from rolellm_tui.cli.data import look as data_look
from rolellm_tui.cli.data import push as data_push
from rolellm_tui.cli.data import report as data_report
from rolellm_tui.cli.data import verify as data_verify
from rolellm_tui.cli.options import JsonOption, RowPersonaOption, cast_with
from rolellm_tui.cli.renamed import renamed
from rolellm_tui.output import complain, print_json, print_text

if TYPE_CHECKING:
    from rolellm_agents.datasets.conversion import ConversionCounts


class SplitBy(StrEnum):
    """What the test split holds out."""

    instructions = "instructions"
    roles = "roles"


class OutputFormat(StrEnum):
    """Formats of samples."""

    rolebench = "rolebench"
    sharegpt = "sharegpt"
    chatml = "chatml"
    alpaca = "alpaca"
    hf = "hf"


SourceArgument = data_report.SourceArgument
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]

app = typer.Typer(
    name="data",
    help="Generate, check, merge, split and convert data sets.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("context-instruct")(data_generate.context_instruct)
app.command("rolegpt")(data_generate.rolegpt)
app.command("dialogues")(data_generate.dialogues)
app.command("rejection-sampling")(data_generate.sample_and_reject)
app.command("draws", hidden=True)(
    renamed(data_generate.sample_and_reject, "data draws", "data rejection-sampling")
)
app.command("verify")(data_verify.verify)
app.command("look")(data_look.look)
app.command("check")(data_report.check)
app.command("stats")(data_report.stats)
app.command("card")(data_report.card)
app.command("push")(data_push.push)
app.command("cast")(data_cast.cast)


@app.command("merge")
def merge(
    sources: Annotated[
        list[Path], typer.Argument(help="JSONL files, folders of RoleBench, or folders of runs.")
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="A .jsonl file, or a folder, which also gets a manifest.")
    ],
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Merge several sources: one row for each question to a role, with all of its answers.

    Duplicates are removed, and splits are joined. RoleGPT's baselines stay in a file of their own, which
    needs a folder as output.

    \b
    Examples:
      rolellm data merge run-1 run-2 --out merged
      rolellm data merge mine.jsonl ../RoleBench/rolebench-eng --out all.jsonl --json
    """
    from rolellm_agents.datasets.data_sets import merge_sources

    counts = merge_sources([source.expanduser() for source in sources], out.expanduser(), replacing=force)
    if as_json:
        print_json({**counts, "out": str(out)})
        return
    print_text(
        f"{counts['read']:,} rows became {counts['written']:,}: {counts['repeated']:,} were duplicates, "
        f"{counts['joined']:,} added answers to an existing question.\n{out}"
    )


@app.command("split")
def split(
    source: SourceArgument,
    out: Annotated[Path, typer.Option("--out", "-o", help="Output folder, in RoleBench's layout.")],
    by: Annotated[
        SplitBy, typer.Option("--by", help="What the test split holds out.")
    ] = SplitBy.instructions,
    test_share: Annotated[
        float,
        typer.Option("--test-share", min=0.0, max=1.0, help="Share of each role's rows, or of the roles."),
    ] = 0.2,
    seed: Annotated[int, typer.Option("--seed", help="Random seed of the split.")] = 0,
    hold_out: Annotated[
        list[str] | None,
        typer.Option(
            "--hold-out", help="With --by roles: a role for the test. Repeatable.", metavar="ROLE"
        ),
    ] = None,
    embeddings: data_report.EmbeddingsOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Split samples into training and test.

    By instructions, no question of the test occurs in training, not even as a near duplicate or for another
    role; with --embeddings also not in other words. By roles, no role of the test occurs in training. The
    same samples and seed give the same split, whatever the order of the samples. An existing split is
    ignored.

    \b
    Examples:
      rolellm data split run --out dataset
      rolellm data split run --out dataset --embeddings minilm
      rolellm data split merged.jsonl --by roles --test-share 0.1 --seed 7 --out dataset
      rolellm data split merged --by roles --hold-out 'Jack Sparrow' --hold-out Thor --out dataset
    """
    from functools import partial

    from rolellm_agents.datasets.data_sets import split_source
    from rolellm_agents.datasets.provenance import DatasetProvenance
    from rolellm_agents.datasets.splitting import split_by_instructions, split_by_roles
    from rolellm_agents.errors import RoleBenchError

    if hold_out and by is not SplitBy.roles:
        raise RoleBenchError("--hold-out requires --by roles.")
    if embeddings and by is SplitBy.roles:
        raise RoleBenchError("--embeddings requires --by instructions.")
    settings: dict[str, Any] = {"by": by.value, "test_share": test_share, "seed": seed}
    if by is SplitBy.roles:
        decide = partial(split_by_roles, test_share=test_share, seed=seed, hold_out=hold_out or ())
        making = DatasetProvenance("rolellm data split", {**settings, "hold_out": hold_out or []})
        counts = split_source(source.expanduser(), out.expanduser(), decide, making, replacing=force)
    else:
        same = data_report.paraphrases_by(embeddings)
        chosen = partial(split_by_instructions, test_share=test_share, seed=seed, paraphrases=same)
        settings = {**settings, "embeddings": embeddings} if embeddings else settings
        making = DatasetProvenance("rolellm data split", settings)
        counts = split_source(source.expanduser(), out.expanduser(), chosen, making, replacing=force)
    if as_json:
        print_json({**settings, **counts, "out": str(out)})
        return
    baselines = counts.get("rolegpt_baseline", 0)
    print_text(
        f"{counts['train']:,} rows to train on, {counts['test']:,} to test with"
        + (f", {baselines:,} of RoleGPT's baselines" if baselines else "")
        + f".\n{out}\n\nCheck:  rolellm data check {out}"
    )


@app.command("convert")
def convert(
    source: SourceArgument,
    to: Annotated[OutputFormat, typer.Option("--to", help="Format of the result.")],
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Output file, or a folder if the source has several files.")
    ],
    from_: Annotated[
        OutputFormat | None,
        typer.Option("--from", help="Format of the source. Default: detected from its rows."),
    ] = None,
    role: Annotated[str | None, typer.Option("--role", help="Role of rows that name none.")] = None,
    system: Annotated[
        bool,
        typer.Option("--system/--no-system", help="Put the persona's instruction before the turns."),
    ] = True,
    persona: RowPersonaOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Convert samples to and from the formats of trainers.

    ShareGPT, ChatML (a list of messages) and Alpaca have one row per answer. If the role has a persona, the
    row starts with the instruction of the strategy `system`. hf is a folder for Hugging Face's `datasets`,
    which must be installed.

    \b
    Examples:
      rolellm data convert dataset --to chatml --out chatml
      rolellm data convert samples.jsonl --to sharegpt --out sharegpt.jsonl
      rolellm data convert alpaca.json --from alpaca --role Thor --to rolebench --out thor.jsonl
      rolellm data convert runs/ci --to chatml --persona ./holmes.yaml --out chatml
      rolellm data convert dataset --to hf --out hf
    """
    from rolellm_agents.datasets.conversion import convert_source
    from rolellm_agents.datasets.instructions import SystemInstructions

    cast = cast_with(persona) if system else []
    counts = convert_source(
        source.expanduser(),
        out.expanduser(),
        to=to.value,
        source_form=from_.value if from_ else None,
        role=role,
        instruction=SystemInstructions(cast),
        replacing=force,
    )
    if as_json:
        print_json(
            {
                "samples": counts.samples,
                "rows": counts.rows,
                "left_out": counts.left_out,
                "without_instruction": dict(counts.without_instruction) if system else {},
                "out": str(out),
            }
        )
        return
    _warn_of_gaps(counts, with_instructions=system)
    print_text(f"{counts.samples:,} samples in {counts.rows:,} rows.\n{out}")


def _warn_of_gaps(counts: "ConversionCounts", *, with_instructions: bool) -> None:
    if counts.left_out:
        complain(f"{counts.left_out:,} rows are not a single question with an answer and were left out.")
    if with_instructions and counts.without_instruction:
        names = ", ".join(role for role, _ in counts.without_instruction.most_common(3))
        complain(
            f"{counts.without_instruction.total():,} samples have no instruction, because "
            f"{len(counts.without_instruction)} roles are not in the cast ({names}); “rolellm persona "
            "build” creates a persona."
        )
