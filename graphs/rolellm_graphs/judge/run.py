"""A judge's run, which judges items concurrently and records each verdict immediately."""

import json
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rolellm_agents.errors import ModelError
from rolellm_agents.judging.json_form import verdict_from_json
from rolellm_agents.judging.pooling import members_of
from rolellm_agents.judging.recorded import JUDGING, Judging, item_to_json
from rolellm_agents.judging.verdict import Verdict
from rolellm_agents.runs.folder import Run, open_run
from rolellm_agents.runs.seeds import digest_of
from rolellm_graphs.runs.items import MAX_FAILURES, run_workers


@dataclass(frozen=True, kw_only=True)
class JudgingItem:
    """One thing to judge."""

    key: str
    """Unique, and contains a digest of the item, so that a changed item is judged again."""
    about: Mapping[str, Any]
    """Recorded beside the verdicts for readers of the run."""
    judge: Callable[[], Awaitable[list[Verdict]]]


def digest_of_item(value: Any) -> str:
    """The digest of a JSON value."""
    return digest_of(json.dumps(value, ensure_ascii=True, sort_keys=True))


async def run_works(
    judging: Judging,
    works: Sequence[JudgingItem],
    folder: Path | None,
    config: Mapping[str, Any],
    at_once: int,
    progress: Callable[[int, int], None],
) -> list[Verdict]:
    """Judge the items without recorded verdicts, and return all verdicts in the order of the works.

    Verdicts with the status `model_error` are returned and not recorded, so that the next start retries.

    Raises:
        StorageError: the folder cannot be written, or contains another run; finished items are kept.
        ModelError: a model cannot be loaded, or failed too often in a row; finished items are kept.
    """
    if folder is None:
        return await _JudgingRun(None, works, progress).verdicts(at_once)
    with open_run(folder, {JUDGING: judging, **config}) as run:
        judging_run = _JudgingRun(run, works, progress)
        verdicts = await judging_run.verdicts(at_once)
        if all(work.key in run.items for work in works):
            run.finish({"verdicts": Counter(one.status for one in verdicts)})
        return verdicts


class _JudgingRun:
    """One start of a judge's run."""

    def __init__(
        self, run: Run | None, works: Sequence[JudgingItem], progress: Callable[[int, int], None]
    ) -> None:
        self._run = run
        self._works = works
        self._progress = progress
        self._failed_in_a_row = 0
        self._places = {work.key: place for place, work in enumerate(works)}
        self._verdicts: dict[str, list[Verdict]] = {}
        if run is not None:
            kept = ((work.key, run.items[work.key]) for work in works if work.key in run.items)
            self._verdicts = {
                key: [verdict_from_json(one) for one in item["verdicts"]] for key, item in kept
            }

    async def verdicts(self, at_once: int) -> list[Verdict]:
        """All verdicts, including those that were recorded before."""
        self._report()
        left = {work.key: work for work in self._works if work.key not in self._verdicts}
        await run_workers(iter(left.values()), self._judge, min(at_once, len(left)))
        return [verdict for work in self._works for verdict in self._verdicts[work.key]]

    async def _judge(self, work: JudgingItem) -> None:
        verdicts = self._verdicts[work.key] = await work.judge()
        failed = next((one for one in members_of(verdicts) if one.status == "model_error"), None)
        self._failed_in_a_row = self._failed_in_a_row + 1 if failed else 0
        if failed and self._failed_in_a_row >= MAX_FAILURES:
            raise ModelError(
                f"The judge's model failed {MAX_FAILURES} times in a row ({failed.reason.rstrip('.')}); "
                "run the same command again to continue."
            )
        if not failed and self._run is not None:
            self._run.append(work.key, item_to_json(self._places[work.key], work.about, verdicts))
        self._report()

    def _report(self) -> None:
        self._progress(len(self._verdicts), len(self._places))
