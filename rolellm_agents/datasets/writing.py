"""Write samples in the clean form: one schema for all rows, and nothing half-written.

`generated` is a list of answers, `type` a list beside it with one type for each; a row without types has
no `type`. In RoleBench's layout the folders say kind and language; elsewhere the row says its language,
and its kind where the types do not tell it.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from rolellm_agents.datasets.layout import path_in_layout
from rolellm_agents.datasets.reading import kind_told_by
from rolellm_agents.datasets.sample import Part, Sample, Split
from rolellm_agents.datasets.sources import SourceFile
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.files.atomic_write import writing_atomically
from rolellm_agents.text import whole

_LINE_ENDS = {mark: f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}
"""Some programs end a line there."""


def clean(sample: Sample) -> Sample:
    """The sample as it is read again once it was written.

    There is no white space around a reference, and a type for each reference, or none at all: where there
    are several types and another number of references, nobody knows which is whose.
    """
    number = len(sample.references)
    types = sample.types * number if len(sample.types) == 1 else sample.types
    return replace(
        sample,
        references=tuple(map(str.strip, sample.references)),
        types=types if len(types) == number else (),
    )


def row_of_sample(sample: Sample, *, in_layout: bool) -> dict[str, Any]:
    """The clean row, as JSON values.

    Args:
        sample: what is written.
        in_layout: the folders around the file say kind and language.
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
        if sample.kind != kind_told_by(sample.types):
            row["kind"] = sample.kind
    return {**row, **sample.extra}


def json_line(row: Any) -> str:
    """A JSON value as a line, with its end."""
    text = whole(json.dumps(row, ensure_ascii=False))
    for mark, escaped in _LINE_ENDS.items():
        text = text.replace(mark, escaped)
    return text + "\n"


def write_samples(file: Path, samples: Iterable[Sample]) -> int:
    """Write a file that stands alone, whole or not at all; returns how many samples it has.

    Raises:
        RoleBenchError: it cannot be written.
    """
    written = 0
    with writing_atomically(file, RoleBenchError) as out:
        for sample in samples:
            out.write(json_line(row_of_sample(sample, in_layout=False)))
            written += 1
    return written


Put = Callable[[Sample, Split, Part], None]
"""Takes a sample, and where it belongs."""


@contextmanager
def writing_layout(folder: Path) -> Iterator[Put]:
    """Give what takes samples, which lie in RoleBench's layout below `folder` when the block ends well.

    Files of samples that were there before and are not written anew are removed then, so that nothing
    of an older data set stays among the new; other files stay.

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


def free_to_write(out: Path, sources: Iterable[SourceFile], *, replacing: bool) -> Path:
    """The place for a result, once it is sure that nothing is lost there.

    Args:
        out: a file or a folder.
        sources: what the result is made from.
        replacing: what is there already may be replaced.

    Raises:
        RoleBenchError: it is one of the sources or a folder around one, or something is there that may not
            be replaced.
    """
    place = out.resolve()
    for source in sources:
        read = source.path.resolve()
        if place == read or place in read.parents:
            raise RoleBenchError(f"{source.path} is what is read; name another place for the result.")
    try:
        there = any(out.iterdir()) if out.is_dir() else out.exists()
    except OSError as error:
        raise RoleBenchError(f"{out} cannot be looked into: {error.strerror}.") from error
    if there and not replacing:
        raise RoleBenchError(f"{out} is there already; name another place, or use --force to replace it.")
    return out
