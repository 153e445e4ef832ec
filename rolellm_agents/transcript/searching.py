"""Full text search over all messages."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from rolellm_agents.errors import MessageError
from rolellm_agents.text import plain
from rolellm_agents.transcript.conversations import TITLE
from rolellm_agents.transcript.message import FoundMessage
from rolellm_agents.transcript.search_words import SearchTerm, hits_of, read_query, snippet_of
from rolellm_agents.transcript.times import to_iso

_LONGEST_QUERY = 1_000
"""The most characters of a query."""
_MOST_WORDS_TO_THE_INDEX = 16
"""More words hardly narrow the index's results, in which all words are then checked."""

_FOUND = f"""
SELECT m.number, m.id, conversation.id AS conversation, conversation.persona, {TITLE} AS title,
       manner.speaker, m.created, %s AS text
FROM %s
CROSS JOIN message m ON m.number = %s
     AND NOT EXISTS (SELECT 1 FROM binned WHERE binned.message = m.number)
JOIN branch ON branch.number = m.branch
JOIN conversation ON conversation.number = branch.conversation
JOIN manner ON manner.number = m.manner
WHERE (:persona IS NULL OR conversation.persona = :persona)
"""  # noqa: S608 - no value is put into the text
_ENDED = f"{_FOUND % ('m.text', 'word', 'word.rowid')} AND word MATCH :match ORDER BY word.rowid DESC"
_UNFINISHED = _FOUND % (
    "unfinished.text",
    """(SELECT message, group_concat(text, '') AS text
        FROM (SELECT message, text FROM piece ORDER BY message, number) GROUP BY message) unfinished""",
    "unfinished.message",
)
"""Messages that were cut off are not in the index, but there are few of them."""


def search_messages(
    db: sqlite3.Connection, query: str, *, persona: str | None, limit: int
) -> list[FoundMessage]:
    """The messages that contain all words and phrases of a query, the newest first.

    Raises:
        MessageError: the query is too long.
    """
    if len(query) > _LONGEST_QUERY:
        raise MessageError(
            f"A search of {len(query):,} characters is too long; use at most {_LONGEST_QUERY:,}."
        )
    sought = read_query(query)
    if not sought or limit < 1:
        return []
    values = {"persona": persona, "match": _match(sought)}
    ended = _take(db.execute(_ENDED, values), sought, limit)
    unfinished = _take(db.execute(_UNFINISHED, values), sought, limit)
    newest = sorted([*ended, *unfinished], key=lambda found: found.number, reverse=True)
    return [found.shown for found in newest[:limit]]


class _FoundRow(NamedTuple):
    number: int
    shown: FoundMessage


def _match(sought: Sequence[SearchTerm]) -> str:
    """The query for the index, which knows words and prefixes, but not their order."""
    terms = {
        f'"{key}"': None
        for phrase in sought
        for key in (phrase.keys[:-1] if phrase.prefix else phrase.keys)
    }
    terms |= {f'"{phrase.keys[-1]}" *': None for phrase in sought if phrase.prefix}
    return " AND ".join(list(terms)[:_MOST_WORDS_TO_THE_INDEX])


def _take(rows: Iterable[sqlite3.Row], sought: Sequence[SearchTerm], limit: int) -> list[_FoundRow]:
    """The first `limit` rows that contain all phrases."""
    return list(islice(_matching_rows(sought, rows), limit))


def _matching_rows(sought: Sequence[SearchTerm], rows: Iterable[sqlite3.Row]) -> Iterator[_FoundRow]:
    for row in rows:
        text = plain(row["text"])
        hits = hits_of(sought, text)
        if hits:
            snippet, shown = snippet_of(text, hits)
            yield _FoundRow(
                row["number"],
                FoundMessage(
                    conversation=row["conversation"],
                    message=row["id"].hex(),
                    persona=row["persona"],
                    title=row["title"],
                    speaker=row["speaker"],
                    created=to_iso(row["created"]),
                    snippet=snippet,
                    hits=shown,
                ),
            )
