"""The layout of the paper's tables (arXiv 2310.00746, Tables 3 to 5): RAW, CUS, SPE, their mean, win rates.

All three use the measure that reproduces the published figures. RAW compares replies with answers without
a role's voice, which a file must supply. The win rate is how often a judge prefers a system's replies to
those of RoleGPT.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, NamedTuple

import yaml

from rolellm_agents.datasets.sample import Kind, Split
from rolellm_agents.evaluation.columns import PAPER
from rolellm_agents.evaluation.formatting import markdown_table, rounded
from rolellm_agents.evaluation.rows import ResultRow
from rolellm_agents.evaluation.scored import System
from rolellm_agents.metrics.paper_cells import PaperCells
from rolellm_agents.text.language import Language

HEADS: Final = ("Model", "Strategy", "RAW", "CUS", "SPE", "AVG", "Win")
_OPEN: Final = "–"
_FIGURES = "published_figures.yaml"


class PaperRow(NamedTuple):
    """A system's row in the paper's layout."""

    system: System
    cells: PaperCells
    win: float | None = None
    """How often its replies were preferred to RoleGPT's, from 0 to 1; None if they were not compared."""
    is_printed: bool = False
    """Whether the figures are those that the paper printed."""

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
            "win": rounded(self.win),
            "printed": self.is_printed,
        }


def paper_rows(
    rows: Iterable[ResultRow], *, raw: Mapping[System, float], judge: str | None = None
) -> list[PaperRow]:
    """A row for each system, in the order of the result's rows.

    Args:
        rows: the rows of an evaluation.
        raw: the mean score of each system's replies against plain answers, where it is known.
        judge: the judge of pairs that compared the systems with RoleGPT, if there is one.
    """
    by_system: dict[System, dict[Kind, float]] = {}
    wins: dict[System, list[tuple[float, int]]] = {}
    for row in rows:
        by_kind = by_system.setdefault(row.system, {})
        if PAPER in row.scores:
            by_kind[row.kind] = row.scores[PAPER].mean
        wins.setdefault(row.system, []).extend(
            (one.interval.mean, one.interval.n)
            for one in row.judged
            if one.judge == judge and one.interval is not None
        )
    return [
        PaperRow(
            system,
            PaperCells(raw.get(system), by_kind.get("general"), by_kind.get("role_specific")),
            _weighted_mean(wins[system]),
        )
        for system, by_kind in by_system.items()
    ]


def printed_rows(split: Split | Literal["prompting"], language: Language) -> list[PaperRow]:
    """The rows that the paper printed for a split and a language; none if it has no such table.

    `prompting` is its comparison of RoleGPT's strategies.
    """
    return [
        PaperRow(
            System(f"{row['model']}, {table['table']}", row.get("strategy") or _judge_of(table, row)),
            PaperCells(row.get("raw"), row.get("cus"), row.get("spe")),
            row.get("win"),
            is_printed=True,
        )
        for table in _printed_tables()
        if (table["split"], table["language"]) == (split, language)
        for row in table["rows"]
    ]


def _judge_of(table: Mapping[str, Any], row: Mapping[str, Any]) -> str:
    return f"judged by {table['judge']}" if "win" in row else "printed"


@cache
def _printed_tables() -> Sequence[Mapping[str, Any]]:
    text = (files("rolellm_agents.evaluation") / _FIGURES).read_text(encoding="utf-8")
    tables: Sequence[Mapping[str, Any]] = yaml.safe_load(text)
    return tables


def _weighted_mean(means: Sequence[tuple[float, int]]) -> float | None:
    count = sum(n for _, n in means)
    return sum(mean * n for mean, n in means) / count if count else None


def paper_cells(rows: Iterable[PaperRow]) -> tuple[Sequence[str], list[Sequence[str]]]:
    """The column heads and the cells: two text columns, then the figures."""
    return HEADS, [
        (
            *row.system,
            *map(_figure, (row.cells.raw, row.cells.cus, row.cells.spe, row.cells.mean)),
            _OPEN if row.win is None else f"{row.win:.1%}",
        )
        for row in rows
    ]


def paper_markdown(rows: Iterable[PaperRow]) -> str:
    """The table in Markdown."""
    heads, cells = paper_cells(rows)
    return markdown_table(heads, cells, words=2)


def _figure(value: float | None) -> str:
    return _OPEN if value is None else f"{value:.4f}"
