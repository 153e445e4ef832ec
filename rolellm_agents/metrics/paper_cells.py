"""The paper's table: RAW, CUS, SPE and their mean (RoleLLM, arXiv 2310.00746, §4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True)
class PaperCells:
    """One system's row. The paper's figures are scores by `paper_recall`; any other measure fits, too."""

    raw: float | None
    """Score on general instructions against plain answers, for accuracy."""
    cus: float | None
    """Score on general instructions against answers in the role's voice, for style."""
    spe: float | None
    """Score on role-specific questions against answers from the profile, for knowledge."""

    @property
    def mean(self) -> float | None:
        """The mean of the three; None unless all three are known."""
        cells = [cell for cell in (self.raw, self.cus, self.spe) if cell is not None]
        return fmean(cells) if len(cells) == 3 else None


def paper_cells(
    *, raw: Sequence[float] = (), cus: Sequence[float] = (), spe: Sequence[float] = ()
) -> PaperCells:
    """Average the scores of replies for each cell; a cell without scores is None."""
    return PaperCells(*(fmean(scores) if scores else None for scores in (raw, cus, spe)))
