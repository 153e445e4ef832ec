"""Install and remove packs. Packs are untrusted input.

A pack is checked completely before any part of it is used, its files cannot leave its folder, and its
installation is atomic.
"""

import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from rolellm_agents.config.paths import make_folder, user_paths
from rolellm_agents.errors import PackError, PersonaError
from rolellm_agents.files.contained import PATH_LEVELS
from rolellm_agents.persona import read_persona
from rolellm_agents.persona.packs import MANIFEST, Pack, installed_packs, read_pack
from rolellm_agents.persona.portrait import read_portrait
from rolellm_agents.text import did_you_mean

_MOST_FILES = 5_000
_MOST_BYTES = 200_000_000
_KINDS = {".yaml", ".yml", ".md", ".txt", ".png", ".jpg", ".jpeg", ".webp", ".json", ""}
"""Suffixes of the files that a pack may hold: data and a licence, no programs."""


def install_pack(source: Path) -> tuple[Pack, Pack | None]:
    """Install a pack from a folder or a zip file; it replaces an installed pack of the same name.

    Returns:
        The installed pack, and the one that it replaced.

    Raises:
        PackError: the source is not a pack, has a file that is not allowed, or has an invalid persona.
        StorageError: the folder of packs cannot be written.
    """
    with _unpacked(source) as folder:
        try:
            pack = read_pack(folder)
            _check_personas(pack)
        except PackError as error:
            # People know the zip file, and not the temporary folder.
            raise PackError(str(error).replace(str(folder), str(source))) from error
        return _move_in(pack)


def remove_pack(name: str) -> Pack:
    """Remove an installed pack.

    Raises:
        PackError: there is no pack of this name, or it cannot be removed.
    """
    packs, _ = installed_packs()
    by_name = {pack.manifest.name: pack for pack in packs}
    if name not in by_name:
        raise PackError(
            f"There is no installed pack {name!r}{did_you_mean(name, by_name)}; "
            "“rolellm persona pack list” shows all."
        )
    pack = by_name[name]
    try:
        gone = pack.folder.with_name(f".{pack.folder.name}.removed")
        pack.folder.rename(gone)
        shutil.rmtree(gone)
    except OSError as error:
        raise PackError(f"{pack.folder} cannot be removed ({error.strerror}).") from error
    return pack


def _check_personas(pack: Pack) -> None:
    if not pack.personas and not pack.scenes:
        raise PackError(f"The pack {pack.manifest.name} contains no persona and no scene; add some.")
    ids: dict[str, Path] = {}
    for path in pack.personas:
        try:
            persona = read_persona(path)
            read_portrait(persona, path.parent)
        except PersonaError as error:
            raise PackError(f"The pack cannot be used: {path.name}: {error}") from error
        if persona.id in ids:
            raise PackError(
                f"The pack holds {persona.id} twice, in {ids[persona.id].name} and {path.name}; remove one."
            )
        ids[persona.id] = path


def _move_in(pack: Pack) -> tuple[Pack, Pack | None]:
    """Put a checked pack into the folder of packs, in one step."""
    home = make_folder(user_paths().packs)
    target = home / pack.manifest.name
    replaced = read_pack(target) if (target / MANIFEST).is_file() else None
    aside = home / f".{pack.manifest.name}.replaced"
    try:
        with tempfile.TemporaryDirectory(dir=home, prefix=".new-") as new:
            shutil.copytree(pack.folder, Path(new) / "pack")
            shutil.rmtree(aside, ignore_errors=True)
            if target.exists():
                target.rename(aside)
            (Path(new) / "pack").rename(target)
        shutil.rmtree(aside, ignore_errors=True)
    except OSError as error:
        if aside.exists() and not target.exists():
            aside.rename(target)
        raise PackError(
            f"The pack cannot be put into {home} ({error.strerror}); check permissions and free space."
        ) from error
    return read_pack(target), replaced


@contextmanager
def _unpacked(source: Path) -> Iterator[Path]:
    """The pack's folder: the given one, or a temporary one with the contents of the zip file."""
    if source.is_dir():
        _check_folder(source)
        yield source
    elif zipfile.is_zipfile(source):
        with tempfile.TemporaryDirectory(prefix="rolellm-pack-") as folder:
            _extract(source, Path(folder))
            yield _top(Path(folder))
    elif source.exists():
        raise PackError(f"{source} is neither a folder nor a zip file; a pack is one of them.")
    else:
        raise PackError(f"There is no pack at {source}; name a folder or a zip file.")


def _top(folder: Path) -> Path:
    """The top folder of an unpacked zip file, which may be the only entry of `folder`."""
    entries = list(folder.iterdir())
    return entries[0] if len(entries) == 1 and entries[0].is_dir() else folder


def _check_folder(folder: Path) -> None:
    files = 0
    size = 0
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            raise PackError(
                f"The pack holds a link ({name}), which is not allowed; replace it with the file."
            )
        _check_levels(name)
        if path.is_file():
            files, size = files + 1, size + path.stat().st_size
            _check_name(name)
        elif not path.is_dir():
            raise PackError(f"The pack holds {name}, which is neither a file nor a folder; remove it.")
    _check_size(folder, files, size)


def _extract(source: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(source) as archive:
            # `ZipInfo.is_dir` fails for an empty path.
            members = [member for member in archive.infolist() if not member.filename.endswith("/")]
            for member in members:
                if stat.S_ISLNK(member.external_attr >> 16):
                    raise PackError(f"The pack holds a link ({member.filename}), which is not allowed.")
                _check_name(member.filename)
            _check_size(source, len(members), sum(member.file_size for member in members))
            for member in members:
                archive.extract(member, folder)
    except PackError:
        raise
    except OSError as error:
        raise PackError(f"{source} cannot be unpacked ({error.strerror or error}).") from error
    except Exception as error:
        # The decompressors raise their own errors.
        raise PackError(f"{source} is a damaged or locked zip file ({error}).") from error


def _check_name(name: str) -> None:
    """Refuse a path that leads out of the pack, and a file of a kind that is not allowed."""
    path = PurePosixPath(name.replace("\\", "/"))
    if not path.parts or path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
        raise PackError(f"The pack holds a path that leads out of it ({name}); it was not installed.")
    _check_levels(name)
    if path.suffix.lower() not in _KINDS:
        raise PackError(
            f"The pack holds {name}; a pack holds texts and pictures only, so it was not installed."
        )


def _check_levels(name: str) -> None:
    """Refuse a path on which functions that descend into folders would run out of stack."""
    if len(PurePosixPath(name.replace("\\", "/")).parts) > PATH_LEVELS:
        raise PackError(f"The pack holds a path of more than {PATH_LEVELS} levels ({name[:80]}…).")


def _check_size(source: Path, files: int, size: int) -> None:
    if files > _MOST_FILES or size > _MOST_BYTES:
        raise PackError(
            f"{source} holds {files:,} files with {size / 1e6:,.0f} MB; at most {_MOST_FILES:,} files with "
            f"{_MOST_BYTES / 1e6:,.0f} MB are installed."
        )
