"""SQL of conversations, with their titles, notes, archiving and drafts.

The functions run inside the caller's transaction.
"""

import json
import sqlite3
from collections.abc import Mapping
from typing import Any

from rolellm_agents.errors import MessageError
from rolellm_agents.text import one_line, replace_surrogates
from rolellm_agents.transcript.message import ConversationSummary
from rolellm_agents.transcript.messages import WORDS_SO_FAR
from rolellm_agents.transcript.statements import inserted_number, to_json
from rolellm_agents.transcript.times import now, to_iso

_SUMMARY_WIDTH = 80
_TITLE_WIDTH = 200

TITLE = """
coalesce((SELECT title.text FROM title WHERE title.conversation = conversation.number
          ORDER BY title.number DESC LIMIT 1), '')
"""
_ARCHIVED = """
coalesce((SELECT archived FROM archiving WHERE archiving.conversation = conversation.number
          ORDER BY archiving.number DESC LIMIT 1), 0)
"""
_SUMMARIES = f"""
SELECT conversation.id, conversation.persona, {TITLE} AS title, {_ARCHIVED} AS archived,
       conversation.created, m.created AS updated, tally.messages,
       coalesce(m.text, ({WORDS_SO_FAR}), '') AS last
FROM (SELECT branch.conversation, count(*) AS messages, max(message.number) AS newest
      FROM kept_message message JOIN branch ON branch.number = message.branch
      GROUP BY branch.conversation) tally
JOIN kept_conversation conversation ON conversation.number = tally.conversation
JOIN message m ON m.number = tally.newest
"""  # noqa: S608 - no value is put into the text


def insert_conversation(
    db: sqlite3.Connection, id_: str, persona: str, created: int, extensions: Mapping[str, Any]
) -> int:
    """Add a conversation, and return its number."""
    inserted = db.execute(
        "INSERT INTO conversation (id, persona, created, extensions) VALUES (?, ?, ?, ?)",
        (id_, persona, created, to_json(extensions) if extensions else None),
    )
    return inserted_number(inserted)


def conversation_number(db: sqlite3.Connection, conversation: str) -> int:
    """The number of a conversation.

    Raises:
        MessageError: there is no such conversation.
    """
    for (number,) in db.execute("SELECT number FROM kept_conversation WHERE id = ?", (conversation,)):
        found: int = number
        return found
    refuse_deleted(db, conversation)
    raise MessageError(f"There is no conversation {conversation!r}.")


def conversation_exists(db: sqlite3.Connection, conversation: str) -> bool:
    """Whether there is a conversation of this id, perhaps in the bin."""
    return db.execute("SELECT 1 FROM conversation WHERE id = ?", (conversation,)).fetchone() is not None


def refuse_deleted(db: sqlite3.Connection, conversation: str) -> None:
    """Raise if a conversation is in the bin.

    Raises:
        MessageError: it is there.
    """
    for (removal,) in db.execute(
        """
        SELECT removal.id FROM removal JOIN conversation ON conversation.number = removal.conversation
        WHERE conversation.id = ? AND removal.kind = 'conversation' AND NOT removal.emptying
        """,
        (conversation,),
    ):
        raise MessageError(
            f"This conversation was deleted and is in the bin; “rolellm history bin restore {removal}” "
            "takes it back."
        )


def list_conversations(
    db: sqlite3.Connection, persona: str | None, *, archived: bool
) -> list[ConversationSummary]:
    """The conversations that have messages, the latest first."""
    return _summaries(
        db,
        "(:persona IS NULL OR conversation.persona = :persona) AND archived = :archived",
        {"persona": persona, "archived": archived},
    )


def find_conversation(db: sqlite3.Connection, reference: str) -> ConversationSummary:
    """Find a conversation by its id or a unique prefix of it.

    Raises:
        MessageError: no conversation matches, or several do.
    """
    found = _summaries(
        db,
        "substr(conversation.id, 1, length(:reference)) = :reference",
        {"reference": replace_surrogates(reference)},
    )
    if len(found) == 1 and reference:
        return found[0]
    what = f"{len(found)} conversations begin with" if found else "There is no conversation"
    raise MessageError(f"{what} {reference!r}; “rolellm history list” shows all.")


def read_extensions(db: sqlite3.Connection, conversation: str) -> dict[str, Any]:
    """Data of an imported file that this program keeps but does not use."""
    found: dict[str, Any] = {}
    for (extensions,) in db.execute(
        "SELECT extensions FROM kept_conversation WHERE id = ? AND extensions IS NOT NULL", (conversation,)
    ):
        found = json.loads(extensions)
    return found


def insert_title(db: sqlite3.Connection, conversation: int, title: str) -> None:
    """Set the title of a conversation."""
    db.execute(
        "INSERT INTO title (conversation, text, given) VALUES (?, ?, ?)",
        (conversation, one_line(title, _TITLE_WIDTH), now()),
    )


def read_titles(db: sqlite3.Connection, conversation: str) -> list[str]:
    """All titles of a conversation, the newest last."""
    return [
        text
        for (text,) in db.execute(
            """
            SELECT title.text FROM title
            JOIN kept_conversation conversation ON conversation.number = title.conversation
            WHERE conversation.id = ? ORDER BY title.number
            """,
            (conversation,),
        )
    ]


def insert_archiving(db: sqlite3.Connection, conversation: int, *, archived: bool) -> None:
    """Archive or unarchive a conversation."""
    db.execute(
        "INSERT INTO archiving (conversation, archived, decided) VALUES (?, ?, ?)",
        (conversation, archived, now()),
    )


def insert_note(db: sqlite3.Connection, conversation: int, text: str) -> None:
    """Set the author's note of a conversation."""
    db.execute(
        "INSERT INTO note (conversation, text, written) VALUES (?, ?, ?)",
        (conversation, replace_surrogates(text), now()),
    )


def read_note(db: sqlite3.Connection, conversation: str) -> str:
    """The author's note of a conversation; empty when it has none."""
    found = ""
    for (text,) in db.execute(
        """
        SELECT note.text FROM note
        JOIN kept_conversation conversation ON conversation.number = note.conversation
        WHERE conversation.id = ? ORDER BY note.number DESC LIMIT 1
        """,
        (conversation,),
    ):
        found = text
    return found


def write_draft(db: sqlite3.Connection, key: str, text: str) -> None:
    """Replace a draft; an empty text deletes it."""
    if text:
        db.execute(
            """
            INSERT INTO draft (key, text, kept) VALUES (:key, :text, :now)
            ON CONFLICT (key) DO UPDATE SET text = :text, kept = :now
            """,
            {"key": key, "text": replace_surrogates(text), "now": now()},
        )
    else:
        db.execute("DELETE FROM draft WHERE key = ?", (key,))


def read_draft(db: sqlite3.Connection, key: str) -> str:
    """A draft; empty when there is none."""
    found = ""
    for (text,) in db.execute("SELECT text FROM draft WHERE key = ?", (key,)):
        found = text
    return found


def _summaries(
    db: sqlite3.Connection, condition: str, values: Mapping[str, Any]
) -> list[ConversationSummary]:
    return [
        ConversationSummary(
            id=row["id"],
            persona=row["persona"],
            title=row["title"],
            archived=bool(row["archived"]),
            created=to_iso(row["created"]),
            updated=to_iso(row["updated"]),
            messages=row["messages"],
            last=one_line(row["last"], _SUMMARY_WIDTH),
        )
        for row in db.execute(f"{_SUMMARIES} WHERE {condition} ORDER BY tally.newest DESC", values)
    ]
