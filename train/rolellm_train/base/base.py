"""Base models: found by name, and written as files for transformers and the converters."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rolellm_agents.errors import ModelError
from rolellm_agents.models.llamacpp.files.gguf import check_gguf, known_gguf, known_name
from rolellm_agents.models.names import named_models
from rolellm_agents.text import one_line
from rolellm_train.base.tuned import quiet
from rolellm_train.base.unpacking import unpack_gguf

_DATA: Final = frozenset({".json", ".safetensors", ".model", ".jinja", ".txt"})
"""Suffixes of data files; converters would run a base model's programs and unpickle its `.bin` files."""


@dataclass(frozen=True)
class FoundBase:
    """A base; either the GGUF file or the folder is set."""

    name: str
    """Display name."""
    gguf: Path | None = None
    folder: Path | None = None

    @property
    def spec(self) -> str:
        """The model spec of a GGUF base, which an adapter is put over; empty for another."""
        if self.gguf is None:
            return ""
        return f"llamacpp:{known_name(self.gguf) or self.gguf}"


def find_base(name: str) -> FoundBase:
    """Find a base.

    Args:
        name: a spec (`llamacpp:smollm2`, `huggingface:org/model`), a name from `models.toml`, the path of a
            GGUF file or of a folder for transformers, or a name at the hub.

    Raises:
        ModelError: there is no such base model.
        SettingsError: `models.toml` cannot be used.
        StorageError: the parts of the base model's file cannot be joined.
    """
    if not name:
        raise ModelError("The adapter does not name its base model; name it with --base.")
    named = named_models().get(name)
    provider, _, rest = (named.spec if named else name).rpartition(":")
    path = Path(rest).expanduser()
    if provider == "llamacpp" or path.suffix == ".gguf":
        gguf_file = known_gguf(rest)
        file = gguf_file or path.absolute()
        check_gguf(file)
        return FoundBase(rest if gguf_file else file.stem, gguf=file)
    if provider not in ("", "huggingface"):
        raise ModelError(
            f"The base {name} cannot be exported; name a GGUF file or a model of transformers."
        )
    if path.is_dir():
        return FoundBase(path.resolve().name, folder=path.resolve())
    return FoundBase(rest, folder=_from_hub(rest))


def write_base(base: FoundBase, folder: Path) -> None:
    """Create a folder for transformers and the converters, with data files only.

    Args:
        base: the result of `find_base`.
        folder: the folder to create.

    Raises:
        ModelError: transformers cannot read the base model.
    """
    if base.gguf is not None:
        with quiet():
            unpack_gguf(base.gguf, folder)
        return
    if base.folder is None or not (base.folder / "config.json").is_file():
        raise ModelError(f"There is no model of transformers in {base.folder}; it has no config.json.")
    folder.mkdir()
    for file in base.folder.iterdir():
        if file.suffix in _DATA:
            (folder / file.name).symlink_to(file.resolve())
    if not any(folder.glob("*.safetensors")):
        raise ModelError(
            f"The weights in {base.folder} are not in the format safetensors; save the model with "
            "transformers."
        )


def count_base_weights(base: FoundBase) -> int:
    """Count the weights of a base model, from the headers of its files.

    Raises:
        ModelError: a file is damaged.
    """
    from rolellm_train.base.gguf_metadata import count_weights

    try:
        if base.gguf is not None:
            return count_weights(base.gguf)
        return sum(_safetensors_weights(file) for file in (base.folder or Path()).glob("*.safetensors"))
    except Exception as error:  # each reader raises its own
        raise ModelError(
            f"The base {base.name} is damaged ({one_line(str(error), 120)}); download it again."
        ) from error


def _safetensors_weights(file: Path) -> int:
    from math import prod

    from safetensors import safe_open

    with safe_open(file, framework="numpy") as tensors:
        return sum(prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118


def _from_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download

    patterns = [f"*{kind}" for kind in sorted(_DATA)]
    try:
        return Path(snapshot_download(name, allow_patterns=patterns))
    except Exception as error:  # what the hub's client raises depends on its HTTP library
        raise ModelError(
            f"There is no base {name!r} ({one_line(str(error), 120)}); name a GGUF file, a folder, or a "
            "model at a hub that you can reach, with --base."
        ) from error
