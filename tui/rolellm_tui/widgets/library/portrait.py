"""The portrait of a persona, or its initials."""

import asyncio
import hashlib
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import work
from textual.app import ComposeResult
from textual.containers import Container
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import FoundPersona
from rolellm_agents.text import one_line
from rolellm_tui.widgets.library.pictures import fitted, half_blocks, load_portrait

if TYPE_CHECKING:
    from PIL.Image import Image

    PixelWidget = Callable[[Image], Widget]
    """Creates a widget that draws a picture in pixels."""

TINTS = 6
"""Number of frame colours; the style sheet names them `tint-0` and so on."""
_PAUSE = 0.05
"""Seconds before the portrait of a highlighted persona is loaded."""
_SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".img"}
_TITLES = {"the", "dr", "mr", "mrs", "ms", "sir"}
_CHINESE = re.compile(r"[\u3400-\u9fff]")


def find_pixels() -> "PixelWidget | None":
    """Find a renderer for pixels (Sixel or Kitty's protocol); None means half blocks.

    Call it before the app runs, because it queries the terminal, whose response arrives on standard input.
    It sends no query when there is no terminal, as under textual-serve, or when no persona has a picture.
    """
    streams = (sys.__stdin__, sys.__stdout__)
    if not all(stream and stream.isatty() for stream in streams) or not _any_pictures():
        return None
    if os.environ.get("TERM_PROGRAM") == "WarpTerminal":
        # It reports support for Kitty's protocol but then shows nothing.
        return None
    from textual_image.renderable import Image, SixelImage, TGPImage
    from textual_image.widget import Image as ImageWidget

    return ImageWidget if Image in (SixelImage, TGPImage) else None


def _any_pictures() -> bool:
    paths = user_paths()
    return any(
        path.suffix.lower() in _SUFFIXES
        for folder, pattern in ((paths.personas, "*.*"), (paths.packs, "*/**/*.*"))
        for path in folder.glob(pattern)
    )


def initials(name: str) -> str:
    """The initials of a name; for Chinese, its last two characters."""
    if _CHINESE.search(name):
        return "".join(_CHINESE.findall(name))[-2:]
    words = re.findall(r"[^\W\d_]+", name)
    without_titles = [word for word in words if word.casefold() not in _TITLES] or words
    return "".join(word[0] for word in without_titles[:2]).upper() or "?"


class Portrait(Container):
    """Shows the persona `found`; initials until the picture is loaded."""

    DEFAULT_CSS = """
    Portrait { width: auto; height: auto; }
    Portrait > .initials { content-align: center middle; text-style: bold; }
    """

    found: var[FoundPersona | None] = var(None, init=False)
    box: var[tuple[int, int]] = var((20, 10), init=False)
    """Columns and rows."""

    @dataclass
    class Failed(Message):
        """A portrait cannot be shown; the initials stay."""

        found: FoundPersona
        sentence: str

    def __init__(self, pixels: "PixelWidget | None" = None, *, id: str | None = None) -> None:  # noqa: A002
        """Create an empty portrait.

        Args:
            pixels: from `find_pixels`; half blocks when None.
            id: the id of the widget.
        """
        super().__init__(id=id)
        self._pixels = pixels
        self._image: Image | None = None

    def compose(self) -> ComposeResult:
        """Compose the initials."""
        yield Static(classes="initials", markup=False)

    def watch_found(self, found: FoundPersona | None) -> None:
        """Show the initials, and the picture once it is loaded."""
        self._image = None
        self._draw_initials()
        self._draw_picture(found)

    def watch_box(self) -> None:
        """Resize the picture."""
        self._draw_initials()
        self._draw_picture(self.found)

    def _draw_initials(self) -> None:
        block = self.query_one(".initials", Static)
        columns, rows = self.box
        # Two letters need less room than a face.
        block.styles.width, block.styles.height = min(16, columns * 3 // 4), min(7, rows * 3 // 4)
        if self.found is None:
            block.update("")
            return
        persona = self.found.persona
        block.update(" ".join(initials(one_line(persona.name))))
        tint = hashlib.sha256(persona.id.encode()).digest()[0] % TINTS
        block.set_classes(f"initials tint-{tint}")

    @work(group="portrait", exclusive=True, exit_on_error=False)
    async def _draw_picture(self, found: FoundPersona | None) -> None:
        if found is None or found.persona.portrait is None:
            await self._put(None)
            return
        if self._image is None:
            await self._put(None)
            await asyncio.sleep(_PAUSE)
            try:
                self._image = await asyncio.to_thread(load_portrait, found)
            except PersonaError as error:
                self.post_message(self.Failed(found, str(error)))
                return
        if self._image is not None:
            await self._put(self._drawn(self._image))

    async def _put(self, picture: Widget | None) -> None:
        """Show a picture, or the initials if it is None."""
        await self.query(".picture").remove()
        self.query_one(".initials").display = picture is None
        if picture is not None:
            picture.add_class("picture")
            await self.mount(picture)

    def _drawn(self, image: "Image") -> Widget:
        columns, rows = fitted(image.width, image.height, *self.box)
        if self._pixels is None:
            background = self.background_colors[1].rgb
            return _HalfBlocks(half_blocks(image, columns, rows, background), columns)
        picture = self._pixels(image)
        # textual-image knows the height of this terminal's cells.
        picture.styles.width, picture.styles.height = columns, "auto"
        picture.styles.max_height = self.box[1]
        return picture


class _HalfBlocks(Widget):
    """Lines that were drawn before."""

    def __init__(self, lines: list[Strip], columns: int) -> None:
        super().__init__()
        self._lines = lines
        self.styles.width, self.styles.height = columns, len(lines)

    def render_line(self, y: int) -> Strip:
        return self._lines[y]
