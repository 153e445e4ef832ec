"""`rolellm data look`: read generated answers one by one, and accept, edit or reject them."""

import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import click
import typer

from rolellm_tui.cli.options import JsonOption
from rolellm_tui.cli.reading_keys import Step, ask_for_key, read_each
from rolellm_tui.output import print_json, print_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rolellm_agents.datasets import Sample
    from rolellm_agents.datasets.review import Review, ReviewedAnswer

_HELP: Final = "a: accept   e: edit   r: reject   u: undo   q: stop"
_KEYS: Final = "aeruq"
_LEFT_OUT: Final = "left_out.jsonl"


def look(
    source: Annotated[Path, typer.Argument(help="A generator's run, or a JSONL file of samples.")],
    left_out: Annotated[
        bool, typer.Option("--left-out", help="Read the answers that a run left out, with their labels.")
    ] = False,
    label: Annotated[
        list[str] | None, typer.Option("--label", help="Only answers with this label. Repeatable.")
    ] = None,
    reviewer: Annotated[
        str | None, typer.Option("--reviewer", help="Your name in the reviews. Default: your user name.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Write the accepted and edited answers to this file, and exit."),
    ] = None,
    reviewed_only: Annotated[
        bool, typer.Option("--reviewed-only", help="With --out: leave out answers without a review.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Read answers one by one, with their lines and checks; accept, edit or reject each with a key.

    Each review is saved at once in reviews.jsonl, in the run's folder or beside the file. Stop at any
    time; the command continues where you stopped. --out applies the reviews.

    \b
    Examples:
      rolellm data look runs/ci
      rolellm data look runs/ci --left-out --label unsupported
      rolellm data look runs/ci --out reviewed.jsonl --reviewed-only
    """
    from rolellm_agents.datasets.review import read_reviews, reviews_file

    source = source.expanduser()
    samples, file = _samples(source, left_out=left_out), reviews_file(source)
    reviews = read_reviews(file)
    if out is not None:
        _write(samples, reviews, out.expanduser(), reviewed_only=reviewed_only, as_json=as_json)
        return
    _read(samples, file, frozenset(label or ()), reviewer or getpass.getuser())
    print_text(f"The reviews are in {file}. Apply them:  rolellm data look {source} --out reviewed.jsonl")


def _samples(source: Path, *, left_out: bool) -> "list[Sample]":
    from rolellm_agents.datasets import read_samples
    from rolellm_agents.datasets.sources import source_samples
    from rolellm_agents.errors import RoleBenchError

    if not left_out:
        return [sample for _, sample in source_samples(source)]
    if not source.is_dir():
        raise RoleBenchError(f"{source} is a file; --left-out needs the folder of a run.")
    return read_samples(source / _LEFT_OUT)


def _read(samples: "Sequence[Sample]", file: Path, labels: frozenset[str], reviewer: str) -> None:
    from rolellm_agents.datasets.review import Review, answers_to_review, append_review, read_reviews

    answers = answers_to_review(samples)
    items = {one.key: one for one in answers if not labels or labels & {*one.labels}}

    def ask(answer: "ReviewedAnswer") -> "Review | Step":
        _show(answer)
        match ask_for_key(_HELP, _KEYS):
            case "a":
                return Review(answer=answer.key, verdict="accept", reviewer=reviewer)
            case "r":
                return Review(answer=answer.key, verdict="reject", reviewer=reviewer)
            case "e":
                text = _edited(answer.text)
                if text == answer.text:
                    return Review(answer=answer.key, verdict="accept", reviewer=reviewer)
                return Review(answer=answer.key, verdict="edit", text=text, reviewer=reviewer)
            case "u":
                return "undo"
        return "stop"

    def save(key: str, review: "Review | None") -> None:
        append_review(file, review or Review(answer=key, verdict="withdrawn", reviewer=reviewer))

    read_each(items, [key for key in read_reviews(file) if key in items], ask, save)


def _show(answer: "ReviewedAnswer") -> None:
    sample = answer.sample
    passage = sample.extra.get("passage")
    if isinstance(passage, str) and passage:
        print_text(f"{passage}\n")
    print_text(f"> {sample.question.strip()}\n\n{sample.role}: {answer.text}\n")
    facts = [f"{name} {value}" for name, value in answer.checks.items()]
    if facts or answer.labels:
        print_text("   ".join([*answer.labels, *facts]) + "\n")


def _edited(text: str) -> str:
    """The text after editing in $EDITOR; without a terminal, the next line of the input."""
    edited = click.edit(text) if sys.stdin.isatty() else sys.stdin.readline()
    return (edited or "").strip() or text


def _write(
    samples: "Sequence[Sample]",
    reviews: "dict[str, Review]",
    out: Path,
    *,
    reviewed_only: bool,
    as_json: bool,
) -> None:
    from rolellm_agents.datasets.review import ReviewCounts, apply_reviews
    from rolellm_agents.datasets.writing import write_samples

    counts = ReviewCounts()
    rows = write_samples(out, apply_reviews(samples, reviews, counts, reviewed_only=reviewed_only))
    if as_json:
        print_json({"out": str(out), "rows": rows, **counts.by_verdict, "unreviewed": counts.unreviewed})
        return
    found = counts.by_verdict
    print_text(
        f"{found['accept']} answers accepted, {found['edit']} edited, {found['reject']} rejected; "
        f"{counts.unreviewed} without a review were {'left out' if reviewed_only else 'kept'}.\n{out}"
    )
