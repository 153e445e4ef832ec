"""Pictures drawn with matplotlib: SVG that follows the reader's light or dark colours, and PNG."""

import io
import re
import warnings
from collections.abc import Callable, Mapping
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ADVICE: Final = "Pictures need matplotlib: pip install 'rolellm-agents[plots]'."
LIGHT: Final[Mapping[str, str]] = {
    "paper": "#ffffff",
    "ink": "#1c1e21",
    "soft": "#5a6068",
    "rule": "#d9dce1",
    "s0": "#0b62a4",
    "s1": "#b5460f",
    "s2": "#1b7a3d",
    "s3": "#8a3aa0",
    "s4": "#7d6300",
    "s5": "#4a4f57",
}
"""The colours of the light theme by their names in the style sheet; `s0` to `s5` are for systems."""
_DARK: Final[Mapping[str, str]] = {
    "paper": "#16181c",
    "ink": "#e6e8eb",
    "soft": "#a3abb5",
    "rule": "#353a42",
    "s0": "#6db3f2",
    "s1": "#f2a25c",
    "s2": "#6fcf8e",
    "s3": "#d694ea",
    "s4": "#d9bf4e",
    "s5": "#c3c8cf",
}
_DPI: Final = 96
_STYLE: Final[Mapping[str, Any]] = {
    "axes.axisbelow": True,
    "axes.edgecolor": LIGHT["soft"],
    "axes.facecolor": LIGHT["paper"],
    "axes.grid": True,
    "axes.labelcolor": LIGHT["ink"],
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": LIGHT["paper"],
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8,
    "grid.color": LIGHT["rule"],
    "legend.frameon": False,
    "svg.fonttype": "none",  # keep text as text, in a font of the reader's machine
    "svg.hashsalt": "rolellm",
    "text.color": LIGHT["ink"],
    "text.parse_math": False,
    "xtick.color": LIGHT["soft"],
    "ytick.color": LIGHT["soft"],
    "ytick.labelcolor": LIGHT["ink"],
    "ytick.left": False,
}


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def svg_picture(draw: "Callable[[Figure], None]", width: float, height: float, alt: str) -> str:
    """Draw an SVG element for a page whose style sheet contains `colour_sheet`.

    Width and height are in pixels; `alt` describes the picture in one sentence.
    """
    svg = _saved(draw, width, height, "svg").decode()
    svg = svg[svg.index("<svg") :].strip()
    svg = re.sub(r"\s*\n(?!\s*<)\s*", " ", svg)
    # Group ids would repeat in each picture of a page. Ids of clips and markers are hashes and stay.
    svg = re.sub(r' id="[\w.]+_\d+"', "", svg)
    for name, colour in LIGHT.items():
        svg = svg.replace(colour, f"var(--{name})")
    label = escape(alt)
    return svg.replace("<svg", f'<svg class="plot" role="img" aria-label="{label}"', 1)


def svg_file(svg: str) -> str:
    """An element of `svg_picture` as a separate file with its own style sheet."""
    return svg.replace(">", f">\n <style>{colour_sheet()}</style>", 1) + "\n"


def png_picture(draw: "Callable[[Figure], None]", width: float, height: float) -> bytes:
    """Draw a PNG in light colours; for the arguments see `svg_picture`."""
    return _saved(draw, width, height, "png")


def colour_sheet() -> str:
    """A style sheet with the colours as CSS variables, for the light and the dark theme."""
    light, dark = (
        " ".join(f"--{name}: {colour};" for name, colour in colours.items()) for colours in (LIGHT, _DARK)
    )
    return f":root {{ {light} }}\n@media (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"


def _saved(draw: "Callable[[Figure], None]", width: float, height: float, form: str) -> bytes:
    from matplotlib import style
    from matplotlib.figure import Figure

    file = io.BytesIO()
    with style.context(["default", dict(_STYLE)]), warnings.catch_warnings():
        # matplotlib measures text with its own font, which has no Chinese glyphs; the reader's fonts have.
        warnings.filterwarnings("ignore", "Glyph .* missing from font", UserWarning)
        figure = Figure((width / _DPI, height / _DPI), dpi=_DPI, layout="constrained")
        draw(figure)
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type")) if form == "svg" else None
        figure.savefig(file, format=form, dpi=_DPI, metadata=nothing)
    return file.getvalue()
