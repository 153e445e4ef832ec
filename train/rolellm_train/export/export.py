"""`rolellm export`: from a PEFT adapter to verified GGUF files."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import ModelError
from rolellm_agents.models.names import check_name, keep_name
from rolellm_agents.text import did_you_mean
from rolellm_train.base.base import count_base_weights, find_base
from rolellm_train.base.gguf_metadata import read_metadata
from rolellm_train.base.peft_adapter import read_adapter
from rolellm_train.data.rows import STRATEGY
from rolellm_train.export.converters import OnMessage, cached_converters, own_converters
from rolellm_train.export.converting import WEIGHTS
from rolellm_train.export.facts import metadata_of, read_source
from rolellm_train.export.folder import check_room, writing_folder
from rolellm_train.export.parity import Parity, failure_of
from rolellm_train.export.texts import write_texts
from rolellm_train.export.work import (
    ADAPTER_FILE,
    BASE_FILE,
    AdapterFiles,
    ExportWork,
    prepare_complete,
    record,
    room_needed,
    verify,
    write_adapter,
    write_merged,
)

_COMPLETE: Final = "q8_0"
"""The weight format of a completely tuned model, if none is requested."""
_NEEDED: Final = ("torch", "transformers", "peft", "gguf", "sentencepiece", "safetensors")


@dataclass(frozen=True)
class ExportOptions:
    """Options of an export."""

    source: Path
    """A run's folder, or a PEFT adapter's."""
    base: str = ""
    """The adapter's base; empty for the one named in the run or the adapter."""
    to: Path | None = None
    """The folder to write; `export` in the source when None."""
    merged: Sequence[str] = ()
    """Weight formats of merged models, from `WEIGHTS`; for a completely tuned model Q8_0 if empty."""
    llama_cpp: Path | None = None
    """A copy of llama.cpp with converters."""
    name: str = ""
    """Name of the model; empty for the source's name."""
    force: bool = False
    """Overwrite existing files, and keep an export that fails parity."""


@dataclass(frozen=True)
class Exported:
    """Result of an export."""

    name: str
    spec: str
    """The spec of the name in `models.toml`."""
    folder: Path
    files: Mapping[str, int]
    """Sizes in bytes by name."""
    parities: Sequence[Parity]
    seconds: Mapping[str, float]
    """Duration of each step, in seconds."""

    def as_json(self) -> dict[str, Any]:
        """The result as JSON."""
        return {
            "name": self.name,
            "spec": self.spec,
            "folder": str(self.folder),
            "files": dict(self.files),
            "parity": [parity.as_json() for parity in self.parities],
            "seconds": dict(self.seconds),
        }


def export(options: ExportOptions, on_message: OnMessage) -> Exported:
    """Export a tuned model, and verify it: an adapter and optional merged models, or complete models.

    Args:
        options: the options of the export.
        on_message: called with a sentence for each step.

    Raises:
        ModelError: the adapter, its base or the converters cannot be used, or parity failed.
        StorageError: the folder cannot be written, or the disk is too small.
        SettingsError: the model name exists already.
    """
    _check_extra()
    _check_merged(options.merged)
    source = read_source(options.source)
    target = (options.to or options.source / "export").absolute()
    _check_place(target)
    name = options.name or _own_name(options.source)
    check_name(name, replace=options.force)
    adapter = None if source.is_complete else read_adapter(source.weights)
    base = find_base(options.base or source.base or (adapter.base if adapter else ""))
    merged = options.merged or ([] if adapter else [_COMPLETE])
    with writing_folder(target, replace=options.force) as out:
        weights = count_base_weights(base)
        check_room(target.parent, room_needed(base, weights, merged))
        converters = _converters(options, on_message)
        work = ExportWork(source, adapter, base, weights, name, merged, converters, out, on_message)
        exported = _exported(work, target, force=options.force)
    # Nothing is known about adapters from elsewhere.
    strategy = STRATEGY if source.recipe else None
    keep_name(name, exported.spec, strategy=strategy, replace=options.force)
    return exported


def _exported(work: ExportWork, target: Path, *, force: bool) -> Exported:
    work.place.mkdir()
    of_base = read_metadata(work.base.gguf) if work.base.gguf else {}
    facts = metadata_of(work.source, name=work.name, base=work.base.name, base_facts=of_base)
    adapter: AdapterFiles | None = None
    if work.adapter is None:
        prepare_complete(work)
    else:
        adapter = write_adapter(work, work.adapter, facts)
    reference = record(work)
    merged = write_merged(work, facts, reference.template)
    parities = verify(work, reference, adapter, merged)
    _check_parity(parities, force=force)
    if adapter and not work.base.spec and not merged:
        adapter.base_f16.rename(work.out / BASE_FILE)  # nothing else could run the adapter
    shutil.rmtree(work.place)
    files = {file.name: file.stat().st_size for file in sorted(work.out.glob("*.gguf"))}
    spec = _spec(work, target, merged)
    exported = Exported(work.name, spec, target, files, parities, work.seconds)
    write_texts(
        work,
        reference,
        parities,
        files,
        licence=str(facts["general.license"]),
        base_licence=of_base.get("license", ""),
    )
    report = json.dumps(exported.as_json(), ensure_ascii=False, indent=2)
    (work.out / "parity.json").write_text(f"{report}\n", encoding="utf-8")
    return exported


def _spec(work: ExportWork, target: Path, merged: Mapping[str, Path]) -> str:
    """The spec that runs the model: over a GGUF base if there is one, so that adapters share it."""
    if work.base.spec and work.adapter:
        return f"{work.base.spec}+{target / ADAPTER_FILE}"
    for weights in ("q8_0", "f16", "q4_k_m"):
        if weights in merged:
            return f"llamacpp:{target / merged[weights].name}"
    return f"llamacpp:{target / BASE_FILE}+{target / ADAPTER_FILE}"


def _check_parity(parities: Sequence[Parity], *, force: bool) -> None:
    for parity in parities:
        if not (parity.passed or force):
            raise ModelError(
                f"{parity.file}{f' over {parity.over}' if parity.over else ''} does not compute what "
                f"the tuned model computes ({failure_of(parity)}) and was not kept; --force keeps it with "
                "its report."
            )


def _check_extra() -> None:
    for module in _NEEDED:
        if find_spec(module) is None:
            raise ModelError(
                f"Exporting needs the extra “train” ({module} is missing); "
                "“pip install 'rolellm-agents[train]'” installs it."
            )


def _check_merged(merged: Sequence[str]) -> None:
    for weights in merged:
        if weights not in WEIGHTS:
            raise ModelError(
                f"A merged model cannot be written in {weights!r}{did_you_mean(weights, WEIGHTS)}; "
                f"known are {', '.join(WEIGHTS)}."
            )


def _check_place(target: Path) -> None:
    if "+" in str(target):
        raise ModelError(
            f"A plus in {target} would be read as the separator of an adapter; choose another --to."
        )


def _own_name(source: Path) -> str:
    """The name of the run, or of the run that contains the adapter."""
    folder = source.resolve()
    return folder.parent.name if folder.name == "adapter" else folder.name


def _converters(options: ExportOptions, on_message: OnMessage) -> Path:
    if options.llama_cpp is not None:
        return own_converters(options.llama_cpp)
    from rolellm_agents.models.llamacpp import library

    # The part after a plus names a build, not a version of the source.
    version = library.version().partition("+")[0]
    return cached_converters(user_paths().cache / "llama.cpp", version, on_message)
