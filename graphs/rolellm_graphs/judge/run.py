"""A judge's run: each item judged once and kept at once, many at the same time."""

import asyncio
import contextlib
import json
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
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

_GIVE_UP = 20
"""So many items in a row at which a model failed will be followed by more."""


@dataclass(frozen=True, kw_only=True)
class JudgingItem:
    """One thing to judge."""

    key: str
    """Tells it from all others, with a digest of its words: what was changed is judged again."""
    about: Mapping[str, Any]
    """What a reader of the run is shown beside the verdicts."""
    judge: Callable[[], Awaitable[list[Verdict]]]


def digest_of_item(value: Any) -> str:
    """Of a JSON value."""
    return digest_of(json.dumps(value, ensure_ascii=True, sort_keys=True))


async def run_works(
    judging: Judging,
    works: Sequence[JudgingItem],
    folder: Path | None,
    config: Mapping[str, Any],
    at_once: int,
    progress: Callable[[int, int], None],
) -> list[Verdict]:
    """Judge what is not judged yet, and give all verdicts in the order of the works.

    Verdicts that say `model_error` are given and not kept, so that the next start asks again.

    Raises:
        StorageError: the folder cannot be written, or holds another run; what is finished is kept.
        ModelError: a model cannot be loaded, or failed too often in a row; what is finished is kept.
    """
    if folder is None:
        return await _JudgingRun(None, works, progress).through(at_once)
    with open_run(folder, {JUDGING: judging, **config}) as run:
        judging_run = _JudgingRun(run, works, progress)
        verdicts = await judging_run.through(at_once)
        if all(work.key in run.items for work in works):
            run.finish({"verdicts": Counter(one.status for one in verdicts)})
        return verdicts


class _JudgingRun:
    """The works of one run, as they are done in this process."""

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

    async def through(self, at_once: int) -> list[Verdict]:
        """All verdicts, those that were kept among them."""
        self._tell()
        left = {work.key: work for work in self._works if work.key not in self._verdicts}
        await self._work_off(iter(left.values()), min(at_once, len(left)))
        return [verdict for work in self._works for verdict in self._verdicts[work.key]]

    async def _work_off(self, left: Iterator[JudgingItem], at_once: int) -> None:
        async def worker() -> None:
            for work in left:
                self._keep(work, await work.judge())

        workers = [asyncio.ensure_future(worker()) for _ in range(at_once)]
        try:
            await asyncio.gather(*workers)
        finally:
            for one in workers:
                one.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.gather(*workers, return_exceptions=True)

    def _keep(self, work: JudgingItem, verdicts: list[Verdict]) -> None:
        self._verdicts[work.key] = verdicts
        failed = next((one for one in members_of(verdicts) if one.status == "model_error"), None)
        self._failed_in_a_row = self._failed_in_a_row + 1 if failed else 0
        if failed and self._failed_in_a_row >= _GIVE_UP:
            raise ModelError(
                f"The judge's model failed {_GIVE_UP} times in a row ({failed.reason.rstrip('.')}); "
                "the same command goes on with what is left."
            )
        if not failed and self._run is not None:
            self._run.append(work.key, item_to_json(self._places[work.key], work.about, verdicts))
        self._tell()

    def _tell(self) -> None:
        self._progress(len(self._verdicts), len(self._places))
