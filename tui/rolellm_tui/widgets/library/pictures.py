"""Decode and scale untrusted pictures.

A portrait may come from an unknown source. Its size is therefore checked before it is decoded, only four
formats are accepted, and every fault becomes an error with one sentence. Pillow is imported in the
functions that use it, because most personas have no portrait.
"""

from io import BytesIO
from typing import TYPE_CHECKING

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import FoundPersona
from rolellm_agents.persona.portrait import read_portrait
from rolellm_agents.text import one_line

if TYPE_CHECKING:
    from PIL.Image import Image

SIDE = 768
"""Maximum side of a loaded picture, in pixels."""
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")


def load_portrait(found: FoundPersona) -> "Image | None":
    """Read a persona's portrait, at most `SIDE` pixels wide and high, as RGBA; None when there is none.

    Raises:
        PersonaError: the file is missing, outside of the persona's folder, too large, or not a picture.
    """
    content = read_portrait(found.persona, found.path.parent)
    return None if content is None else decode(content, one_line(found.persona.portrait or "", 80))


def decode(content: bytes, name: str) -> "Image":
    """Decode a picture as a small RGBA image, at most `SIDE` pixels wide and high.

    Args:
        content: a PNG, JPEG, WebP or GIF file; of an animation the first frame is used.
        name: the picture's name in error messages.

    Raises:
        PersonaError: the picture has too many pixels, or the content is not a picture.
    """
    from PIL import Image, ImageOps

    limit = Image.MAX_IMAGE_PIXELS or 0
    try:
        with Image.open(BytesIO(content), formats=_FORMATS) as opened:
            if opened.width * opened.height > limit:
                raise Image.DecompressionBombError
            opened.thumbnail((SIDE, SIDE))
            return ImageOps.exif_transpose(opened).convert("RGBA")
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise PersonaError(
            f"The portrait {name} has more than {limit // 10**6} million pixels; save it smaller."
        ) from error
    except Exception as error:
        # Decoders raise many types of exceptions for damaged files.
        raise PersonaError(
            f"The portrait {name} is damaged, or not a supported picture; use another."
        ) from error


def fitted(width: int, height: int, columns: int, rows: int) -> tuple[int, int]:
    """The largest size, in cells, of a picture that fits into a box without distortion.

    A cell is twice as high as wide.

    Args:
        width: the width of the picture in pixels.
        height: the height of the picture in pixels.
        columns: the width of the box in cells, at least 1.
        rows: the height of the box in cells, at least 1.
    """
    scale = min(columns / width, 2 * rows / height)
    return max(1, min(columns, round(width * scale))), max(1, min(rows, round(height * scale / 2)))


def half_blocks(image: "Image", columns: int, rows: int, background: tuple[int, int, int]) -> list[Strip]:
    """Draw a picture with half blocks, two pixels in a cell.

    textual-image can draw half blocks, too, but its import queries the terminal, whose response would reach
    the running app as input.

    Args:
        image: an RGBA image.
        columns: the width in cells.
        rows: the height in cells.
        background: the colour behind transparent pixels, as red, green and blue from 0 to 255.
    """
    from PIL import Image

    small = image.resize((columns, 2 * rows))
    flat = Image.alpha_composite(Image.new("RGBA", small.size, (*background, 255)), small)
    points = flat.convert("RGB").tobytes()

    def colour(column: int, line: int) -> Color:
        offset = 3 * (line * columns + column)
        return Color.from_rgb(*points[offset : offset + 3])

    return [
        Strip(
            [
                Segment("▀", Style(color=colour(column, 2 * row), bgcolor=colour(column, 2 * row + 1)))
                for column in range(columns)
            ],
            columns,
        )
        for row in range(rows)
    ]
