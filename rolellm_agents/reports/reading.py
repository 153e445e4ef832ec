"""Read runs from their folders; `config.json` determines the kind of a run."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.judging.recorded import JUDGING, RecordedVerdicts, read_verdicts
from rolellm_agents.reports.errors import ReportError

RunKind = Literal["rolebench", "interviews", "verdicts"]

_RESULTS: Final = "results.json"
_KNOWN: Final = "“rolellm eval rolebench”, “rolellm eval drift” and “rolellm judge” write such runs"


@dataclass(frozen=True, kw_only=True)
class ReadRun:
    """A run that was read from its folder."""

    folder: Path
    kind: RunKind
    begun: str
    finished: str
    """Time of completion; empty when the run is not complete."""
    versions: Mapping[str, str]
    """Versions of the packages that produced the run."""
    config: Mapping[str, Any]
    results: Mapping[str, Any]
    """Content of `results.json`; empty for a run of `rolellm judge`."""
    lines: Sequence[Mapping[str, Any]] = ()
    """An evaluation's scored replies or interviews."""
    verdicts: RecordedVerdicts | None = None
    """Verdicts of a run of `rolellm judge`."""

    @property
    def name(self) -> str:
        """The name of the folder."""
        return self.folder.resolve().name


def read_run(folder: Path) -> ReadRun:
    """Read a run, complete or not.

    Raises:
        ReportError: the folder contains no run, the run is of another kind, or a file is damaged.
        StorageError: a line of a judge's run is damaged.
    """
    about = _json(folder / "config.json", f"{folder} holds no run; {_KNOWN}.")
    config = about.get("config")
    if not isinstance(config, Mapping):
        raise _damaged(folder / "config.json")
    kind = _kind(folder, config)
    manifest = folder / "manifest.json"
    shared: dict[str, Any] = {
        "folder": folder,
        "kind": kind,
        "begun": str(about.get("begun", "")),
        "finished": str(_json(manifest, "").get("finished", "")) if manifest.exists() else "",
        "versions": about.get("versions") or {},
        "config": config,
    }
    if kind == "verdicts":
        return ReadRun(**shared, results={}, verdicts=read_verdicts(folder))
    results = _json(
        folder / _RESULTS, f"{folder} has no {_RESULTS} yet; let the command that began it come to its end."
    )
    files = results.get("files")
    if not isinstance(files, Mapping) or not isinstance(files.get("scored"), str):
        raise _damaged(folder / _RESULTS)
    return ReadRun(**shared, results=results, lines=[*_lines(folder / Path(files["scored"]).name)])


def damaged(run: ReadRun, error: Exception) -> RoleLLMError:
    """The error for malformed results."""
    return error if isinstance(error, RoleLLMError) else _damaged(run.folder / _RESULTS)


def _kind(folder: Path, config: Mapping[str, Any]) -> RunKind:
    if JUDGING in config:
        return "verdicts"
    match config.get("benchmark"):
        case "rolebench":
            return "rolebench"
        case "interviews":
            return "interviews"
        case _:
            raise ReportError(f"{folder} is a run of something else; {_KNOWN}.")


def _json(file: Path, absent: str) -> Mapping[str, Any]:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ReportError(absent) from None
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(file) from error
    if not isinstance(value, Mapping):
        raise _damaged(file)
    return value


def _lines(file: Path) -> Iterator[Mapping[str, Any]]:
    try:
        with file.open(encoding="utf-8") as lines:
            for line in lines:
                value = json.loads(line)
                if not isinstance(value, Mapping):
                    raise _damaged(file)
                yield value
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(file) from error


def _damaged(file: Path) -> ReportError:
    return ReportError(f"{file} cannot be read; run the command that wrote it again.")
