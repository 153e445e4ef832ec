"""Recognise a picture by its first bytes; no pixel is decoded."""

import struct
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

PictureFormat = Literal["png", "jpg", "webp", "gif"]


class PictureHead(NamedTuple):
    """What the head of a picture says."""

    format: PictureFormat
    """Also the suffix of such files."""
    width: int
    """Width in pixels, at least 1."""
    height: int
    """Height in pixels, at least 1."""


def picture_head(content: bytes) -> PictureHead | None:
    """The head of a PNG (also APNG), JPEG, WebP or GIF; None for other contents and truncated heads."""
    for format_, size_of in _SIZES.items():
        try:
            size = size_of(content)
        except (struct.error, IndexError):
            return None
        if size is not None:
            return PictureHead(format_, *size) if min(size) > 0 else None
    return None


def _png(content: bytes) -> tuple[int, int] | None:
    if not content.startswith(b"\x89PNG\r\n\x1a\n"):
        return None
    width, height = struct.unpack_from(">II", content, 16)
    return (width, height) if content[12:16] == b"IHDR" else (0, 0)


def _jpg(content: bytes) -> tuple[int, int] | None:
    if not content.startswith(b"\xff\xd8\xff"):
        return None
    for marker, at in _jpg_segments(content):
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):  # a frame, no table
            height, width = struct.unpack_from(">HH", content, at + 3)
            return width, height
    return 0, 0


def _jpg_segments(content: bytes) -> Iterator[tuple[int, int]]:
    """Markers, and where the length of their segment stands."""
    at = 2
    while (at := content.find(b"\xff", at)) >= 0:
        marker = content[at + 1]
        if marker == 0xDA:  # the pixels
            return
        at += 1
        if marker not in (0x00, 0x01, 0xFF) and not 0xD0 <= marker <= 0xD8:
            yield marker, at + 1
            at += 1 + max(2, struct.unpack_from(">H", content, at + 1)[0])


def _webp(content: bytes) -> tuple[int, int] | None:
    if content[:4] != b"RIFF" or content[8:12] != b"WEBP":
        return None
    kind = content[12:16]
    if kind == b"VP8X":
        width, height = (int.from_bytes(content[at : at + 3], "little") for at in (24, 27))
        return (width + 1, height + 1) if len(content) >= 30 else (0, 0)
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", content, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack_from("<HH", content, 26)
    return (width & 0x3FFF, height & 0x3FFF) if kind == b"VP8 " else (0, 0)


def _gif(content: bytes) -> tuple[int, int] | None:
    if not content.startswith((b"GIF87a", b"GIF89a")):
        return None
    width, height = struct.unpack_from("<HH", content, 6)
    return width, height


_SIZES: dict[PictureFormat, Callable[[bytes], tuple[int, int] | None]] = {
    "png": _png,
    "jpg": _jpg,
    "webp": _webp,
    "gif": _gif,
}
"""For each format: width and height; None for other formats, and zeros for a damaged head."""
