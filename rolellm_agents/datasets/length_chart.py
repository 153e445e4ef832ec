"""Draw how long questions and answers are: a histogram for each language and kind, as SVG or PNG."""

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Final, NamedTuple

from rolellm_agents.datasets.statistics import Group, Lengths
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.files.atomic_write import write_atomically

_MOST_BARS: Final = 40
_WIDE, _HIGH, _EDGE = 420, 150, 24
"""Of a panel, and of the white around its bars, in pixels."""
_COLOURS: Final = {"bar": "#4477aa", "line": "#cc6677", "text": "#333333", "paper": "#ffffff"}
_TEXT = 12


class Box(NamedTuple):
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    colour: str


class Label(NamedTuple):
    """A line of text that begins at `x` and stands on `y`."""

    x: float
    y: float
    text: str


class ChartDrawing(NamedTuple):
    """What is drawn, the lowest first."""

    width: int
    height: int
    shapes: Sequence[Box | Label]


def write_chart(file: Path, groups: Sequence[Group]) -> None:
    """Draw the lengths of all groups.

    Args:
        file: its ending, `.svg` or `.png`, says as what.
        groups: each becomes two panels beside each other, questions and answers.

    Raises:
        RoleBenchError: the ending is another one, or the file cannot be written.
    """
    write = _WRITERS.get(file.suffix.lower())
    if write is None:
        raise RoleBenchError(f"{file} is no picture that can be drawn; name one that ends in .svg or .png.")
    write(file, draw(groups))


def draw(groups: Sequence[Group]) -> ChartDrawing:
    """Lay the panels out; each has its own scales."""
    width, height = 2 * _WIDE, max(1, len(groups)) * _HIGH
    shapes: list[Box | Label] = [Box(0, 0, width, height, _COLOURS["paper"])]
    for row, group in enumerate(groups):
        unit = "characters" if group.language == "zh" else "words"
        name = f"{group.language} {group.kind.replace('_', '-')}"
        for column, (what, lengths) in enumerate(
            (("questions", group.instruction_lengths), ("answers", group.answer_lengths))
        ):
            title = f"{name}: {len(lengths.counted):,} {what}, {unit}"
            shapes += _panel(column * _WIDE + _EDGE, row * _HIGH, title, lengths)
    return ChartDrawing(width, height, shapes)


def _panel(x: float, y: float, title: str, lengths: Lengths) -> Iterator[Box | Label]:
    wide, floor, ceiling = _WIDE - 2 * _EDGE, y + _HIGH - _EDGE, y + 2 * _EDGE
    yield Label(x, y + _EDGE, title)
    yield Box(x, floor, wide, 1, _COLOURS["text"])
    if not lengths.counted:
        return
    # The longest hundredth would press all others against the left.
    end = lengths.at(0.99) + 1
    each = -(-end // _MOST_BARS)  # lengths that share a bar: as many for all, so that none is higher for it
    bars = [0] * -(-end // each)
    for length in lengths.counted:
        if length < end:
            bars[length // each] += 1
    step = wide / len(bars)
    for number, held in enumerate(bars):
        tall = (floor - ceiling) * held / max(bars)
        yield Box(x + number * step, floor - tall, step - 1, tall, _COLOURS["bar"])
    median = x + wide * (lengths.at(0.5) + 0.5) / (len(bars) * each)
    yield Box(median, ceiling, 1, floor - ceiling, _COLOURS["line"])
    yield Label(median + 3, ceiling, f"median {lengths.at(0.5)}")
    yield Label(x, floor + _TEXT + 3, "0")
    yield Label(x + wide - 60, floor + _TEXT + 3, f"{end - 1} (99 %)")


def _write_svg(file: Path, drawing: ChartDrawing) -> None:
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{drawing.width}" height="{drawing.height}" '
        f'viewBox="0 0 {drawing.width} {drawing.height}" font-family="sans-serif" font-size="{_TEXT}">'
    ]
    for shape in drawing.shapes:
        match shape:
            case Box(x, y, width, height, colour):
                lines.append(
                    f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
                    f'fill="{colour}"/>'
                )
            case Label(x, y, text):
                lines.append(
                    f'<text x="{x:.1f}" y="{y:.1f}" fill="{_COLOURS["text"]}">{escape(text)}</text>'
                )
    write_atomically(file, "\n".join([*lines, "</svg>"]) + "\n", RoleBenchError)


def _write_png(file: Path, drawing: ChartDrawing) -> None:
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (drawing.width, drawing.height))
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(_TEXT)
    for shape in drawing.shapes:
        match shape:
            case Box(x, y, width, height, colour):
                if width >= 1 and height >= 1:
                    pen.rectangle((x, y, x + width - 1, y + height - 1), fill=colour)
            case Label(x, y, text):
                pen.text((x, y), text, fill=_COLOURS["text"], font=font, anchor="ls")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=f".{file.name}.") as beside:
            image.save(part := Path(beside, "chart.png"))
            part.replace(file)
    except OSError as error:
        raise RoleBenchError(
            f"{file} cannot be written ({error.strerror}); free it, or name another file."
        ) from error


_WRITERS: Final[Mapping[str, Callable[[Path, ChartDrawing], None]]] = {
    ".svg": _write_svg,
    ".png": _write_png,
}
