"""Write samples in the clean form, which has one schema for all rows.

`generated` is a list of answers and `type` a list with one type for each; a row without types has no
`type`. In RoleBench's layout the folders give kind and language. Elsewhere a row has its language, and its
kind where the types do not give it. Files are written atomically.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rolellm_agents.datasets.layout import path_in_layout
from rolellm_agents.datasets.reading import kind_from_types
from rolellm_agents.datasets.sample import Part, Sample, Split
from rolellm_agents.datasets.sources import SourceFile
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.files.atomic_write import writing_atomically
from rolellm_agents.text import replace_surrogates

_LINE_ENDS = {mark: f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}
"""Characters at which some programs end a line."""


def clean(sample: Sample) -> Sample:
    """Normalise a sample, so that writing and reading it does not change it.

    White space around references is removed. Either each reference has a type or none has: types are
    dropped if their number is neither 1 nor that of the references.
    """
    number = len(sample.references)
    types = sample.types * number if len(sample.types) == 1 else sample.types
    return replace(
        sample,
        references=tuple(map(str.strip, sample.references)),
        types=types if len(types) == number else (),
    )


def row_of_sample(sample: Sample, *, in_layout: bool) -> dict[str, Any]:
    """The clean row as JSON values.

    `in_layout` says whether the folders around the file give kind and language.
    """
    sample = clean(sample)
    row: dict[str, Any] = {
        "role": sample.role,
        "question": sample.question,
        "generated": list(sample.references),
    }
    if sample.types:
        row["type"] = list(sample.types)
    if not in_layout:
        row["language"] = sample.language
        if sample.kind != kind_from_types(sample.types):
            row["kind"] = sample.kind
    return {**row, **sample.extra}


def json_line(row: Any) -> str:
    """A JSON value as a line with its line break."""
    text = replace_surrogates(json.dumps(row, ensure_ascii=False))
    for mark, escaped in _LINE_ENDS.items():
        text = text.replace(mark, escaped)
    return text + "\n"


def write_samples(file: Path, samples: Iterable[Sample]) -> int:
    """Write a file outside the layout atomically, and return the number of samples.

    Raises:
        RoleBenchError: the file cannot be written.
    """
    written = 0
    with writing_atomically(file, RoleBenchError) as out:
        for sample in samples:
            out.write(json_line(row_of_sample(sample, in_layout=False)))
            written += 1
    return written


Put = Callable[[Sample, Split, Part], None]
"""Writes a sample to the file of a split's part."""


@contextmanager
def writing_layout(folder: Path) -> Iterator[Put]:
    """Yield a function that writes samples in RoleBench's layout below `folder`.

    The files appear when the block ends without an error. Then older files of samples that were not
    replaced are removed; other files stay.

    Raises:
        RoleBenchError: a file cannot be written.
    """
    before = {path for path in folder.glob("rolebench-*/**/*.jsonl") if path.is_file()}
    with ExitStack() as files:
        opened: dict[Path, Any] = {}

        def put(sample: Sample, split: Split, part: Part) -> None:
            path = folder / path_in_layout(sample.language, split, sample.kind, part)
            if path not in opened:
                opened[path] = files.enter_context(writing_atomically(path, RoleBenchError))
            opened[path].write(json_line(row_of_sample(sample, in_layout=True)))

        yield put
    for stale in before - set(opened):
        stale.unlink(missing_ok=True)


def check_writable(out: Path, sources: Iterable[SourceFile], *, replacing: bool) -> Path:
    """Return `out` if a result can be written there without overwriting anything that must be kept.

    Raises:
        RoleBenchError: `out` is a source or contains one, or it exists and must not be replaced.
    """
    place = out.resolve()
    for source in sources:
        read = source.path.resolve()
        if place == read or place in read.parents:
            raise RoleBenchError(f"{source.path} is the source; name another place for the result.")
    try:
        there = any(out.iterdir()) if out.is_dir() else out.exists()
    except OSError as error:
        raise RoleBenchError(f"{out} cannot be read: {error.strerror}.") from error
    if there and not replacing:
        raise RoleBenchError(f"{out} exists already; name another place, or use --force to replace it.")
    return out
