"""Build a report from runs, with a chapter for each run."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from rolellm_agents.reports.content import Chapter, Report
from rolellm_agents.reports.interviewed import drift_chapter
from rolellm_agents.reports.judged import verdict_chapter
from rolellm_agents.reports.reading import ReadRun, RunKind, damaged
from rolellm_agents.reports.rolebench import rolebench_chapter

SAMPLES: Final = 4
"""Default number of questions of each role and kind that are shown with their replies."""
_CHAPTERS: Final[Mapping[RunKind, Callable[[ReadRun, int], Chapter]]] = {
    "rolebench": rolebench_chapter,
    "interviews": drift_chapter,
    "verdicts": verdict_chapter,
}


def report_of(runs: Sequence[ReadRun], *, samples: int = SAMPLES) -> Report:
    """Build one report from several runs.

    Args:
        runs: runs from `reading.read_run`, at least one.
        samples: number of questions of each role and kind, or of interviews of each system and persona,
            that are shown completely.

    Raises:
        ReportError: a run's results are damaged.
    """
    return Report("RoleLLM: what was measured", [_chapter(run, samples) for run in runs])


def _chapter(run: ReadRun, samples: int) -> Chapter:
    try:
        return _CHAPTERS[run.kind](run, samples)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise damaged(run, error) from error
