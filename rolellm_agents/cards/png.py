"""Read and replace the text chunks of PNG and APNG files; the picture itself is not changed."""

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from rolellm_agents.cards.errors import CardError
from rolellm_agents.cards.json_text import CARD_BYTES

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_TEXTS = (b"tEXt", b"zTXt", b"iTXt")
_INFLATED = 2 * CARD_BYTES


class Chunk(NamedTuple):
    """A chunk: its type of four letters, its data, and all its bytes including length and checksum."""

    kind: bytes
    data: bytes
    whole: bytes


class TextChunk(NamedTuple):
    """A text of a PNG: its keyword in lower case, and its value."""

    keyword: str
    value: bytes


def is_png(content: bytes) -> bool:
    """Whether the content begins with the PNG signature."""
    return content.startswith(SIGNATURE)


def read_texts(png: bytes, what: str) -> list[TextChunk]:
    """All texts of a PNG, plain, compressed or international, in the file's order.

    Raises:
        CardError: the file is truncated, or a compressed text is too large.
    """
    return [text for chunk in _chunks(png, what) if (text := _text(chunk, what))]


def with_texts(
    png: bytes, without: Callable[[str], bool], texts: Iterable[tuple[str, bytes]], what: str
) -> bytes:
    """Replace text chunks; all other bytes stay the same.

    `without` says whether to remove the texts of a keyword, which is in lower case. `texts`, keywords with
    their values, are inserted before the end.

    Raises:
        CardError: the file is truncated.
    """
    parts = [SIGNATURE]
    end = b""
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
    while at < len(png):
        head = png[at : at + 8]
        if len(head) < 8:
            raise CardError(f"{what} is truncated; get a new copy of the file.")
        length, kind = struct.unpack(">I4s", head)
        end = at + 12 + length
        if end > len(png):
            raise CardError(f"{what} is truncated; get a new copy of the file.")
        # The checksum is not verified, because some card editors write wrong ones.
        yield Chunk(kind, png[at + 8 : end - 4], png[at:end])
        at = end
        if kind == b"IEND":
            return
    raise CardError(f"{what} is truncated; get a new copy of the file.")


def _framed(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _keyword(data: bytes) -> str:
    return data.partition(b"\0")[0][:200].decode("latin-1").casefold()


def _text(chunk: Chunk, what: str) -> TextChunk | None:
    if chunk.kind not in _TEXTS:
        return None
    keyword, found, rest = chunk.data.partition(b"\0")
    if not found:
        return None
    if chunk.kind == b"tEXt":
        value = rest
    elif chunk.kind == b"zTXt":
        value = _inflated(rest[1:], what)
    else:
        is_compressed = rest[:1] == b"\1"
        value = rest[2:].split(b"\0", 2)[-1]
        value = _inflated(value, what) if is_compressed else value
    return TextChunk(keyword[:200].decode("latin-1").casefold(), value)


def _inflated(packed: bytes, what: str) -> bytes:
    inflater = zlib.decompressobj()
    try:
        value = inflater.decompress(packed, _INFLATED)
    except zlib.error:
        return b""
    if inflater.unconsumed_tail:
        raise CardError(f"A text in {what} decompresses to more than {_INFLATED:,} bytes; it is not read.")
    return value
