"""Sources of samples: a file, a folder in RoleBench's layout, or the folder of a generator's run."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rolellm_agents.datasets.layout import PARTS, LayoutPlace, place_of
from rolellm_agents.datasets.reading import iter_samples
from rolellm_agents.datasets.sample import Part, Sample
from rolellm_agents.errors import RoleBenchError

RUN_SAMPLES: Final = "samples.jsonl"
"""In the folder of a run: the rows that passed its filters."""
BASELINE: Final[Part] = "rolegpt_baseline"
BASELINES: Final = f"{BASELINE}.jsonl"
"""In the folder of a run: RoleGPT's answers, as a baseline."""
_DEPTH = 4
"""Levels of folders that are searched, from RoleBench's root."""
_PARTS: Final[dict[str, Part]] = {part: part for part in PARTS}


@dataclass(frozen=True)
class SourceFile:
    """A file of samples and its place in RoleBench's layout."""

    path: Path
    name: str
    """The path relative to the source; the file's name if the source is a file."""
    place: LayoutPlace
    part: Part | None
    """None for a file that is not named after a part."""

    def samples(self) -> Iterator[Sample]:
        """Iterate over the samples.

        Raises:
            RoleBenchError: as `iter_samples`.
        """
        return iter_samples(self.path)


def source_files(source: Path) -> list[SourceFile]:
    """The files of a source, ordered by name.

    Raises:
        RoleBenchError: the source does not exist, cannot be read, or has no samples.
    """
    try:
        if source.is_file():
            return [_source_file(source, source.name)]
        if not source.is_dir():
            raise RoleBenchError(
                f"There is no {source}; name a JSONL file of samples, a folder of RoleBench, or a run's."
            )
        found = _files_below(source)
    except OSError as error:
        raise RoleBenchError(f"{source} cannot be read: {error.strerror}.") from error
    if not found:
        raise RoleBenchError(_none_in(source))
    return [_source_file(path, path.relative_to(source).as_posix()) for path in found]


def source_samples(source: Path) -> Iterator[tuple[SourceFile, Sample]]:
    """All samples of a source with their files.

    Raises:
        RoleBenchError: as `source_files` and `iter_samples`.
    """
    for file in source_files(source):
        for sample in file.samples():
            yield file, sample


def _files_below(folder: Path) -> list[Path]:
    if (folder / RUN_SAMPLES).is_file():
        baselines = folder / BASELINES
        answered = baselines.is_file() and baselines.stat().st_size
        return [folder / RUN_SAMPLES, *([baselines] if answered else [])]
    names = {f"{part}.jsonl" for part in PARTS}
    levels = ("/".join(["*"] * depth + ["*.jsonl"]) for depth in range(_DEPTH))
    return sorted(path for level in levels for path in folder.glob(level) if path.name in names)


def _none_in(folder: Path) -> str:
    if (folder / "config.json").is_file():
        return (
            f"The run in {folder} has no {RUN_SAMPLES} yet; run the command that started it "
            "again to continue it."
        )
    return (
        f"{folder} holds no samples; name a JSONL file, a folder with RoleBench's train.jsonl and "
        "test.jsonl, or the folder of a run."
    )


def _source_file(path: Path, name: str) -> SourceFile:
    return SourceFile(path, name, place_of(path), _PARTS.get(path.stem))
