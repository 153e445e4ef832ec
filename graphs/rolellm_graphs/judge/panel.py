"""Panels: several judges of the same items; the pooled verdict's details contain each judge's verdict."""

import asyncio
from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

from rolellm_agents.judging.flaws import JudgedScene
from rolellm_agents.judging.judged import Judged, PairJudge
from rolellm_agents.judging.pooling import pooled
from rolellm_agents.judging.verdict import Verdict

_Item = TypeVar("_Item", contravariant=True)


class _Judges(Protocol[_Item]):
    """A judge of items of one kind."""

    @property
    def measures(self) -> Sequence[str]:
        """The measures of its verdicts, one verdict each."""
        ...

    async def judge(self, item: _Item, /) -> list[Verdict]:
        """One verdict for each measure."""
        ...


SceneJudging = _Judges[JudgedScene]
"""A scene judge or a panel of scene judges."""


class _Panel(Generic[_Item]):
    def __init__(self, judges: Sequence[_Judges[_Item]]) -> None:
        """Create a panel of at least one judge.

        Raises:
            ValueError: there is no judge, or their measures differ.
        """
        if not judges:
            raise ValueError("a panel needs a judge")
        self.measures = tuple(judges[0].measures)
        if any(tuple(judge.measures) != self.measures for judge in judges):
            raise ValueError("the judges of a panel have the same measures")
        self._judges = judges

    async def judge(self, item: _Item, /) -> list[Verdict]:
        """The pooled verdicts; each judge's own are in `details["verdicts"]`.

        Raises:
            ModelError: a model cannot be loaded.
        """
        verdicts = await asyncio.gather(*(judge.judge(item) for judge in self._judges))
        return [pooled(of_measure, "mean") for of_measure in zip(*verdicts, strict=True)]


class ReplyPanel(_Panel[Judged]):
    """Several judges of replies with the same measures."""


class ScenePanel(_Panel[JudgedScene]):
    """Several judges of scenes with the same measures."""


class PairPanel:
    """Several judges of pairs."""

    def __init__(self, judges: Sequence[PairJudge]) -> None:
        """Create a panel of at least one judge.

        Raises:
            ValueError: there is no judge.
        """
        if not judges:
            raise ValueError("a panel needs a judge")
        self.measure = judges[0].measure
        self._judges = judges

    async def compare(self, first: Judged, second: Judged) -> Verdict:
        """The pooled verdict; each judge's own are in `details["verdicts"]`.

        Raises:
            ModelError: a model cannot be loaded.
        """
        verdicts = await asyncio.gather(*(judge.compare(first, second) for judge in self._judges))
        return pooled(verdicts, "majority")
