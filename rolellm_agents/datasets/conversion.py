"""Convert samples between RoleBench's form, ShareGPT, ChatML messages, Alpaca and `datasets`."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal, get_args

from rolellm_agents.datasets.chat_forms import FORMS, rows_of, samples_of
from rolellm_agents.datasets.hugging_face import is_hf_folder, read_hf, write_hf
from rolellm_agents.datasets.layout import place_of
from rolellm_agents.datasets.reading import describe_error, fields_of, iter_samples, numbered_lines
from rolellm_agents.datasets.sample import Sample
from rolellm_agents.datasets.sources import SourceFile, source_files
from rolellm_agents.datasets.writing import check_writable, json_line, row_of_sample
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.files.atomic_write import writing_atomically

FormName = Literal["rolebench", "sharegpt", "chatml", "alpaca", "hf"]
_FORM_NAMES: Final[tuple[FormName, ...]] = get_args(FormName)
_ROLEBENCH_KEYS: Final = frozenset({"role", "question", "generated"})


@dataclass(frozen=True)
class Stream:
    """Samples that stay together, for example those of a file."""

    name: str
    """The file's path relative to the source."""
    samples: Callable[[], Iterator[Sample]]
    """Returns a new iterator at each call."""


@dataclass
class ConversionCounts:
    """Progress of a conversion."""

    samples: int = 0
    rows: int = 0
    """Written rows; most forms have one for each answer."""
    left_out: int = 0
    """Rows that are not a single turn."""
    without_instruction: Counter[str] = field(default_factory=Counter)
    """Samples of roles without a persona in the cast, by role."""


Instruction = Callable[[Sample], str]
"""Returns the instruction of a sample's persona; empty for none."""


def open_source(
    source: Path,
    form: FormName | None,
    counts: ConversionCounts,
    *,
    role: str | None = None,
    instruction: Instruction = lambda _: "",
) -> list[Stream]:
    """Open a source in any form.

    The source is a file, or a folder with files or with a Hugging Face data set; its form is recognised
    from the first row when None. `counts` counts the rows that are left out. `role` is that of rows that
    have none; a row's instruction is kept if it differs from that of the persona.

    Raises:
        RoleBenchError: the source cannot be read, or its form is unknown.
    """
    if form == "hf" or (form is None and is_hf_folder(source)):
        return [Stream(f"{name}.jsonl", samples) for name, samples in read_hf(source).items()]
    streams = []
    for file in source_files(source):
        named = form or _form_of(file)
        read = (
            partial(iter_samples, file.path)
            if named == "rolebench"
            else partial(_read_rows, file.path, named, counts, role, instruction)
        )
        streams.append(Stream(file.name, read))
    return streams


def write_form(
    streams: Sequence[Stream],
    form: FormName,
    out: Path,
    counts: ConversionCounts,
    instruction: Instruction = lambda _: "",
) -> None:
    """Write samples in a form.

    `out` is a file, if there is one stream and `out` has a suffix; otherwise a folder, in which the files
    have the names of the streams. `counts` is updated for each sample; `instruction` returns the
    instruction before the turns.

    Raises:
        RoleBenchError: the samples cannot be read, or the result cannot be written.
    """
    if form == "hf":
        _write_hf(streams, out, counts)
        return
    alone = len(streams) == 1 and out.suffix
    for stream in streams:
        path = out if alone else out / PurePosixPath(stream.name)
        with writing_atomically(path, RoleBenchError) as file:
            for sample in stream.samples():
                for row in _rows(sample, form, path, counts, instruction):
                    counts.rows += 1
                    file.write(json_line(row))
                counts.samples += 1


def convert_source(
    source: Path,
    out: Path,
    *,
    to: FormName,
    source_form: FormName | None = None,
    role: str | None = None,
    instruction: Instruction = lambda _: "",
    replacing: bool = False,
) -> ConversionCounts:
    """Read a source in one form and write it in another, as `open_source` and `write_form` do.

    Raises:
        RoleBenchError: as there; or `out` exists already or is the source.
    """
    counts = ConversionCounts()
    streams = open_source(source, source_form, counts, role=role, instruction=instruction)
    read = [SourceFile(source, source.name, place_of(source), None)]
    check_writable(out, read if is_hf_folder(source) else source_files(source), replacing=replacing)
    write_form(streams, to, out, counts, instruction)
    return counts


def _rows(
    sample: Sample, form: FormName, path: Path, counts: ConversionCounts, instruction: Instruction
) -> Iterator[dict[str, Any]]:
    if form == "rolebench":
        place = place_of(path)
        yield row_of_sample(sample, in_layout=bool(place.kind and place.language))
        return
    system = instruction(sample)
    if not system:
        counts.without_instruction[sample.role] += 1
    yield from rows_of(sample, counts.samples, system, FORMS[form])


def _read_rows(
    path: Path, form: str, counts: ConversionCounts, role: str | None, instruction: Instruction
) -> Iterator[Sample]:
    number = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal number
        for at, row in _objects(path):
            number = at
            yield row

    try:
        for sample in samples_of(rows(), FORMS[form], role=role, instruction=instruction):
            if sample is None:
                counts.left_out += 1
            else:
                yield sample
    except ValueError as error:
        raise RoleBenchError(
            f"{path}, row {number}: {describe_error(error)}; correct it, or name the role with --role."
        ) from error


def _objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows of a JSONL file or of a JSON list, with their numbers."""
    for number, line in numbered_lines(path):
        if number == 1 and line.startswith(b"["):
            yield from enumerate(_list_in(path), 1)
            return
        try:
            yield number, fields_of(line)
        except (ValueError, RecursionError) as error:
            raise RoleBenchError(
                f"{path}, line {number}: {describe_error(error)}; correct the line or remove it."
            ) from error


def _list_in(path: Path) -> list[dict[str, Any]]:
    try:
        content = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError) as error:
        raise RoleBenchError(f"{path} is a list that cannot be read: {describe_error(error)}.") from error
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise RoleBenchError(f"{path} is a list, but not of rows; name a file of samples.")
    return content


def _form_of(file: SourceFile) -> FormName:
    for _, row in _objects(file.path):
        if row.keys() >= _ROLEBENCH_KEYS:
            return "rolebench"
        for name in _FORM_NAMES:
            if name in FORMS and row.keys() >= FORMS[name].keys:
                return name
        break
    raise RoleBenchError(
        f"The first row of {file.path} has no known format; name it with --from: {', '.join(_FORM_NAMES)}."
    )


def _write_hf(streams: Sequence[Stream], out: Path, counts: ConversionCounts) -> None:
    """Write one data set for each split, so that training never mixes with another split's test."""
    parts: dict[str, dict[str, list[Stream]]] = {}
    for stream in streams:
        split = str(place_of(Path(stream.name)).split or "")
        parts.setdefault(split, {}).setdefault(PurePosixPath(stream.name).stem, []).append(stream)
    for split, named in parts.items():
        folder = out / split if len(parts) > 1 else out
        counted = {name: partial(_counted, tuple(those), counts) for name, those in named.items()}
        write_hf(folder, counted)


def _counted(streams: Sequence[Stream], counts: ConversionCounts) -> Iterator[Sample]:
    for stream in streams:
        for sample in stream.samples():
            counts.samples += 1
            counts.rows += 1
            yield sample
