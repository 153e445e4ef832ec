"""The pages of an SQLite file and its write-ahead log, read without SQLite, which refuses a damaged file.

The format is described at https://www.sqlite.org/fileformat2.html. A page or a row that does not follow it
is left out.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

Value = int | float | str | bytes | None
Progress = Callable[[int, int], None]
"""Called with the number of pages that were read and of all pages."""

_USUAL_SIZE: Final = 4096
_HEADER: Final = 100
"""Bytes of the file's header, which precede the first page's own."""
_WAL_HEADER, _FRAME_HEADER = 32, 24
_WAL_MAGIC: Final = (0x377F0682, 0x377F0683)
_TABLE_LEAF, _TABLE_INTERIOR, _INDEX_LEAF, _INDEX_INTERIOR = 0x0D, 0x05, 0x0A, 0x02
_MOST_COLUMNS: Final = 20


@dataclass(frozen=True)
class Row:
    """One row of a table or an index."""

    number: int | None
    """The rowid; None for rows of an index, and of a table without rowids."""
    page: int
    """The number of its page."""
    values: tuple[Value, ...]
    torn: bool
    """Whether the last value lacks its end, or a text contains bytes that are not UTF-8."""


class Pages:
    """All pages of a file, and all versions of them in its write-ahead log."""

    def __init__(self, file: BinaryIO, log: BinaryIO | None) -> None:
        """Read the headers; both files stay open and belong to the caller."""
        self._file, self._log = file, log
        header = file.read(_HEADER)
        self._size = _page_size(header) or _log_page_size(log) or _USUAL_SIZE
        reserved = header[20] if _page_size(header) and header[20] <= 32 else 0
        self._usable = self._size - reserved
        self._count = -(-_length(file) // self._size)
        self._frames = [] if log is None else _committed_frames(log, self._size)
        self._latest = dict(self._frames)

    def rows(self, progress: Progress) -> Iterator[Row]:
        """Every row that can be read, the oldest version of a page first; the same row may occur often."""
        total = self._count + len(self._frames)
        for number in range(1, self._count + 1):
            progress(number, total)
            yield from self._rows(self._read(self._file, (number - 1) * self._size), number)
        for done, (number, offset) in enumerate(self._frames, self._count + 1):
            progress(done, total)
            if self._log is not None:
                yield from self._rows(self._read(self._log, offset), number)

    def below(self, root: int) -> set[int]:
        """The pages of the tree of a table, as far as it can be followed."""
        found: set[int] = set()
        open_pages = [root]
        while open_pages:
            number = open_pages.pop()
            page = self._page(number)
            if page is None or number in found:
                continue
            found.add(number)
            if page[0] == _TABLE_INTERIOR:
                open_pages += self._children(page)
        return found

    def _children(self, page: bytes) -> Iterator[int]:
        (cells,) = struct.unpack_from(">H", page, 3)
        for place in range(12, min(12 + 2 * cells, self._usable - 1), 2):
            (offset,) = struct.unpack_from(">H", page, place)
            if offset + 4 <= self._usable:
                yield int.from_bytes(page[offset : offset + 4], "big")
        yield int.from_bytes(page[8:12], "big")

    def _read(self, file: BinaryIO, offset: int) -> bytes:
        """A page; a part of the disk that cannot be read counts as zeros."""
        try:
            file.seek(offset)
            return file.read(self._size).ljust(self._size, b"\0")
        except OSError:
            return bytes(self._size)

    def _page(self, number: int) -> bytes | None:
        """The newest version of a page; None if there is no such page."""
        if self._log is not None and number in self._latest:
            return self._read(self._log, self._latest[number])
        return self._read(self._file, (number - 1) * self._size) if 0 < number <= self._count else None

    def _rows(self, page: bytes, number: int) -> Iterator[Row]:
        begin = _HEADER if number == 1 else 0
        kind = page[begin]
        if kind not in (_TABLE_LEAF, _INDEX_LEAF, _INDEX_INTERIOR):
            return
        pointers = begin + (12 if kind == _INDEX_INTERIOR else 8)
        (cells,) = struct.unpack_from(">H", page, begin + 3)
        for place in range(pointers, min(pointers + 2 * cells, self._usable - 1), 2):
            (offset,) = struct.unpack_from(">H", page, place)
            try:
                row = self._row(page, offset + (4 if kind == _INDEX_INTERIOR else 0), kind, number)
            except (IndexError, struct.error):
                continue
            if row is not None:
                yield row

    def _row(self, page: bytes, offset: int, kind: int, place: int) -> Row | None:
        length, offset = _varint(page, offset)
        number = None
        if kind == _TABLE_LEAF:
            number, offset = _varint(page, offset)
        local = _local(length, self._usable, is_table=kind == _TABLE_LEAF)
        if offset + local > self._usable:
            return None
        payload = page[offset : offset + local]
        if local < length:
            (overflow,) = struct.unpack_from(">I", page, offset + local)
            payload += self._overflow(overflow, length - local)
        parsed = _parsed(payload, length)
        return parsed and Row(number, place, *parsed)

    def _overflow(self, number: int, length: int) -> bytes:
        """The content of a chain of pages, as far as it goes."""
        content = b""
        seen: set[int] = set()
        while length > len(content) and number not in seen:
            seen.add(number)
            page = self._page(number)
            if page is None or not any(page):
                break
            (number,) = struct.unpack_from(">I", page)
            content += page[4 : self._usable]
        return content[:length]


def open_log(file: Path) -> Path | None:
    """The write-ahead log beside a file; None if there is none."""
    log = file.with_name(f"{file.name}-wal")
    return log if log.is_file() and log.stat().st_size else None


def _length(file: BinaryIO) -> int:
    return file.seek(0, 2)


def _page_size(header: bytes) -> int:
    """The page size in a file's header; 0 if the header is damaged."""
    if len(header) < _HEADER or not header.startswith(b"SQLite format 3\0"):
        return 0
    return _valid_size(int.from_bytes(header[16:18], "big"))


def _valid_size(size: int) -> int:
    size = 65_536 if size == 1 else size
    return size if 512 <= size <= 65_536 and size & (size - 1) == 0 else 0


def _log_page_size(log: BinaryIO | None) -> int:
    if log is None:
        return 0
    log.seek(0)
    header = log.read(_WAL_HEADER)
    return _valid_size(int.from_bytes(header[8:12], "big")) if len(header) == _WAL_HEADER else 0


def _committed_frames(log: BinaryIO, size: int) -> list[tuple[int, int]]:
    """Page number and offset of each page of the log's complete transactions.

    Checksums are not compared: SQLite ignores everything after the first damaged page, but the pages after
    it are worth reading.
    """
    log.seek(0)
    header = log.read(_WAL_HEADER)
    if len(header) < _WAL_HEADER or int.from_bytes(header[:4], "big") not in _WAL_MAGIC:
        return []
    frames: list[tuple[int, int]] = []
    committed = 0
    for offset in range(_WAL_HEADER, _length(log) - size - _FRAME_HEADER + 1, size + _FRAME_HEADER):
        log.seek(offset)
        number, pages_after_commit, *salts = struct.unpack(">4I", log.read(16))
        if salts != list(struct.unpack(">2I", header[16:24])):
            continue  # left from before the log was last emptied, or damaged
        frames.append((number, offset + _FRAME_HEADER))
        if pages_after_commit:
            committed = len(frames)
    return frames[:committed]


def _local(length: int, usable: int, *, is_table: bool) -> int:
    """How many bytes of a row are in its own page; the others are in overflow pages."""
    most = usable - 35 if is_table else (usable - 12) * 64 // 255 - 23
    if length <= most:
        return length
    least = (usable - 12) * 32 // 255 - 23
    local = least + (length - least) % (usable - 4)
    return local if local <= most else least


def _varint(data: bytes, offset: int) -> tuple[int, int]:
    value = 0
    for place in range(8):
        byte = data[offset + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, offset + place + 1
    value = value << 8 | data[offset + 8]
    return value - (1 << 64 if value >> 63 else 0), offset + 9


def _parsed(payload: bytes, length: int) -> tuple[tuple[Value, ...], bool] | None:
    """A row's values, and whether they are torn; None if more than the last value is missing."""
    header, offset = _varint(payload, 0)
    types: list[int] = []
    while offset < header and len(types) <= _MOST_COLUMNS:
        type_, offset = _varint(payload, offset)
        types.append(type_)
    sizes = [_size_of(type_) for type_ in types]
    if offset != header or not sizes or header + sum(sizes) != length or len(types) > _MOST_COLUMNS:
        return None
    if len(payload) < length - sizes[-1]:
        return None
    torn = len(payload) < length
    values: list[Value] = []
    for type_, size in zip(types, sizes, strict=True):
        value, broken = _value(type_, payload[offset : offset + size])
        values.append(value)
        torn |= broken
        offset += size
    return tuple(values), torn


def _size_of(type_: int) -> int:
    if type_ >= 12:
        return (type_ - 12) // 2
    return (0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0)[type_]


def _value(type_: int, data: bytes) -> tuple[Value, bool]:
    """A value, and whether a part of it is damaged."""
    if type_ >= 13 and type_ % 2:
        try:
            return data.decode(), False
        except UnicodeDecodeError:
            return data.decode(errors="replace"), True
    if type_ >= 12:
        return data, False
    if type_ == 7:
        return (struct.unpack(">d", data)[0], False) if len(data) == 8 else (None, True)
    if type_ in (8, 9):
        return type_ - 8, False
    return (int.from_bytes(data, "big", signed=True), False) if type_ else (None, False)
