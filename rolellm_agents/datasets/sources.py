"""What may be named as a source of samples: a file, a folder in RoleBench's layout, a generator's run."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rolellm_agents.datasets.layout import PARTS, LayoutPlace, place_of
from rolellm_agents.datasets.reading import iter_samples
from rolellm_agents.datasets.sample import Part, Sample
from rolellm_agents.errors import RoleBenchError

RUN_SAMPLES: Final = "samples.jsonl"
"""In the folder of a run: the rows that are good enough to be used."""
BASELINE: Final[Part] = "rolegpt_baseline"
BASELINES: Final = f"{BASELINE}.jsonl"
"""In the folder of a run: the answers of RoleGPT that others are compared with."""
_DEPTH = 4
"""Folders between RoleBench's root and a file, and one more."""
_PARTS: Final[dict[str, Part]] = {part: part for part in PARTS}


@dataclass(frozen=True)
class SourceFile:
    """A file of samples, and what its place says of it."""

    path: Path
    name: str
    """From the folder that was named; the file's own name when the file was."""
    place: LayoutPlace
    part: Part | None
    """None for a file whose name is not that of a part."""

    def samples(self) -> Iterator[Sample]:
        """Its samples, one after the other.

        Raises:
            RoleBenchError: as `iter_samples`.
        """
        return iter_samples(self.path)


def source_files(source: Path) -> list[SourceFile]:
    """The files that a source consists of, in the order of their names.

    Raises:
        RoleBenchError: it does not exist, cannot be looked into, or holds no samples.
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
        raise RoleBenchError(f"{source} cannot be looked into: {error.strerror}.") from error
    if not found:
        raise RoleBenchError(_none_in(source))
    return [_source_file(path, path.relative_to(source).as_posix()) for path in found]


def source_samples(source: Path) -> Iterator[tuple[SourceFile, Sample]]:
    """All samples of a source with the files they stand in.

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
            f"The run in {folder} has no {RUN_SAMPLES} yet; the command that began it goes on with it "
            "when it is given again."
        )
    return (
        f"{folder} holds no samples; name a JSONL file, a folder with RoleBench's train.jsonl and "
        "test.jsonl, or the folder of a run."
    )


def _source_file(path: Path, name: str) -> SourceFile:
    return SourceFile(path, name, place_of(path), _PARTS.get(path.stem))
