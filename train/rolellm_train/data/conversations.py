"""Combine single questions into conversations.

A model that is tuned on single answers repeats itself in chats, as the first RoleSmol did. The rows of a
pack share the persona's instruction, so a conversation takes no more time than its rows.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from rolellm_train.data.rows import TrainingRow

TURNS: Final = (2, 4)
"""Minimum and maximum number of questions."""


def conversations_of(
    rows: Iterable[TrainingRow], share: float, *, seed: int
) -> list[tuple[TrainingRow, ...]]:
    """Combine rows of the same persona.

    Args:
        rows: the rows, in any order.
        share: the share of each persona's rows that become parts of conversations, from 0 to 1.
        seed: the seed of the random order.

    Returns:
        Conversations that contain every row once. No conversation contains a question twice.
    """
    rng = random.Random(seed)  # noqa: S311  # no secret
    of_persona: defaultdict[str, list[TrainingRow]] = defaultdict(list)
    for row in rows:
        of_persona[row.persona.id].append(row)
    conversations: list[tuple[TrainingRow, ...]] = []
    for own in of_persona.values():
        rng.shuffle(own)
        grouped = round(share * len(own))
        conversations += ((row,) for row in own[grouped:])
        remaining = own[:grouped]
        while remaining:
            conversation, remaining = _take_distinct(remaining, rng.randint(*TURNS))
            conversations.append(conversation)
    return conversations


def _take_distinct(
    rows: Sequence[TrainingRow], turns: int
) -> tuple[tuple[TrainingRow, ...], list[TrainingRow]]:
    """The first rows with distinct questions, and the rest."""
    questions: set[str] = set()
    taken: list[TrainingRow] = []
    remaining: list[TrainingRow] = []
    for row in rows:
        if len(taken) < turns and row.question not in questions:
            questions.add(row.question)
            taken.append(row)
        else:
            remaining.append(row)
    return tuple(taken), remaining
