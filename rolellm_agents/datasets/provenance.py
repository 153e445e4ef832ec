"""The provenance of samples, as the run of a generator or the command that wrote a data set recorded it."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from rolellm_agents.datasets.reading import read_json_object
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.files.atomic_write import write_atomically

MANIFEST: Final = "manifest.json"
_CONFIG: Final = "config.json"


@dataclass(frozen=True)
class SampleOrigin:
    """One original source of a data set."""

    name: str
    """The name of its file or folder, without the path."""
    config: dict[str, Any] = field(default_factory=dict)
    """The configuration of a run; empty for files."""
    begun: str = ""
    """When the run started."""
    versions: dict[str, str] = field(default_factory=dict)
    filters: dict[str, int] = field(default_factory=dict)
    """Number of items by label, for the run of a generator."""


@dataclass(frozen=True)
class DatasetProvenance:
    """A step from the sources to a data set, for example a split with its seed."""

    made_by: str
    settings: dict[str, Any]


def origins_of(source: Path) -> list[SampleOrigin]:
    """The original sources of `source`; itself when no manifest names others.

    Raises:
        RoleBenchError: the manifest or the configuration is damaged.
    """
    manifest = _json_in(source / MANIFEST)
    if "sources" in manifest:
        return [_origin(fields) for fields in manifest["sources"] if isinstance(fields, dict)]
    fields = {
        **_json_in(source / _CONFIG),
        "name": source.resolve().name,
        "filters": manifest.get("filters"),
    }
    return [_origin(fields)]


def dataset_provenance_of(source: Path) -> list[DatasetProvenance]:
    """The steps from the original sources to `source`, in order.

    Raises:
        RoleBenchError: the manifest is damaged.
    """
    return [
        DatasetProvenance(str(step.get("made_by", "")), step["settings"])
        for step in _json_in(source / MANIFEST).get("makings", [])
        if isinstance(step, dict) and isinstance(step.get("settings"), dict)
    ]


def write_manifest(
    folder: Path, sources: list[Path], provenance: DatasetProvenance, counts: dict[str, int]
) -> None:
    """Write the manifest of a data set; write it last, as it marks the data set as complete.

    Raises:
        RoleBenchError: the manifest cannot be written, or a source's manifest is damaged.
    """
    earlier = [asdict(step) for source in sources for step in dataset_provenance_of(source)]
    content = {
        "sources": [asdict(origin) for source in sources for origin in origins_of(source)],
        "makings": [*earlier, asdict(provenance)],
        "counts": counts,
    }
    write_atomically(
        folder / MANIFEST, json.dumps(content, ensure_ascii=False, indent=2) + "\n", RoleBenchError
    )


def _origin(fields: dict[str, Any]) -> SampleOrigin:
    return SampleOrigin(
        str(fields.get("name", "")),
        _dict(fields.get("config")),
        str(fields.get("begun", "")),
        {key: str(value) for key, value in _dict(fields.get("versions")).items()},
        {key: value for key, value in _dict(fields.get("filters")).items() if isinstance(value, int)},
    )


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _json_in(file: Path) -> dict[str, Any]:
    """The object in a JSON file; empty when there is no such file."""
    return read_json_object(file) if file.is_file() else {}
