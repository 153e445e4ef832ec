"""Results of a blind reading: win rates of systems, and shares of good answers."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from rolellm_agents.corpus.splits import Split
from rolellm_agents.evaluation.blind.pairs import Answer, AnswerPair
from rolellm_agents.evaluation.blind.verdicts import QUALITIES, Preference, ReaderVerdict
from rolellm_agents.metrics import Interval, mean_interval
from rolellm_agents.metrics.win_rates import win_rate

_FOR_FIRST: Final[Mapping[Preference, float]] = {"first": 1.0, "second": 0.0, "tie": 0.5, "neither": 0.5}
Measured = Literal["answers", "makes_sense", "in_voice", "good"]
"""The qualities, and `good` for an answer that has all three."""


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How often one system was preferred to another."""

    system: str
    other: str
    split: Split | None
    """None for all questions."""
    rate: Interval
    wins: int
    losses: int
    ties: int
    """Verdicts `tie` and `neither`."""


@dataclass(frozen=True, kw_only=True)
class Shares:
    """The shares of one system's answers that have each quality."""

    system: str
    split: Split | None
    """None for all questions."""
    shares: Mapping[Measured, Interval]


def comparisons(pairs: Iterable[AnswerPair], verdicts: Iterable[ReaderVerdict]) -> list[Comparison]:
    """Win rates of each pair of systems, over all questions and by split. Each verdict counts once."""
    by_key = {pair.key: pair for pair in pairs}
    found: defaultdict[tuple[str, str, Split | None], list[tuple[float, str]]] = defaultdict(list)
    for verdict in verdicts:
        pair = by_key.get(verdict.item)
        if pair is None or verdict.preferred is None:
            continue
        value = _FOR_FIRST[verdict.preferred]
        system, other = pair.first.system, pair.second.system
        if system > other:
            system, other, value = other, system, 1 - value
        for split in (None, pair.split):
            found[system, other, split].append((value, pair.persona.id))
    return [_comparison(*key, values) for key, values in sorted(found.items(), key=_by_name)]


def quality_shares(pairs: Iterable[AnswerPair], verdicts: Iterable[ReaderVerdict]) -> list[Shares]:
    """The shares of good answers of each system, over all questions and by split."""
    answers: dict[str, tuple[Answer, AnswerPair]] = {}
    for pair in pairs:
        answers |= {answer.judged.key: (answer, pair) for answer in (pair.first, pair.second)}
    found: defaultdict[tuple[str, Split | None], list[tuple[Mapping[Measured, float], str]]] = defaultdict(
        list
    )
    for verdict in verdicts:
        if verdict.item not in answers or not verdict.qualities:
            continue
        answer, pair = answers[verdict.item]
        has: dict[Measured, float] = {name: float(verdict.qualities[name]) for name in QUALITIES}
        has["good"] = float(all(verdict.qualities.values()))
        for split in (None, pair.split):
            found[answer.system, split].append((has, pair.persona.id))
    return [
        Shares(system=system, split=split, shares=_shares(values))
        for (system, split), values in sorted(found.items(), key=_by_name)
    ]


def _comparison(
    system: str, other: str, split: Split | None, values: Sequence[tuple[float, str]]
) -> Comparison:
    preferences = [value for value, _ in values]
    return Comparison(
        system=system,
        other=other,
        split=split,
        rate=win_rate(preferences, [persona for _, persona in values]),
        wins=preferences.count(1.0),
        losses=preferences.count(0.0),
        ties=preferences.count(0.5),
    )


def _shares(values: Sequence[tuple[Mapping[Measured, float], str]]) -> dict[Measured, Interval]:
    clusters = [persona for _, persona in values]
    names: tuple[Measured, ...] = (*QUALITIES, "good")
    return {name: mean_interval([has[name] for has, _ in values], clusters) for name in names}


def _by_name(entry: tuple[tuple[str | None, ...], object]) -> tuple[str, ...]:
    return tuple(part or "" for part in entry[0])
