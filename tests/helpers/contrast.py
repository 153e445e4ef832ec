"""The contrast of texts as they are drawn, by the formula of WCAG 2.2."""

import unicodedata
from collections.abc import Iterator
from typing import Any, NamedTuple

from rich.color import Color as RichColor
from textual.app import App
from textual.color import Color
from textual.geometry import Region
from textual.widget import Widget

_DRAWN = range(0x2500, 0x2600)
"""Lines, blocks and shapes: they are no text."""


class Drawn(NamedTuple):
    """A piece of text on the screen."""

    text: str
    ink: Color
    paper: Color

    @property
    def contrast(self) -> float:
        """From 1 to 21."""
        return contrast(self.ink, self.paper)


def contrast(one: Color, other: Color) -> float:
    """The contrast of two opaque colours, from 1 to 21."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(color: Color) -> float:
    def linear(share: float) -> float:
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(value / 255) for value in color.rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def drawn_texts(app: App[Any]) -> Iterator[Drawn]:
    """The texts of the screen on top, without those of controls that are disabled.

    WCAG asks for no contrast of disabled controls. Behind a window, the screen below it is shown dimmed.
    """
    screen = app.screen
    windows = [child.region for child in screen.children] if screen.is_modal else [screen.region]
    disabled = [widget.region for widget in screen.walk_children(Widget) if widget.disabled]
    for y, strip in enumerate(screen._compositor.render_strips()):
        x = 0
        for segment in strip:
            text, style = segment.text, segment.style
            place = Region(x, y, segment.cell_length, 1)
            x += segment.cell_length
            if style is None or style.color is None or style.bgcolor is None or not _is_text(text):
                continue
            if _is_within(place, disabled) or not _is_within(place, windows):
                continue
            ink, paper = _color(style.color), _color(style.bgcolor)
            yield Drawn(text.strip(), paper, ink) if style.reverse else Drawn(text.strip(), ink, paper)


def _is_within(place: Region, regions: list[Region]) -> bool:
    return any(region.contains_region(place) for region in regions)


def _is_text(text: str) -> bool:
    return any(ord(character) not in _DRAWN and not character.isspace() for character in text) and any(
        unicodedata.category(character)[0] in "LNPS" for character in text
    )


def _color(color: RichColor) -> Color:
    return Color(*color.get_truecolor())
