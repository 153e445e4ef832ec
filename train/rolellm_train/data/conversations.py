"""Questions that were asked one by one, as conversations.

A model that is tuned on single answers alone has never seen what it said before, and says it again: the
first RoleSmol repeated itself word for word in chats. The instruction is computed once for all rows of a
character anyway, so a conversation costs no more than its rows.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from rolellm_train.data.rows import TrainingRow

TURNS: Final = (2, 4)
"""The fewest and the most."""


def conversations_of(
    rows: Iterable[TrainingRow], share: float, *, seed: int
) -> list[tuple[TrainingRow, ...]]:
    """Lay rows of the same character one after another.

    Args:
        rows: in any order.
        share: the part of each character's rows that is asked in conversations; the others stay alone.
        seed: of what comes after what.

    Returns:
        Every row once, alone or with others. No question is asked twice in one conversation.
    """
    drawn = random.Random(seed)  # noqa: S311  # no secret
    of_persona: defaultdict[str, list[TrainingRow]] = defaultdict(list)
    for row in rows:
        of_persona[row.persona.id].append(row)
    found: list[tuple[TrainingRow, ...]] = []
    for own in of_persona.values():
        drawn.shuffle(own)
        together = round(share * len(own))
        found += ((row,) for row in own[together:])
        left = own[:together]
        while left:
            one, left = _taken(left, drawn.randint(*TURNS))
            found.append(one)
    return found


def _taken(rows: Sequence[TrainingRow], turns: int) -> tuple[tuple[TrainingRow, ...], list[TrainingRow]]:
    """The first rows that ask different things, and the others."""
    asked: set[str] = set()
    one: list[TrainingRow] = []
    others: list[TrainingRow] = []
    for row in rows:
        if len(one) < turns and row.question not in asked:
            asked.add(row.question)
            one.append(row)
        else:
            others.append(row)
    return tuple(one), others
