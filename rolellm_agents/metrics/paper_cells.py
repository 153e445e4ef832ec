"""The paper's table: RAW, CUS, SPE and their mean (RoleLLM, arXiv 2310.00746, §4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True)
class PaperCells:
    """One system's row. The paper's figures are of `paper_recall`; others may stand in the same cells."""

    raw: float | None
    """General instructions against plain answers: whether they are right."""
    cus: float | None
    """General instructions against answers in the role's voice: whether it is heard."""
    spe: float | None
    """Role-specific questions against answers from the profile: whether the role is known."""

    @property
    def mean(self) -> float | None:
        """Of the three; None unless there are all."""
        cells = [cell for cell in (self.raw, self.cus, self.spe) if cell is not None]
        return fmean(cells) if len(cells) == 3 else None


def paper_cells(
    *, raw: Sequence[float] = (), cus: Sequence[float] = (), spe: Sequence[float] = ()
) -> PaperCells:
    """The cells of replies' scores; what was not scored has none."""
    return PaperCells(*(fmean(scores) if scores else None for scores in (raw, cus, spe)))
