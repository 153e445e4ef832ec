"""The loss curve as SVG: training loss as dots, held-out loss as a line."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rolellm_agents.errors import StorageError
from rolellm_agents.files.atomic_write import write_atomically

_WIDE, _HIGH, _EDGE = 720, 320, 48
_DOT, _LINE, _TEXT, _GRID = "#88aacc", "#cc6677", "#333333", "#dddddd"
Point = tuple[float, float]


def write_loss_curve(file: Path, items: Iterable[Mapping[str, Any]]) -> None:
    """Draw a run's items.

    Args:
        file: to write, atomically.
        items: each with its `step`, and `loss` or `eval_loss`.

    Raises:
        StorageError: the file cannot be written.
    """
    recorded = list(items)
    learned = [(item["step"], item["loss"]) for item in recorded if "loss" in item]
    held_out = sorted((item["step"], item["eval_loss"]) for item in recorded if "eval_loss" in item)
    write_atomically(file, draw(learned, held_out), StorageError)


def draw(learned: Sequence[Point], held_out: Sequence[Point]) -> str:
    """The curve as SVG, with its own scales."""
    points = [*learned, *held_out]
    last = max((step for step, _ in points), default=1)
    losses = [loss for _, loss in points] or [0.0]
    low, high = min(losses), max(losses)
    span = (high - low) or 1.0

    def at(point: Point) -> tuple[float, float]:
        step, loss = point
        x = _EDGE + (_WIDE - 2 * _EDGE) * step / last
        return x, _EDGE + (_HIGH - 2 * _EDGE) * (high - loss) / span

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {_HIGH}" role="img" '
        f'font-family="sans-serif" font-size="12" fill="{_TEXT}">',
        f"<title>Loss over {last:.0f} steps</title>",
        f'<rect width="{_WIDE}" height="{_HIGH}" fill="#ffffff"/>',
    ]
    for part in range(5):
        loss = low + span * part / 4
        _, y = at((0, loss))
        parts.append(f'<path d="M{_EDGE} {y:.1f}H{_WIDE - _EDGE}" stroke="{_GRID}"/>')
        parts.append(f'<text x="{_EDGE - 6}" y="{y + 4:.1f}" text-anchor="end">{loss:.2f}</text>')
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{_DOT}"/>' for x, y in map(at, learned)]
    if held_out:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in map(at, held_out))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{_LINE}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{_LINE}"/>' for x, y in map(at, held_out)]
    parts += [
        f'<text x="{_EDGE}" y="{_EDGE / 2}">loss: dots are steps, the line is what is held out</text>',
        f'<text x="{_WIDE - _EDGE}" y="{_HIGH - _EDGE / 2}" text-anchor="end">step {last:.0f}</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"
