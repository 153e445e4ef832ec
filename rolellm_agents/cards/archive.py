"""Zip files of cards such as CharX, which may be appended to a picture; members are read one at a time."""

import zipfile
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path, PurePosixPath

from rolellm_agents.cards.errors import CardError

ARCHIVE_ENTRIES = 5_000
ARCHIVE_BYTES = 1_024 * 2**20
"""The most bytes of all members together, unpacked."""
ARCHIVE_RATIO = 200
"""The highest compression ratio of a member above `SMALL` bytes; a higher one indicates a zip bomb."""
SMALL = 10 * 2**20
PATH_LEVELS = 50
"""The deepest path of a member, in folders and file."""


class Archive(Mapping[str, bytes]):
    """The members of a zip file by path, read on access and never unpacked to disk.

    Unsafe paths are nevertheless rejected, because another program might unpack them.
    """

    def __init__(self, source: Path | bytes, what: str) -> None:
        """Read the directory of an archive.

        Raises:
            CardError: the archive is damaged, encrypted or too large, or has an unsafe path.
        """
        self._source = source
        self._what = what
        with self._open() as archive:
            # `ZipInfo.is_dir` fails for an empty path.
            members = [member for member in archive.infolist() if not member.filename.endswith("/")]
        _check(members, what)
        self._members = {member.filename: member for member in members}

    def _open(self) -> zipfile.ZipFile:
        source = BytesIO(self._source) if isinstance(self._source, bytes) else self._source
        try:
            return zipfile.ZipFile(source)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise CardError(f"{self._what} is a damaged archive ({error}); get a new copy.") from None

    def __getitem__(self, path: str) -> bytes:
        member = self._members[path]
        try:
            with self._open() as archive:
                return archive.read(member)
        except (
            zipfile.BadZipFile,
            RuntimeError,
            NotImplementedError,
            EOFError,
            OSError,
            ValueError,
        ) as error:
            raise CardError(f"{path} in {self._what} is damaged ({error}); get a new copy.") from None
        except Exception as error:
            # The decompressors raise their own errors.
            raise CardError(
                f"{path} in {self._what} cannot be unpacked ({error}); get a new copy."
            ) from error

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)


def is_archive(source: Path | bytes) -> bool:
    """Whether the content ends with the directory of a zip file."""
    return zipfile.is_zipfile(BytesIO(source) if isinstance(source, bytes) else source)


def is_safe_path(path: str) -> bool:
    """Whether a member's path can be created inside the archive's folder on every operating system."""
    parts = PurePosixPath(path.replace("\\", "/"))
    first = parts.parts[0] if parts.parts else ""
    leads_out = parts.is_absolute() or ".." in parts.parts or first.endswith(":") or "\0" in path
    return not leads_out and 1 <= len(parts.parts) <= PATH_LEVELS


def _check(members: list[zipfile.ZipInfo], what: str) -> None:
    if len(members) > ARCHIVE_ENTRIES:
        raise CardError(f"{what} holds {len(members):,} files; at most {ARCHIVE_ENTRIES:,} are read.")
    if sum(member.file_size for member in members) > ARCHIVE_BYTES:
        raise CardError(f"{what} unpacks to more than {ARCHIVE_BYTES // 2**20:,} MiB; it is not read.")
    for member in members:
        if member.flag_bits & 1:
            raise CardError(f"{what} is encrypted; save it without a password.")
        if not is_safe_path(member.filename):
            raise CardError(
                f"{what} holds a path that leads out of it, is empty, or has over {PATH_LEVELS} levels "
                f"({member.filename[:80]!r})."
            )
        if member.file_size > max(SMALL, ARCHIVE_RATIO * member.compress_size):
            raise CardError(
                f"{member.filename!r} in {what} unpacks to {member.file_size:,} bytes, far more "
                "than its compressed size; it is not read."
            )
