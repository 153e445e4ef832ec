"""What a persona's file has to hold: topics, and numbers of exchanges."""

from typing import Final

TOPICS: Final = (
    "identity",
    "daily-life",
    "world",
    "people",
    "feelings",
    "provocation",
    "flattery",
    "insult",
    "task",
    "facts",
    "unknown",
    "jokes",
    "silence",
    "repetition",
    "callback",
    "remember",
    "actions",
    "language",
    "stay",
)
"""What a conversation may be about; `personas/rolellm_corpus/README.md` explains each."""

EXCHANGES: Final = 150
"""Least number of exchanges of a persona."""
CONVERSATIONS: Final = 27
"""Least number of conversations of at least two exchanges."""
SINGLES: Final = 35
"""Least number of exchanges without a conversation."""
OF_TOPIC: Final = 4
"""Least number of exchanges on each topic."""
TURNS: Final = (2, 8)
"""Least and most exchanges of a conversation."""
