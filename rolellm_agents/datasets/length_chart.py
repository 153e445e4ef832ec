"""Draw the lengths of questions and answers as histograms for each language and kind, as SVG or PNG."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rolellm_agents.datasets.statistics import Group, Lengths
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.files.pictures import ADVICE, LIGHT, can_draw, png_picture, svg_file, svg_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_BARS: Final = 40
_WIDTH, _ROW_HEIGHT = 840, 150
"""The width of the picture and the height of one of its rows, in pixels."""


def write_chart(file: Path, groups: Sequence[Group]) -> None:
    """Draw the lengths of all groups.

    Args:
        file: the file to write; its suffix, `.svg` or `.png`, determines the format.
        groups: the groups; each gets two panels side by side, for questions and answers.

    Raises:
        RoleBenchError: the suffix is neither of these, the file cannot be written, or matplotlib is not
            installed.
    """
    form = file.suffix.lower()
    if form not in (".svg", ".png"):
        raise RoleBenchError(
            f"{file} is not a supported picture format; name a file that ends in .svg or .png."
        )
    if not can_draw():
        raise RoleBenchError(ADVICE)

    def draw(figure: "Figure") -> None:
        for row, group in enumerate(groups):
            unit = "characters" if group.language == "zh" else "words"
            name = f"{group.language} {group.kind.replace('_', '-')}"
            columns = (("questions", group.instruction_lengths), ("answers", group.answer_lengths))
            for column, (what, lengths) in enumerate(columns, 1):
                title = f"{name}: {len(lengths.counted):,} {what}, {unit}"
                _panel(figure.add_subplot(len(groups), 2, 2 * row + column), title, lengths)

    height = max(1, len(groups)) * _ROW_HEIGHT
    if form == ".svg":
        svg = svg_picture(draw, _WIDTH, height, "Lengths of questions and answers, with their medians.")
        write_atomically(file, svg_file(svg), RoleBenchError)
    else:
        _write_png(file, png_picture(draw, _WIDTH, height))


def _panel(axes: "Axes", title: str, lengths: Lengths) -> None:
    axes.set_title(title, loc="left", fontsize=9)
    axes.set_yticks([])
    if not lengths.counted:
        axes.set_xticks([])
        return
    # Without the longest 1 %, which would compress all others at the left.
    end = lengths.at(0.99) + 1
    step = -(-end // _MOST_BARS)  # all bars cover equally many lengths
    shown = [length for length in lengths.counted if length < end]
    axes.hist(shown, bins=range(0, end + step, step), color=LIGHT["s0"], rwidth=0.9)
    axes.axvline(lengths.at(0.5) + 0.5, color=LIGHT["s1"])
    axes.annotate(
        f"median {lengths.at(0.5)}", (lengths.at(0.5) + 0.5, 1), xycoords=("data", "axes fraction")
    )
    axes.set_xlabel(f"99 % have at most {end - 1}")


def _write_png(file: Path, picture: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=f".{file.name}.") as beside:
            (part := Path(beside, "chart.png")).write_bytes(picture)
            part.replace(file)
    except OSError as error:
        raise RoleBenchError(
            f"{file} cannot be written ({error.strerror}); check permissions and free space, or "
            "name another file."
        ) from error
