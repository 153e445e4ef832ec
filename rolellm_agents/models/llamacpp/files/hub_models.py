"""GGUF files of the Hugging Face Hub: named `hf:ORG/REPO[:QUANT]`, in the cache or to download.

The files are in huggingface_hub's cache, which other programs share, and `HF_HOME`, `HF_ENDPOINT` and
`HF_TOKEN` apply. Their bytes are received here, because huggingface_hub deletes what it has received when a
download is stopped (its pull request 4228). Nothing here uses the network except `download`.
"""

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from filelock import FileLock

from rolellm_agents.errors import ModelError, StorageError
from rolellm_agents.models.llamacpp.files.gguf import check_gguf
from rolellm_agents.models.llamacpp.files.gguf_header import check_header
from rolellm_agents.models.llamacpp.files.resumable import (
    OnProgress,
    discard,
    forget_version,
    receive,
    size_of,
)
from rolellm_agents.text import did_you_mean, one_line

PREFIX: Final = "hf:"
_NAME: Final = re.compile(r"hf:(?P<repository>[\w.-]+/[\w.-]+)(?::(?P<variant>[^:/\s]+))?", re.ASCII)
_USUAL: Final = ("Q4_K_M", "Q4_K_S", "Q4_0", "Q5_K_M", "Q8_0", "MXFP4", "F16", "BF16")
"""Quantizations by preference: Q4_K_M loses little and is half of Q8_0."""
_QUANTIZATION: Final = re.compile(r"(?:^|[-._])((?:I?Q\d\w*|MXFP4\w*|BF16|F16|F32))\.gguf$", re.IGNORECASE)
_PART: Final = re.compile(r"-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf$")
_RESERVE: Final = 512 * 2**20
"""Bytes that stay free on the disk."""

_UNFINISHED: Final = ".part"
"""The ending of a file that is not complete yet, beside the complete ones in the hub's cache."""
_ETAG: Final = re.compile(r"[\w-]+", re.ASCII)


class HubModel(NamedTuple):
    """A model of the hub."""

    repository: str
    variant: str
    """A quantization such as `Q4_K_M`, or a file's name; empty for the usual one."""

    @property
    def name(self) -> str:
        """The name in specs."""
        return f"{PREFIX}{self.repository}" + (f":{self.variant}" if self.variant else "")


class HubFile(NamedTuple):
    """A file of a repository."""

    path: str
    size: int
    sha256: str
    """Empty if the hub does not state it."""


def hub_model(name: str) -> HubModel:
    """Read a name like `hf:ORG/REPO:QUANT`.

    Raises:
        ModelError: the name has another form.
    """
    match = _NAME.fullmatch(name)
    if match is None:
        raise ModelError(f"{name!r} names no model of the hub; write hf:ORG/REPO or hf:ORG/REPO:Q4_K_M.")
    return HubModel(match["repository"], match["variant"] or "")


def downloaded(model: HubModel) -> list[Path]:
    """The complete file of a model in the cache, or all of its parts in order; empty if it is not there."""
    return next(_copies(model), [])


def _copies(model: HubModel) -> Iterator[list[Path]]:
    """The complete copies of a model in the cache, the newest first."""
    for folder in _snapshots(model.repository):
        names = {str(file): file for file in folder.rglob("*.gguf") if file.exists()}
        if chosen := chosen_files(names, model.variant):
            yield [names[name] for name in chosen]


def downloaded_models() -> list[tuple[HubModel, list[Path]]]:
    """All complete GGUF models in the cache, with their files."""
    from huggingface_hub.constants import HF_HUB_CACHE

    models: list[tuple[HubModel, list[Path]]] = []
    for folder in sorted(Path(HF_HUB_CACHE).glob("models--*--*")):
        repository = folder.name.removeprefix("models--").replace("--", "/", 1)
        names = [str(file) for one in _snapshots(repository) for file in one.rglob("*.gguf")]
        variants = {_quantization(name) or Path(name).name for name in _first_parts(names)}
        found = (HubModel(repository, variant) for variant in sorted(variants))
        models += [(model, files) for model in found if (files := downloaded(model))]
    return models


def remove(model: HubModel) -> int:
    """Delete a downloaded model from the cache, and what unfinished downloads of its repository have left.

    Returns:
        The number of freed bytes.

    Raises:
        ModelError: it is not there.
        StorageError: it cannot be deleted.
    """
    files = [file for copy in _copies(model) for file in copy]
    unfinished = [*_blobs(model.repository).glob(f"*{_UNFINISHED}")]
    if not files and not unfinished:
        raise ModelError(f"{model.name} is not on this machine; “rolellm models list” shows what is.")
    freed = 0
    try:
        for file in files:
            blob = file.resolve()
            freed += blob.stat().st_size if blob.exists() else 0
            file.unlink()
            blob.unlink(missing_ok=True)
        for part in unfinished:
            freed += size_of(part)
            discard(part)
    except OSError as error:
        raise StorageError(f"{error.filename} cannot be deleted: {error.strerror}.") from error
    return freed


def download(model: HubModel, on_progress: OnProgress) -> list[Path]:
    """Download a model, or what is missing of it; a stopped download goes on where it was.

    Args:
        model: the model.
        on_progress: called after each received block.

    Returns:
        The file, or its parts in order.

    Raises:
        ModelError: the hub has no such model, requires an account, or cannot be reached; or the file is
            damaged.
        StorageError: the disk is too small.
    """
    try:
        files, revision = _files_of(model)
        _check_disk(model, files)
        return _fetched(model, files, revision, on_progress)
    except (ModelError, StorageError):
        raise
    except Exception as error:  # the exceptions of the hub's client depend on its HTTP library
        raise _explained(error, model) from error


def chosen_files(names: Iterable[str], variant: str) -> list[str]:
    """The file of a variant, or all of its parts in order; empty if there is none or a part is missing."""
    first = _first_parts(names)
    if variant:
        wanted = [one for one in first if _is_variant(one, variant)]
    else:
        by_kind = {(_quantization(one) or "").upper(): one for one in sorted(first, reverse=True)}
        wanted = [by_kind[kind] for kind in _USUAL if kind in by_kind][:1] or sorted(first)[:1]
    return _with_parts(min(wanted, key=len), names) if wanted else []


def _is_variant(name: str, variant: str) -> bool:
    whole = _PART.sub(".gguf", Path(name).name)
    return variant.lower() in (
        Path(name).name.lower(),
        whole.lower(),
        whole.lower().removesuffix(".gguf"),
        (_quantization(name) or "").lower(),
    )


def _first_parts(names: Iterable[str]) -> list[str]:
    """Files that can be loaded: no projectors, and of several parts the first."""
    return [
        name
        for name in names
        if name.endswith(".gguf")
        and "mmproj" not in Path(name).name.lower()
        and ((part := _PART.search(name)) is None or int(part["number"]) == 1)
    ]


def _with_parts(first: str, names: Iterable[str]) -> list[str]:
    part = _PART.search(first)
    if part is None:
        return [first]
    begin, known = first[: part.start()], set(names)
    parts = [f"{begin}-{number:05}-of-{part['count']}.gguf" for number in range(1, int(part["count"]) + 1)]
    return parts if known.issuperset(parts) else []


def _quantization(name: str) -> str | None:
    match = _QUANTIZATION.search(_PART.sub(".gguf", Path(name).name))
    return match[1] if match else None


def _folder(repository: str) -> Path:
    """The folder of a repository in the cache."""
    from huggingface_hub.constants import HF_HUB_CACHE

    return Path(HF_HUB_CACHE) / f"models--{repository.replace('/', '--')}"


def _blobs(repository: str) -> Path:
    """The folder of a repository's contents, named by their ETags."""
    return _folder(repository) / "blobs"


def _snapshots(repository: str) -> list[Path]:
    """The folders of a repository's files in the cache, the newest first."""
    folder = _folder(repository) / "snapshots"
    if not folder.is_dir():
        return []
    return sorted(folder.iterdir(), key=lambda one: one.stat().st_mtime, reverse=True)


def _files_of(model: HubModel) -> tuple[list[HubFile], str]:
    """The files to download, and the repository's revision."""
    from huggingface_hub import HfApi

    info: Any = HfApi().model_info(model.repository, files_metadata=True, timeout=20)
    known = {
        one.rfilename: HubFile(one.rfilename, one.size or 0, getattr(one.lfs, "sha256", "") or "")
        for one in info.siblings or ()
    }
    chosen = chosen_files(known, model.variant)
    if not chosen:
        kinds = sorted({_quantization(one) or Path(one).name for one in _first_parts(known)})
        if not kinds:
            raise ModelError(
                f"{model.repository} has no GGUF files; look for a repository whose name ends in -GGUF."
            )
        raise ModelError(
            f"{model.repository} has no {model.variant}{did_you_mean(model.variant, kinds)}; it has "
            f"{', '.join(kinds)}."
        )
    return [known[one] for one in chosen], str(info.sha)


def _check_disk(model: HubModel, files: Sequence[HubFile]) -> None:
    if downloaded(model):
        return
    place = _blobs(model.repository)
    here = sum(size_of(place / f"{file.sha256}{_UNFINISHED}") for file in files)
    while not place.exists():
        place = place.parent
    needed, free = sum(file.size for file in files) - here, shutil.disk_usage(place).free
    if needed + _RESERVE > free:
        raise StorageError(
            f"The download takes {needed / 1e9:.1f} GB and {free / 1e9:.1f} are free at {place}; free disk "
            "space, or set HF_HOME to another disk."
        )


def _fetched(
    model: HubModel, files: Sequence[HubFile], revision: str, on_progress: OnProgress
) -> list[Path]:
    total, before = sum(file.size for file in files), 0
    paths: list[Path] = []
    for file in files:
        paths.append(
            _fetch(model, file, revision, lambda done, _, before=before: on_progress(before + done, total))  # type: ignore[misc]
        )
        before += file.size
        on_progress(before, total)
    return paths


def _fetch(model: HubModel, file: HubFile, revision: str, on_progress: OnProgress) -> Path:
    """Put a file into the hub's cache, where it lies under its ETag and is linked from the revision."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url
    from huggingface_hub.utils._headers import build_hf_headers

    address = hf_hub_url(model.repository, file.path, revision=revision)
    etag = get_hf_file_metadata(address).etag
    if not etag or not _ETAG.fullmatch(etag):
        raise ModelError(f"The hub states no version of {file.path}; try again later.")
    blob = _blobs(model.repository) / etag
    part = blob.with_name(f"{etag}{_UNFINISHED}")
    blob.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{part}.lock"):
        if not blob.exists():
            _check(part, file, receive(address, part, on_progress, headers=build_hf_headers()))
            part.replace(blob)
            forget_version(part)
    return Path(hf_hub_download(model.repository, file.path, revision=revision))  # only links the blob


def _check(part: Path, file: HubFile, sha256: str) -> None:
    """Raise for a file that is not the hub's, and delete it."""
    try:
        if file.sha256 and sha256 != file.sha256:
            raise ModelError(f"{file.path} was damaged on the way; run the command again.")
        check_gguf(part)
        check_header(part)
    except ModelError:
        discard(part)
        raise


def _explained(error: Exception, model: HubModel) -> ModelError | StorageError:
    from huggingface_hub import errors

    page = f"huggingface.co/{model.repository}"
    if isinstance(error, errors.GatedRepoError):
        return ModelError(
            f"{model.repository} is given only to people who accept its terms; accept them on {page}, and "
            "log in with “hf auth login”."
        )
    if isinstance(error, errors.RepositoryNotFoundError):
        return ModelError(
            f"The hub has no {model.repository}, or it is private; check the name, and log in with "
            "“hf auth login” if it is yours."
        )
    if isinstance(error, errors.OfflineModeIsEnabled):
        return ModelError(
            f"{model.name} is not on this machine, and HF_HUB_OFFLINE forbids to download it; unset it."
        )
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status == 429:
        return ModelError("The hub takes no more requests from here now (429); try again in some minutes.")
    if isinstance(error, OSError) and error.errno == 28:
        return StorageError(
            f"The disk is full; free disk space and pull {model.name} again: the download goes on where it "
            "was."
        )
    reason = one_line(str(error), 160) or type(error).__name__
    return ModelError(
        f"{model.name} could not be downloaded ({reason}); run the command again, it goes on where it was."
    )
