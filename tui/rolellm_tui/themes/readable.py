"""Coloured texts that can be read on the backgrounds of a theme.

Themes choose their colours for areas and lines; as texts some of them are too faint.
"""

from collections.abc import Iterator, Mapping

from textual.color import BLACK, WHITE, Color, ColorParseError

LEAST = 4.5
"""The least contrast of texts, as WCAG 2.2 asks for at level AA."""
_INKS = (
    *("text-primary", "text-secondary", "text-accent", "text-warning", "text-error", "text-success"),
    "foreground-muted",
)
_SELECTED = 0.25
"""The share of the primary colour in the background of a selected row, as in the style sheets."""
_STEPS = 20


def with_readable_texts(variables: Mapping[str, str]) -> dict[str, str]:
    """The variables of style sheets, with texts made brighter or darker where they are too faint."""
    changed = dict(variables)
    papers = list(_papers(variables))
    for name in _INKS:
        ink = _opaque(variables, name)
        if ink is not None and papers:
            changed[name] = _readable(ink, papers).hex
    return changed


def contrast(one: Color, other: Color) -> float:
    """The contrast of two opaque colours, from 1 to 21, as WCAG defines it."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _papers(variables: Mapping[str, str]) -> Iterator[Color]:
    """The backgrounds that texts have."""
    raise_by, primary = _parsed(variables, "boost"), _parsed(variables, "primary")
    for name in ("background", "surface"):
        paper = _opaque(variables, name)
        if paper is not None:
            yield paper
            yield paper + raise_by if raise_by else paper
            yield paper + primary.with_alpha(_SELECTED) if primary else paper


def _readable(ink: Color, papers: list[Color]) -> Color:
    dark = sum(_luminance(paper) for paper in papers) / len(papers) < 0.18
    for step in range(_STEPS + 1):
        tried = ink.blend(WHITE if dark else BLACK, step / _STEPS)
        if all(contrast(tried, paper) >= LEAST for paper in papers):
            return tried
    return WHITE if dark else BLACK


def _opaque(variables: Mapping[str, str], name: str) -> Color | None:
    """The colour over the theme's background; None for the terminal's own colours."""
    color, background = _parsed(variables, name), _parsed(variables, "background")
    return background + color if color and background else None


def _parsed(variables: Mapping[str, str], name: str) -> Color | None:
    try:
        color = Color.parse(variables[name])
    except ColorParseError:
        return None
    return None if color.ansi is not None else color


def _luminance(color: Color) -> float:
    def linear(share: float) -> float:
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(value / 255) for value in color.rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
