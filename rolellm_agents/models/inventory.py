"""The models of this machine and those that it could have: for lists, pickers and `rolellm models`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from rolellm_agents.errors import ModelError, StorageError
from rolellm_agents.models.llamacpp.files.bundled import BUNDLED
from rolellm_agents.models.llamacpp.files.hub_models import (
    PREFIX,
    downloaded,
    downloaded_models,
    hub_model,
    remove,
)
from rolellm_agents.models.llamacpp.files.url_models import models_folder
from rolellm_agents.models.names import forget_name, named_models
from rolellm_agents.models.recommended import best_for, recommended_models, this_machine
from rolellm_agents.models.server_details import ServerDetails
from rolellm_agents.models.servers import served_models

Kind = Literal["yours", "embedded", "downloaded", "running", "recommended"]


@dataclass(frozen=True)
class KnownModel:
    """One model of a list."""

    name: str
    """How commands name it."""
    spec: str
    kind: Kind
    """Where it is: in `models.toml`, bundled, in the hub's cache, on a server, or to download."""
    help: str


def known_models() -> list[KnownModel]:
    """All models, in the order of lists. Servers on this machine are asked for theirs."""
    here = [*_named(), *_bundled()]
    specs = {one.spec for one in here}
    return [
        *here,
        *(one for one in _downloaded() if one.spec not in specs),
        *_running(),
        *_recommended({one.name for one in here}),
    ]


def described_model(name: str) -> dict[str, Any]:
    """What is known about a model, by field.

    Raises:
        ModelError: there is no such model.
    """
    entry = next((one for one in recommended_models() if name in (one.name, one.source)), None)
    about: dict[str, Any] = {"name": name}
    if entry is not None:
        about |= entry.model_dump()
        about["fits_this_machine"] = entry.fits(this_machine())
    named = named_models().get(name)
    if named is not None:
        about |= {"spec": named.spec, **({"strategy": named.strategy} if named.strategy else {})}
        about |= named.shown_options
    spec = named.spec if named else (entry.source if entry else name)
    files = files_of(spec)
    known = {one.name: one for one in known_models()}.get(name) if named is None and entry is None else None
    if known is not None:
        about |= {"spec": known.spec, "kind": known.kind, "about": known.help}
    if entry is None and named is None and known is None and not files:
        raise ModelError(f"There is no model {name!r} here; “rolellm models list” shows what there is.")
    if files or entry is not None:
        about["files"] = [str(file) for file in files] or "not on this machine"
    if files:
        about["bytes"] = sum(file.stat().st_size for file in files)
    return about


def removed_model(name: str) -> int:
    """Delete a downloaded model and its name.

    Returns:
        The number of freed bytes.

    Raises:
        ModelError: there is no such model, or it was not downloaded.
        StorageError: it cannot be deleted.
    """
    named = named_models().get(name)
    spec = named.spec if named else name
    place = spec.removeprefix("llamacpp:").partition("+hf:")[0]
    if place.startswith(PREFIX):
        freed = remove(hub_model(place))
    elif models_folder() in Path(place).parents:
        freed = _deleted(Path(place))
    elif named is None:
        raise ModelError(f"There is no model {name!r} here; “rolellm models list” shows what there is.")
    else:
        raise ModelError(
            f"{name} was not downloaded by “rolellm models pull”, so its file stays; delete the file and "
            "its name in models.toml yourself."
        )
    if named is not None:
        forget_name(name)
    return freed


def files_of(spec: str) -> list[Path]:
    """The files of a downloaded model; empty if it is none or not here."""
    place = spec.removeprefix("llamacpp:").partition("+hf:")[0]
    if place.startswith(PREFIX):
        return downloaded(hub_model(place))
    file = Path(place)
    return [file] if file.suffix == ".gguf" and file.is_file() else []


def _deleted(file: Path) -> int:
    try:
        freed = file.stat().st_size
        file.unlink()
    except OSError as error:
        raise StorageError(f"{file} cannot be deleted: {error.strerror}.") from error
    return freed


def _named() -> Iterator[KnownModel]:
    for one in named_models().values():
        options = [f"{key} = {value}" for key, value in one.shown_options.items()]
        yield KnownModel(one.name, one.spec, "yours", _joined(*options, _own(one.strategy)))


def _bundled() -> Iterator[KnownModel]:
    for model in BUNDLED.values():
        spec = f"llamacpp:{model.name}"
        yield KnownModel(spec, spec, "embedded", _joined(model.about, _own(model.strategy)))


def _downloaded() -> Iterator[KnownModel]:
    for model, files in downloaded_models():
        size = sum(file.stat().st_size for file in files)
        spec = f"llamacpp:{model.name}"
        yield KnownModel(spec, spec, "downloaded", f"{size / 1e9:.1f} GB, in the cache of the hub")


def _running() -> Iterator[KnownModel]:
    for model in served_models():
        spec = f"local:{model.name}"
        place = f"in {model.server} at {model.base_url}"
        yield KnownModel(spec, spec, "running", _joined(place, *described_details(model.details)))


def described_details(details: ServerDetails) -> list[str]:
    """What is known about a model of a server, in words."""
    context = [f"{details.context:,} tokens of context"] if details.context else []
    return [*context, *details.abilities]


def _recommended(named: set[str]) -> Iterator[KnownModel]:
    machine = this_machine()
    best = best_for(machine)
    # The best one for this machine first, then by size.
    for one in sorted(recommended_models(), key=lambda one: one != best):
        if one.name in named:
            continue
        hint = "the one to try first here; " if best and one.name == best.name else ""
        if not one.fits(machine):
            hint = f"too large for this machine (takes {one.memory_gb:.0f} GB); "
        about = f"{hint}{one.parameters}, {one.size_gb} GB, {one.licence}. {one.role_play}"
        yield KnownModel(one.name, f"llamacpp:{one.source}", "recommended", about)


def _own(strategy: str | None) -> str:
    return f"strategy = {strategy}" if strategy else ""


def _joined(*texts: str) -> str:
    return ", ".join(filter(None, texts))
