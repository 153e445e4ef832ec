"""The loss curve as SVG: training loss as dots, held-out loss as a line."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rolellm_agents.errors import StorageError
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.files.pictures import LIGHT, can_draw, svg_file, svg_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 720, 320


def write_loss_curve(file: Path, items: Iterable[Mapping[str, Any]]) -> None:
    """Draw the losses of a run. Without matplotlib, which the extra `train` installs, no file is written.

    Args:
        file: the file, which is written atomically.
        items: the run's items, each with its `step`, and `loss` or `eval_loss`.

    Raises:
        StorageError: the file cannot be written.
    """
    if not can_draw():
        return
    recorded = list(items)
    learned = [(item["step"], item["loss"]) for item in recorded if "loss" in item]
    held_out = sorted((item["step"], item["eval_loss"]) for item in recorded if "eval_loss" in item)

    def draw(figure: "Figure") -> None:
        axes = figure.add_subplot(xlabel="step", ylabel="loss")
        if learned:
            axes.plot(*zip(*learned, strict=True), ".", color=LIGHT["s0"], label="training")
        if held_out:
            axes.plot(*zip(*held_out, strict=True), "o-", color=LIGHT["s1"], label="held out")
        if recorded:
            axes.legend()

    alt = "The training loss of each step, and the held-out loss."
    write_atomically(file, svg_file(svg_picture(draw, _WIDTH, _HEIGHT, alt)), StorageError)
