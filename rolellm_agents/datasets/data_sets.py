"""Make a data set of others on disk: merged into one file, or split into training and test."""

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
from rolellm_agents.datasets.writing import free_to_write, write_samples, writing_layout


def merge_sources(sources: Sequence[Path], out: Path, *, replacing: bool = False) -> dict[str, int]:
    """Merge all samples of some sources, RoleGPT's baselines apart from the others.

    Args:
        sources: files or folders; parts of a split lose what part they were.
        out: a `.jsonl` file, for the samples alone; or a folder, in which the baselines lie beside them,
            one for each question, and a manifest keeps what the sources say of themselves.
        replacing: what is there already may be replaced.

    Returns:
        How many rows were read, written, repeated and joined, and how many baselines written.

    Raises:
        RoleBenchError: a source cannot be read, or the result cannot be written.
    """
    files = list(chain.from_iterable(source_files(source) for source in sources))
    free_to_write(out, files, replacing=replacing)
    used = [file for file in files if file.part != BASELINE]
    counts = MergeCounts()
    merged = merge_samples(lambda: chain.from_iterable(file.samples() for file in used), counts)
    if out.suffix == ".jsonl":
        write_samples(out, merged)
        return {**asdict(counts), "baselines": 0}
    write_samples(out / RUN_SAMPLES, merged)
    baselines = [file for file in files if file.part == BASELINE]
    told = {**asdict(counts), "baselines": _merge_baselines(baselines, out / BASELINES)}
    write_manifest(out, [*sources], DatasetProvenance("rolellm data merge", {}), told)
    return told


def _merge_baselines(files: Sequence[SourceFile], out: Path) -> int:
    """Write the first of each question; returns how many there are."""
    if not files:
        out.unlink(missing_ok=True)
        return 0
    merged = merge_samples(lambda: chain.from_iterable(file.samples() for file in files), MergeCounts())
    return write_samples(
        out, (replace(one, references=one.references[:1], types=one.types[:1]) for one in merged)
    )


def split_source(
    source: Path,
    out: Path,
    decide: Callable[[Iterable[Sample]], InstructionSplit | RoleSplit],
    making: DatasetProvenance,
    *,
    replacing: bool = False,
) -> dict[str, int]:
    """Write a source's samples as training and test, in RoleBench's layout below `out`.

    Of RoleGPT's baselines the answers to the new test go with it; the others are left out.

    Args:
        source: a file or a folder; what was split before is split anew.
        out: a folder.
        decide: which samples are the test; it is given all but the baselines, once.
        making: how that is decided, for the manifest.
        replacing: what is there already may be replaced.

    Returns:
        How many rows each part has, and how many baselines were left out.

    Raises:
        RoleBenchError: the source cannot be read or split, or the result cannot be written.
    """
    files = source_files(source)
    free_to_write(out, files, replacing=replacing)
    decided = decide(sample for file, sample in _samples(files) if file.part != BASELINE)
    counts: Counter[str] = Counter(train=0, test=0)
    with writing_layout(out) as put:
        for file, sample in _samples(files):
            part = _part(file, sample, decided)
            counts[part or "baseline_left_out"] += 1
            if part:
                put(sample, decided.split, part)
    write_manifest(out, [source], making, dict(counts))
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
