"""Panels: several judges over the same replies, each verdict kept beside the pooled one."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from rolellm_agents.judging.flaws import JudgedScene
from rolellm_agents.judging.judged import Judged, PairJudge, ReplyJudge
from rolellm_agents.judging.pooling import Pooling, pooled
from rolellm_agents.judging.verdict import Verdict


class JudgesScenes(Protocol):
    """Judges a whole scene."""

    @property
    def measures(self) -> Sequence[str]:
        """The measures of its verdicts, one verdict each."""
        ...

    async def judge(self, scene: JudgedScene) -> list[Verdict]:
        """One verdict for each measure."""
        ...


class ReplyPanel:
    """Several judges of replies that have the same measures."""

    def __init__(self, judges: Sequence[ReplyJudge], pooling: Pooling = "mean") -> None:
        """Take at least one judge.

        Raises:
            ValueError: there is none, or their measures differ.
        """
        _check_alike(judges)
        self.measures = tuple(judges[0].measures)
        self._judges = judges
        self._pooling = pooling

    async def judge(self, judged: Judged) -> list[Verdict]:
        """The pooled verdicts; each judge's own are in `details["verdicts"]`.

        Raises:
            ModelError: a model cannot be loaded.
        """
        given = await asyncio.gather(*(judge.judge(judged) for judge in self._judges))
        return [pooled(of_measure, self._pooling) for of_measure in zip(*given, strict=True)]


class PairPanel:
    """Several judges of pairs."""

    def __init__(self, judges: Sequence[PairJudge], pooling: Pooling = "majority") -> None:
        """Take at least one judge.

        Raises:
            ValueError: there is none.
        """
        if not judges:
            raise ValueError("a panel needs a judge")
        self.measure = judges[0].measure
        self._judges = judges
        self._pooling = pooling

    async def compare(self, first: Judged, second: Judged) -> Verdict:
        """The pooled verdict; each judge's own are in `details["verdicts"]`.

        Raises:
            ModelError: a model cannot be loaded.
        """
        given = await asyncio.gather(*(judge.compare(first, second) for judge in self._judges))
        return pooled(given, self._pooling)


class ScenePanel:
    """Several judges of scenes; the flaws of all of them are in their own verdicts."""

    def __init__(self, judges: Sequence[JudgesScenes], pooling: Pooling = "mean") -> None:
        """Take at least one judge.

        Raises:
            ValueError: there is none, or their measures differ.
        """
        _check_alike(judges)
        self.measures = tuple(judges[0].measures)
        self._judges = judges
        self._pooling = pooling

    async def judge(self, scene: JudgedScene) -> list[Verdict]:
        """The pooled verdicts.

        Raises:
            ModelError: a model cannot be loaded.
        """
        given = await asyncio.gather(*(judge.judge(scene) for judge in self._judges))
        return [pooled(of_measure, self._pooling) for of_measure in zip(*given, strict=True)]


def _check_alike(judges: Sequence[ReplyJudge] | Sequence[JudgesScenes]) -> None:
    if not judges:
        raise ValueError("a panel needs a judge")
    if any(tuple(judge.measures) != tuple(judges[0].measures) for judge in judges):
        raise ValueError("the judges of a panel have the same measures")
