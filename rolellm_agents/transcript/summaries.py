"""SQL of summaries: each belongs to the message up to which it reaches.

The functions run inside the caller's transaction. Files of earlier versions get the table with their first
summary.
"""

import sqlite3

from rolellm_agents.text import replace_surrogates
from rolellm_agents.transcript.migration import create_tables
from rolellm_agents.transcript.times import now


def insert_summary(db: sqlite3.Connection, message: int, text: str) -> None:
    """Set the summary up to a message; an empty text removes it."""
    if not _has_table(db):
        create_tables(db)
    db.execute(
        "INSERT INTO summary (text, message, written) VALUES (?, ?, ?)",
        (replace_surrogates(text), message, now()),
    )


def read_summaries(db: sqlite3.Connection, conversation: str) -> dict[str, str]:
    """The summaries of a conversation by the id of the message up to which each reaches."""
    if not _has_table(db):
        return {}
    rows = db.execute(
        """
        SELECT message.id, summary.text
        FROM summary
        JOIN kept_message message ON message.number = summary.message
        JOIN branch ON branch.number = message.branch
        JOIN conversation ON conversation.number = branch.conversation
        WHERE conversation.id = ? ORDER BY summary.number
        """,
        (conversation,),
    )
    newest = {id_.hex(): text for id_, text in rows}
    return {message: text for message, text in newest.items() if text}


def _has_table(db: sqlite3.Connection) -> bool:
    return bool(db.execute("SELECT 1 FROM sqlite_master WHERE name = 'summary'").fetchall())
