"""Inclusion groups: at most one entry of a group is active."""

from collections.abc import Callable, Sequence, Set
from random import Random
from typing import Protocol, TypeVar

from rolellm_agents.cards.lore.lorebook import LoreEntry


class Member(Protocol):
    """An entry that would be active."""

    @property
    def entry(self) -> LoreEntry:
        """The entry with its groups and weights."""


_Member = TypeVar("_Member", bound=Member)


def choose_in_groups(
    members: Sequence[_Member],
    taken: Set[str],
    *,
    is_sticky: Callable[[_Member], bool],
    score: Callable[[_Member], int],
    scoring: bool,
    seed: str,
) -> list[_Member]:
    """The entries that remain when each group has chosen one.

    A sticky entry wins its groups. Otherwise the entry with `group_override` and the highest order wins, or
    else one is sampled by weight. An entry that wins one of its groups wins all of them.

    The members are in budget order; `taken` are groups with an entry that is active already. `is_sticky`
    says whether an entry is still active from earlier messages, `score` how many of its keys were found.
    `scoring` is the default for entries without `group_scoring`: sample only from those with most keys.
    Each group samples independently.
    """
    decided = set(taken).union(*(member.entry.groups for member in members if is_sticky(member)))
    lost = {
        at
        for at, member in enumerate(members)
        if not is_sticky(member) and decided & set(member.entry.groups)
    }
    for group in dict.fromkeys(group for member in members for group in member.entry.groups):
        rivals = [
            at for at, member in enumerate(members) if group in member.entry.groups and at not in lost
        ]
        if group in decided or not rivals:
            continue
        best = _best_scores([members[at] for at in rivals], score, scoring)
        draw = Random(f"{seed}:{group}".encode("utf-8", "surrogatepass"))  # noqa: S311
        winner = _winner(best, draw)
        groups = set(winner.entry.groups)
        decided |= groups
        lost |= {
            at
            for at, member in enumerate(members)
            if member is not winner and groups & set(member.entry.groups)
        }
    return [member for at, member in enumerate(members) if at not in lost]


def _best_scores(
    rivals: Sequence[_Member], score: Callable[[_Member], int], scoring: bool
) -> Sequence[_Member]:
    if not scoring and not any(member.entry.group_scoring for member in rivals):
        return rivals
    scores = [score(member) for member in rivals]
    return [
        member
        for member, points in zip(rivals, scores, strict=True)
        if points == max(scores)
        or not (scoring if member.entry.group_scoring is None else member.entry.group_scoring)
    ]


def _winner(rivals: Sequence[_Member], draw: Random) -> _Member:
    first = [member for member in rivals if member.entry.group_override]
    if first:
        return max(first, key=lambda member: member.entry.order)
    weights = [max(0.0, member.entry.group_weight) for member in rivals]
    if not 0 < sum(weights) < float("inf"):
        return rivals[0]
    return draw.choices(rivals, weights)[0]
