"""Read and replace the text chunks of PNG and APNG files; the picture itself is not changed."""

import struct
import zlib
from collections.abc import Callable, Container, Iterable, Iterator
from typing import NamedTuple

from rolellm_agents.cards.errors import CardError
from rolellm_agents.cards.json_text import CARD_BYTES

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_TEXTS = (b"tEXt", b"zTXt", b"iTXt")
_LONGEST_KEYWORD = 200
_INFLATED = 2 * CARD_BYTES
"""The most bytes of all compressed texts that are read from one file, together."""


class Chunk(NamedTuple):
    """A chunk: its type of four letters, its data, and all its bytes including length and checksum."""

    kind: bytes
    data: memoryview
    whole: memoryview


def is_png(content: bytes) -> bool:
    """Whether the content begins with the PNG signature."""
    return content.startswith(SIGNATURE)


def text_keywords(png: bytes, what: str) -> list[str]:
    """The keywords of all texts of a PNG, in lower case and in the file's order; no text is read.

    Raises:
        CardError: the file is truncated.
    """
    return [_keyword(chunk.data) for chunk in _text_chunks(png, what)]


def read_texts(png: bytes, keywords: Container[str], what: str) -> dict[str, bytes]:
    """The texts of a PNG with these keywords: plain, compressed or international.

    Other texts are not decompressed. If a keyword is repeated, its first text is used.

    Raises:
        CardError: the file is truncated, or the compressed texts are too large together.
    """
    found: dict[str, bytes] = {}
    left = _INFLATED
    for chunk in _text_chunks(png, what):
        keyword = _keyword(chunk.data)
        if keyword in keywords and keyword not in found:
            value, is_compressed = _packed_text(chunk)
            found[keyword] = _inflated(value, left, what) if is_compressed else value
            left -= len(found[keyword]) if is_compressed else 0
    return found


def with_texts(
    png: bytes, without: Callable[[str], bool], texts: Iterable[tuple[str, bytes]], what: str
) -> bytes:
    """Replace text chunks; all other bytes stay the same.

    `without` says whether to remove the texts of a keyword, which is in lower case. `texts`, keywords with
    their values, are inserted before the end.

    Raises:
        CardError: the file is truncated.
    """
    parts: list[bytes | memoryview] = [SIGNATURE]
    end: bytes | memoryview = b""
    for chunk in _chunks(png, what):
        if chunk.kind == b"IEND":
            end = chunk.whole
        elif chunk.kind not in _TEXTS or not without(_keyword(chunk.data)):
            parts.append(chunk.whole)
    used = sum(len(chunk.whole) for chunk in _chunks(png, what)) + len(SIGNATURE)
    parts += [_framed(b"tEXt", keyword.encode("latin-1") + b"\0" + value) for keyword, value in texts]
    return b"".join([*parts, end, png[used:]])


def plain_picture(red: int, green: int, blue: int, width: int = 400, height: int = 600) -> bytes:
    """A picture for a card without one: a single colour that gets darker towards the bottom."""
    rows = bytearray()
    for row in range(height):
        shade = 1 - 0.6 * row / height
        rows += b"\0" + bytes((int(red * shade), int(green * shade), int(blue * shade))) * width
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"".join(
        [
            SIGNATURE,
            _framed(b"IHDR", header),
            _framed(b"IDAT", zlib.compress(bytes(rows), 9)),
            _framed(b"IEND", b""),
        ]
    )


def _chunks(png: bytes, what: str) -> Iterator[Chunk]:
    if not is_png(png):
        raise CardError(f"{what} is no PNG file.")
    at = len(SIGNATURE)
    view = memoryview(png)  # slices of it are no copies
    while at < len(png):
        head = png[at : at + 8]
        if len(head) < 8:
            raise CardError(f"{what} is truncated; get a new copy of the file.")
        length, kind = struct.unpack(">I4s", head)
        end = at + 12 + length
        if end > len(png):
            raise CardError(f"{what} is truncated; get a new copy of the file.")
        # The checksum is not verified, because some card editors write wrong ones.
        yield Chunk(kind, view[at + 8 : end - 4], view[at:end])
        at = end
        if kind == b"IEND":
            return
    raise CardError(f"{what} is truncated; get a new copy of the file.")


def _framed(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _text_chunks(png: bytes, what: str) -> Iterator[Chunk]:
    """The chunks of texts that have a keyword."""
    return (chunk for chunk in _chunks(png, what) if chunk.kind in _TEXTS and 0 in chunk.data)


def _keyword(data: memoryview) -> str:
    return bytes(data[:_LONGEST_KEYWORD]).partition(b"\0")[0].decode("latin-1").casefold()


def _packed_text(chunk: Chunk) -> tuple[bytes, bool]:
    """The bytes of a text, and whether they are compressed."""
    rest = bytes(chunk.data).partition(b"\0")[2]
    if chunk.kind == b"tEXt":
        return rest, False
    if chunk.kind == b"zTXt":
        return rest[1:], True
    return rest[2:].split(b"\0", 2)[-1], rest[:1] == b"\1"


def _inflated(packed: bytes, most: int, what: str) -> bytes:
    inflater = zlib.decompressobj()
    try:
        value = inflater.decompress(packed, most + 1)
    except zlib.error:
        return b""
    if len(value) > most:
        raise CardError(
            f"The texts in {what} decompress to more than {_INFLATED:,} bytes; the file is not read."
        )
    return value
