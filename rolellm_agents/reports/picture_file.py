"""A picture of a report as a file of its own, which looks right wherever it is shown."""

import re
from typing import Final

from rolellm_agents.reports.page import style_sheet
from rolellm_agents.reports.svg import WIDTH, legend_mark, text

_LINE: Final = 18


def picture_file(svg: str, title: str, legend: list[str]) -> str:
    """The element with its colours, its title and its legend inside.

    Args:
        svg: as a panel of a report has it.
        title: what stands above.
        legend: the systems in the order of their colours; none is told of a single one.
    """
    names = legend if len(legend) > 1 else []
    above = _LINE * (1 + len(names)) + 6
    height = above + float(re.search(r'height="(\d+)"', svg)[1])  # type: ignore[index]
    keys = "".join(
        f'<g transform="translate(0 {_LINE * (number + 1)})">{legend_mark(number)}{text(20, 11, name)}</g>'
        for number, name in enumerate(names)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}"><style>{_style()}</style>'
        f'<rect width="{WIDTH}" height="{height:.0f}" style="fill: var(--paper)"/>'
        f"{text(0, 13, title)}{keys}"
        f'<g transform="translate(0 {above})">{svg}</g></svg>\n'
    )


def _style() -> str:
    """What pictures need of the page's."""
    sheet = style_sheet().partition("@media print")[0]
    colours = sheet[: sheet.index("* {")]
    marks = [line for line in sheet.splitlines() if line.startswith("svg ")]
    return colours + "\n".join(marks)
