"""Samples on disk in the format of Hugging Face's library `datasets` (extra `train`)."""

import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from rolellm_agents.datasets.reading import FileDefaults, row_of
from rolellm_agents.datasets.sample import Sample
from rolellm_agents.datasets.writing import clean
from rolellm_agents.errors import RoleBenchError

Samples: TypeAlias = Callable[[], Iterator[Sample]]
"""Returns a new iterator at each call."""
_MARKS: Final = ("dataset_dict.json", "state.json")
_ALONE: Final = "train"
"""The part's name for a data set without parts."""


def is_hf_folder(folder: Path) -> bool:
    """Whether the folder was written by `save_to_disk`."""
    return any((folder / mark).is_file() for mark in _MARKS)


def write_hf(folder: Path, parts: Mapping[str, Samples]) -> None:
    """Save samples as a `DatasetDict`: RoleBench's columns, `kind`, `language`, and `extra` as JSON.

    The folder is created or replaced.

    Raises:
        RoleBenchError: `datasets` is not installed, or the folder cannot be written.
    """
    hf = _datasets()
    features = hf.Features(
        {
            **{name: hf.Value("string") for name in ("role", "question", "kind", "language", "extra")},
            **{name: hf.List(hf.Value("string")) for name in ("generated", "type")},
        }
    )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as beside:
            built = {
                name: hf.Dataset.from_generator(
                    _rows,
                    features=features,
                    gen_kwargs={"samples": samples},
                    cache_dir=str(Path(beside, "cache")),
                    fingerprint=name,
                )
                for name, samples in parts.items()
            }
            hf.DatasetDict(built).save_to_disk(str(Path(beside, "new")))
            _put_in_place(Path(beside, "new"), folder, Path(beside, "old"))
    except OSError as error:
        raise RoleBenchError(
            f"{folder} cannot be written ({error.strerror}); check permissions and free space, or "
            "name another folder."
        ) from error


def read_hf(folder: Path) -> dict[str, Samples]:
    """The samples of a data set on disk, by part.

    Raises:
        RoleBenchError: `datasets` is not installed, or the folder has no data set of samples.
    """
    hf = _datasets()
    try:
        loaded = hf.load_from_disk(str(folder))
    except (OSError, ValueError, KeyError) as error:
        raise RoleBenchError(f"{folder} holds no data set that `datasets` can load: {error}.") from error
    parts = dict(loaded) if isinstance(loaded, dict) else {_ALONE: loaded}
    return {name: _reader(folder, part) for name, part in parts.items()}


def _reader(folder: Path, part: Any) -> Samples:
    def samples() -> Iterator[Sample]:
        for number, fields in enumerate(part, 1):
            try:
                extra = json.loads(fields.pop("extra", None) or "{}")
                row = row_of({**extra, **fields})
            except (ValueError, TypeError) as error:
                raise RoleBenchError(
                    f"{folder}, row {number}: {error}; it is not a data set of samples, which have role, "
                    "question and generated."
                ) from error
            if row.references:
                yield FileDefaults(None, "en").sample(row)

    return samples


def _rows(samples: Samples) -> Iterator[dict[str, Any]]:
    for sample in map(clean, samples()):
        yield {
            "role": sample.role,
            "question": sample.question,
            "generated": list(sample.references),
            "type": list(sample.types),
            "kind": sample.kind,
            "language": sample.language,
            "extra": json.dumps(dict(sample.extra), ensure_ascii=False),
        }


def _put_in_place(new: Path, folder: Path, old: Path) -> None:
    """Replace a folder by a complete new one."""
    with contextlib.suppress(FileNotFoundError):
        folder.rename(old)
    new.rename(folder)


def _datasets() -> Any:
    try:
        import datasets
    except ImportError as error:
        raise RoleBenchError(
            "The Hugging Face form needs the library `datasets`; install it with "
            "“pip install 'rolellm-agents[train]'”."
        ) from error
    datasets.disable_progress_bars()
    return datasets
