"""Convert a run's items to samples: clean rows in RoleBench's format, and faulty rows with labels."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from rolellm_agents.datasets.near_duplicates import near_groups
from rolellm_agents.datasets.row_personas import PERSONA, VERSION
from rolellm_agents.datasets.writing import json_line
from rolellm_agents.errors import StorageError
from rolellm_agents.files.atomic_write import writing_atomically
from rolellm_agents.reply_checks.labels import MARKS

PASSAGE: Final = "passage"
"""The field of a row with the lines that its answers are based on."""

Part = Literal["samples", "left_out", "rolegpt_baseline"]
"""The files: clean rows, rows with a fault, and RoleGPT's answers as a baseline."""


@dataclass(frozen=True)
class SampleRow:
    """One line of one file."""

    part: Part
    sample: Mapping[str, Any]


@dataclass(frozen=True)
class SamplesWritten:
    """Counts of the written rows and labels."""

    rows: Counter[Part] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    """Number of rows with each label."""


def context_rows(items: Sequence[Mapping[str, Any]]) -> Iterator[SampleRow]:
    """Yield the rows of one character: questions with their answers, and unreadable answers.

    Of near-duplicate clean questions, all but the first are labelled `near-duplicate`.

    Args:
        items: The finished items, in the plan's order.
    """
    samples = [_context_sample(item) for item in items if "answer" in item or "unread" in item]
    clean = [sample for sample in samples if not _faults(sample["labels"])]
    # Nearly all questions contain the name, so it does not distinguish them.
    for group in near_groups([sample["question"].replace(sample["role"], "") for sample in clean]):
        for place in group[1:]:
            clean[place]["labels"].append("near-duplicate")
    for sample in samples:
        yield SampleRow("left_out" if _faults(sample["labels"]) else "samples", sample)


def _context_sample(item: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **_about(item),
        "question": item.get("question", ""),
        "generated": [item["answer"] if "answer" in item else item["unread"]],
        "type": [_TYPES[item["kind"]]],
        "language": item["language"],
        **({PASSAGE: item[PASSAGE]} if item.get(PASSAGE) else {}),
        **({"attributes": item["attributes"]} if item.get("attributes") else {}),
        "labels": list(item["labels"]) if "answer" in item else ["unreadable"],
    }


_TYPES: Final = {
    "script_based": "script_based",
    "script_agnostic": "script_agnostic",
    # RoleBench has no type for boundary questions; the label marks them.
    "boundary": "script_agnostic",
}


def rolegpt_rows(items: Sequence[Mapping[str, Any] | None]) -> Iterator[SampleRow]:
    """The rows of one character's answers to one instruction: references, baseline and faulty answers.

    The last answer is the baseline, as in RoleBench, where RoleGPT's part is one answer of six.

    Args:
        items: the answers in order; None is an answer that is still missing.
    """
    *others, last = items if len(items) > 1 else (*items, None)
    references: list[str] = []
    marks: dict[str, None] = {}
    for item in others:
        if item is None:
            continue
        if _faults(item["labels"]):
            yield _general_row("left_out", item, [item["answer"]], item["labels"])
        elif item["answer"] in references:
            yield _general_row("left_out", item, [item["answer"]], ["near-duplicate"])
        else:
            references.append(item["answer"])
            marks |= dict.fromkeys(item["labels"])
    first = next((item for item in others if item is not None), None)
    if first is not None and references:
        yield _general_row("samples", first, references, [*marks])
    if last is not None:
        part: Part = "left_out" if _faults(last["labels"]) else "rolegpt_baseline"
        yield _general_row(part, last, [last["answer"]], last["labels"])


def _general_row(
    part: Part, item: Mapping[str, Any], generated: list[str], labels: Sequence[str]
) -> SampleRow:
    # No `type`, because a `type` marks RoleBench's role-specific rows.
    row = {
        **_about(item),
        "question": item["question"],
        "generated": generated,
        "language": item["language"],
        "strategy": item["strategy"],
        "labels": list(labels),
    }
    return SampleRow(part, row)


def _about(item: Mapping[str, Any]) -> dict[str, Any]:
    # Items of earlier releases have no version.
    return {key: item[key] for key in ("role", PERSONA, VERSION) if key in item}


def _faults(labels: Iterable[str]) -> bool:
    return any(label not in MARKS for label in labels)


def write_rows(folder: Path, rows: Iterable[SampleRow], parts: Sequence[Part]) -> SamplesWritten:
    """Write all files atomically; on an error existing files are kept.

    The rows are in order; `parts` are the files to write, including files without rows.

    Raises:
        StorageError: the disk is full or read-only.
    """
    written = SamplesWritten(Counter(dict.fromkeys(parts, 0)))
    with ExitStack() as open_files:
        files = {
            part: open_files.enter_context(writing_atomically(folder / f"{part}.jsonl", StorageError))
            for part in parts
        }
        for row in rows:
            files[row.part].write(json_line(row.sample))
            written.rows[row.part] += 1
            written.labels.update(row.sample["labels"])
    return written
