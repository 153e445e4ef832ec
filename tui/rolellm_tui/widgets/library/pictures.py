"""Pictures from outside, made small and safe to draw.

A portrait may come from a stranger: its size is looked at before anything is decoded, only four formats
are tried, and whatever is wrong with it is one sentence and not a crash. Pillow is imported where it is
used, since most of the cast has no portrait.
"""

import stat
from io import BytesIO
from typing import TYPE_CHECKING

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import FoundPersona
from rolellm_agents.persona.from_card.conversion import read_portrait

if TYPE_CHECKING:
    from PIL.Image import Image

PICTURE_BYTES = 20 * 2**20
"""Maximum size of a picture file, in bytes."""
SIDE = 768
"""Maximum side of a loaded picture, in pixels."""
_FORMATS = ("PNG", "JPEG", "WEBP", "GIF")


def load_portrait(found: FoundPersona) -> "Image | None":
    """Read a persona's portrait, at most `SIDE` pixels wide and high, as RGBA; None when there is none.

    Raises:
        PersonaError: the file is not there, too large, or no picture.
    """
    if found.persona.portrait is None:
        return None
    path = found.path.parent / found.persona.portrait
    try:
        facts = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name cannot be one"
        raise PersonaError(f"The portrait {path.name} cannot be read ({reason}).") from error
    if not stat.S_ISREG(facts.st_mode):
        raise PersonaError(f"The portrait {path.name} is no file.")
    if facts.st_size > PICTURE_BYTES:
        raise PersonaError(
            f"The portrait {path.name} is larger than {PICTURE_BYTES // 2**20} MB; save it smaller."
        )
    content = read_portrait(found.persona, found.path.parent) or b""
    return decode(content, path.name)


def decode(content: bytes, name: str) -> "Image":
    """A picture's bytes as a small RGBA image; of an animation the first frame.

    Args:
        content: a PNG, JPEG, WebP or GIF.
        name: what the sentence calls it when it cannot be read.

    Raises:
        PersonaError: it has too many pixels, or is no picture.
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
        # Decoders raise whatever a damaged file leads them to.
        raise PersonaError(
            f"The portrait {name} is damaged, or no picture that can be shown; give another."
        ) from error


def fitted(width: int, height: int, columns: int, rows: int) -> tuple[int, int]:
    """The largest size in cells that keeps a picture's shape within a box; a cell is twice as high as wide.

    Args:
        width: the picture's, in pixels.
        height: the picture's, in pixels.
        columns: the box's width, at least 1.
        rows: the box's height, at least 1.
    """
    scale = min(columns / width, 2 * rows / height)
    return max(1, min(columns, round(width * scale))), max(1, min(rows, round(height * scale / 2)))


def half_blocks(image: "Image", columns: int, rows: int, background: tuple[int, int, int]) -> list[Strip]:
    """A picture as lines of half blocks, two pixels in a cell.

    textual-image draws such blocks too, but its import asks the terminal for what it can do, and while the
    app runs nobody but the app hears the answer.

    Args:
        image: an RGBA image.
        columns: cells in a line.
        rows: lines.
        background: the colour that shows through where the picture is transparent, as red, green and blue.
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
