"""The layout of the paper's tables (arXiv 2310.00746, Tables 3 to 5): RAW, CUS, SPE and their mean.

All three use the measure that reproduces the published figures. RAW compares replies with answers without
a role's voice. No published file contains these answers, so RAW and the mean of the three stay empty.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from rolellm_agents.datasets.sample import Kind
from rolellm_agents.evaluation.columns import PAPER
from rolellm_agents.evaluation.formatting import markdown_table, rounded
from rolellm_agents.evaluation.rows import ResultRow
from rolellm_agents.evaluation.scored import System
from rolellm_agents.metrics.paper_cells import PaperCells

_OPEN: Final = "–"


class PaperRow(NamedTuple):
    """A system's row in the paper's layout."""

    system: System
    cells: PaperCells

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON values."""
        cells = self.cells
        return {
            "model": self.system.model,
            "strategy": self.system.strategy,
            "raw": rounded(cells.raw),
            "cus": rounded(cells.cus),
            "spe": rounded(cells.spe),
            "avg": rounded(cells.mean),
        }


def paper_rows(rows: Iterable[ResultRow]) -> list[PaperRow]:
    """A row for each system, in the order of the result's rows."""
    by_system: dict[System, dict[Kind, float]] = {}
    for row in rows:
        by_kind = by_system.setdefault(row.system, {})
        if PAPER in row.scores:
            by_kind[row.kind] = row.scores[PAPER].mean
    return [
        PaperRow(system, PaperCells(None, by_kind.get("general"), by_kind.get("role_specific")))
        for system, by_kind in by_system.items()
    ]


def paper_cells(rows: Iterable[PaperRow]) -> tuple[Sequence[str], list[Sequence[str]]]:
    """The column heads and the cells: two text columns, then the figures with four digits."""
    heads = ("Model", "Strategy", "RAW", "CUS", "SPE", "AVG")
    return heads, [
        (*system, *map(_figure, (cells.raw, cells.cus, cells.spe, cells.mean))) for system, cells in rows
    ]


def paper_markdown(rows: Iterable[PaperRow]) -> str:
    """The table in Markdown."""
    heads, cells = paper_cells(rows)
    return markdown_table(heads, cells, words=2)


def _figure(value: float | None) -> str:
    return _OPEN if value is None else f"{value:.4f}"
