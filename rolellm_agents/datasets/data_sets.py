"""Merge data sets on disk, or split one into training and test."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path

from rolellm_agents.datasets.merging import MergeCounts, merge_samples
from rolellm_agents.datasets.provenance import DatasetProvenance, write_manifest
from rolellm_agents.datasets.sample import Part, Sample
from rolellm_agents.datasets.sources import BASELINE, BASELINES, RUN_SAMPLES, SourceFile, source_files
from rolellm_agents.datasets.splitting import InstructionSplit, RoleSplit
from rolellm_agents.datasets.writing import check_writable, write_samples, writing_layout


def merge_sources(sources: Sequence[Path], out: Path, *, replacing: bool = False) -> dict[str, int]:
    """Merge the samples of several sources; RoleGPT's baselines stay separate.

    The parts of a split are merged. `out` is a `.jsonl` file for the samples alone; or a folder, which also
    gets one baseline for each question and a manifest with the provenance of the sources.

    Returns:
        The numbers of rows read, written, repeated and joined, and of baselines written.

    Raises:
        RoleBenchError: a source cannot be read, or the result cannot be written.
    """
    files = list(chain.from_iterable(source_files(source) for source in sources))
    check_writable(out, files, replacing=replacing)
    used = [file for file in files if file.part != BASELINE]
    counts = MergeCounts()
    merged = merge_samples(lambda: chain.from_iterable(file.samples() for file in used), counts)
    if out.suffix == ".jsonl":
        write_samples(out, merged)
        return {**asdict(counts), "baselines": 0}
    write_samples(out / RUN_SAMPLES, merged)
    baselines = [file for file in files if file.part == BASELINE]
    report = {**asdict(counts), "baselines": _merge_baselines(baselines, out / BASELINES)}
    write_manifest(out, [*sources], DatasetProvenance("rolellm data merge", {}), report)
    return report


def _merge_baselines(files: Sequence[SourceFile], out: Path) -> int:
    """Write the first baseline of each question and return their number."""
    if not files:
        out.unlink(missing_ok=True)
        return 0
    merged = merge_samples(lambda: chain.from_iterable(file.samples() for file in files), MergeCounts())
    return write_samples(
        out,
        (replace(sample, references=sample.references[:1], types=sample.types[:1]) for sample in merged),
    )


def split_source(
    source: Path,
    out: Path,
    decide: Callable[[Iterable[Sample]], InstructionSplit | RoleSplit],
    provenance: DatasetProvenance,
    *,
    replacing: bool = False,
) -> dict[str, int]:
    """Write a source's samples as training and test, in RoleBench's layout below `out`.

    RoleGPT's answers to the new test are written beside it; its other answers are left out.

    An existing split of the source is ignored. `decide` chooses the test from all samples except the
    baselines; `provenance` says in the manifest how the split was made.

    Returns:
        The number of rows of each part, and of the baselines that were left out.

    Raises:
        RoleBenchError: the source cannot be read or split, or the result cannot be written.
    """
    files = source_files(source)
    check_writable(out, files, replacing=replacing)
    decided = decide(sample for file, sample in _samples(files) if file.part != BASELINE)
    counts: Counter[str] = Counter(train=0, test=0)
    with writing_layout(out) as put:
        for file, sample in _samples(files):
            part = _part(file, sample, decided)
            counts[part or "baseline_left_out"] += 1
            if part:
                put(sample, decided.split, part)
    write_manifest(out, [source], provenance, dict(counts))
    return dict(counts)


def _samples(files: Sequence[SourceFile]) -> Iterator[tuple[SourceFile, Sample]]:
    for file in files:
        for sample in file.samples():
            yield file, sample


def _part(file: SourceFile, sample: Sample, decided: InstructionSplit | RoleSplit) -> Part | None:
    is_test = decided.is_test(sample)
    if file.part == BASELINE:
        return BASELINE if is_test else None
    return "test" if is_test else "train"
