"""Where samples come from: what a generator's run, or the making of a data set, left beside them."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from rolellm_agents.errors import RoleBenchError
from rolellm_agents.files.atomic_write import write_atomically

MANIFEST: Final = "manifest.json"
_CONFIG: Final = "config.json"


@dataclass(frozen=True)
class SampleOrigin:
    """One source that others were made of in the end."""

    name: str
    """Of its file or folder; where that lay is nobody's business."""
    config: dict[str, Any] = field(default_factory=dict)
    """What a run was begun with; empty for files."""
    begun: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    filters: dict[str, int] = field(default_factory=dict)
    """How many items got each label, in a generator's run."""


@dataclass(frozen=True)
class DatasetProvenance:
    """How a data set was made of its sources, such as a split and its seed."""

    made_by: str
    settings: dict[str, Any]


def origins_of(source: Path) -> list[SampleOrigin]:
    """The sources that `source` was made of in the end; itself when nothing tells of others.

    Raises:
        RoleBenchError: a file that should tell it is damaged.
    """
    manifest = _object_in(source / MANIFEST)
    if "sources" in manifest:
        return [_origin(one) for one in manifest["sources"] if isinstance(one, dict)]
    config = _object_in(source / _CONFIG)
    told = {**config, "name": source.resolve().name, "filters": manifest.get("filters")}
    return [_origin(told)]


def dataset_provenance_of(source: Path) -> list[DatasetProvenance]:
    """What was done to the origins, the first first.

    Raises:
        RoleBenchError: the manifest is damaged.
    """
    return [
        DatasetProvenance(str(one.get("made_by", "")), one["settings"])
        for one in _object_in(source / MANIFEST).get("makings", [])
        if isinstance(one, dict) and isinstance(one.get("settings"), dict)
    ]


def write_manifest(
    folder: Path, sources: list[Path], making: DatasetProvenance, counts: dict[str, int]
) -> None:
    """Write beside a data set of what and how it was made; last, since it says that all is there.

    Raises:
        RoleBenchError: it cannot be written, or a source's is damaged.
    """
    earlier = [asdict(one) for source in sources for one in dataset_provenance_of(source)]
    content = {
        "sources": [asdict(origin) for source in sources for origin in origins_of(source)],
        "makings": [*earlier, asdict(making)],
        "counts": counts,
    }
    write_atomically(
        folder / MANIFEST, json.dumps(content, ensure_ascii=False, indent=2) + "\n", RoleBenchError
    )


def _origin(told: dict[str, Any]) -> SampleOrigin:
    return SampleOrigin(
        str(told.get("name", "")),
        _dict(told.get("config")),
        str(told.get("begun", "")),
        {key: str(value) for key, value in _dict(told.get("versions")).items()},
        {key: value for key, value in _dict(told.get("filters")).items() if isinstance(value, int)},
    )


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _object_in(file: Path) -> dict[str, Any]:
    """What a JSON file holds; nothing when there is none, or it lies beside what is a file itself."""
    try:
        if not file.is_file():
            return {}
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RoleBenchError(f"{file} is damaged; put it right, or remove it.") from error
    return _dict(content)
