"""The list of conversations: begun, named, put away, found again; and what was being typed in them."""

import json
import secrets
from collections.abc import Mapping
from typing import Any

from rolellm_agents.errors import MessageError
from rolellm_agents.text import one_line, whole
from rolellm_agents.transcript import rows
from rolellm_agents.transcript.database import Database
from rolellm_agents.transcript.message import ConversationSummary
from rolellm_agents.transcript.packing import to_iso, unpack_text

MAIN = "main"
"""The branch every conversation begins with."""

_SUMMARY_WIDTH = 80

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
       coalesce(m.text, ({rows.WORDS_SO_FAR}), '') AS last
FROM (SELECT branch.conversation, count(*) AS messages, max(message.number) AS newest
      FROM message JOIN branch ON branch.number = message.branch GROUP BY branch.conversation) tally
JOIN conversation ON conversation.number = tally.conversation
JOIN message m ON m.number = tally.newest
"""  # noqa: S608 - no value is put into the text


class Conversations(Database):
    """What can be asked and said about whole conversations."""

    def create_conversation(self, persona: str, extensions: Mapping[str, Any] | None = None) -> str:
        """Begin a conversation with a persona; returns its id.

        Args:
            persona: its id.
            extensions: what an imported file told of it and we do not use.
        """
        id_ = secrets.token_hex(4)
        with self._writing(durable=False) as db:
            number = rows.insert_conversation(db, id_, persona, rows.now(), extensions or {})
            rows.branch_number(db, number, MAIN)
        return id_

    def conversations(
        self, persona: str | None = None, *, archived: bool = False
    ) -> list[ConversationSummary]:
        """All conversations in which something was said, the latest first.

        Args:
            persona: only those with this one.
            archived: those that were put away, instead of those that were not.
        """
        return self._summaries(
            "(:persona IS NULL OR conversation.persona = :persona) AND archived = :archived",
            {"persona": persona, "archived": archived},
        )

    def find_conversation(self, reference: str) -> ConversationSummary:
        """A conversation, put away or not, by its id or the beginning of it that no other shares.

        Raises:
            MessageError: there is none, or there are several.
        """
        found = self._summaries(
            "substr(conversation.id, 1, length(:reference)) = :reference", {"reference": whole(reference)}
        )
        if len(found) == 1 and reference:
            return found[0]
        what = f"{len(found)} conversations begin with" if found else "There is no conversation"
        raise MessageError(f"{what} {reference!r}; “rolellm history list” shows all.")

    def extensions(self, conversation: str) -> dict[str, Any]:
        """What an imported file told of a conversation and we do not use."""
        found: dict[str, Any] = {}
        for row in self._rows(
            "SELECT extensions FROM conversation WHERE id = :id AND extensions IS NOT NULL",
            {"id": conversation},
        ):
            found = json.loads(row["extensions"])
        return found

    def rename(self, conversation: str, title: str) -> None:
        """Give a conversation a title; an empty one takes it away.

        Raises:
            MessageError: there is no such conversation.
        """
        with self._writing() as db:
            rows.insert_title(db, self._conversation_number(conversation), title)

    def titles(self, conversation: str) -> list[str]:
        """All titles a conversation ever had, the newest last: the one before undoes a `rename`."""
        return [
            row["text"]
            for row in self._rows(
                """
                SELECT title.text FROM title
                JOIN conversation ON conversation.number = title.conversation
                WHERE conversation.id = :id ORDER BY title.number
                """,
                {"id": conversation},
            )
        ]

    def archive(self, conversation: str) -> None:
        """Put a conversation away: it is not listed, but found.

        Raises:
            MessageError: there is no such conversation.
        """
        with self._writing() as db:
            rows.insert_archiving(db, self._conversation_number(conversation), archived=True)

    def unarchive(self, conversation: str) -> None:
        """Take a conversation out again.

        Raises:
            MessageError: there is no such conversation.
        """
        with self._writing() as db:
            rows.insert_archiving(db, self._conversation_number(conversation), archived=False)

    def set_note(self, conversation: str, text: str) -> None:
        """Give a conversation an author's note; an empty one takes it away.

        Raises:
            MessageError: there is no such conversation.
        """
        with self._writing() as db:
            rows.insert_note(db, self._conversation_number(conversation), text)

    def note(self, conversation: str) -> str:
        """A conversation's author's note; empty when it has none."""
        found = ""
        for row in self._rows(
            """
            SELECT note.text FROM note
            JOIN conversation ON conversation.number = note.conversation
            WHERE conversation.id = :id ORDER BY note.number DESC LIMIT 1
            """,
            {"id": conversation},
        ):
            found = row["text"]
        return found

    def keep_draft(self, key: str, text: str) -> None:
        """Remember what the person is typing, in place of what they typed before; an empty text forgets it.

        Args:
            key: a conversation's id; before there is one, the persona's.
            text: the unsent line.
        """
        with self._writing(durable=False) as db:
            if text:
                db.execute(
                    """
                    INSERT INTO draft (key, text, kept) VALUES (:key, :text, :now)
                    ON CONFLICT (key) DO UPDATE SET text = :text, kept = :now
                    """,
                    {"key": key, "text": whole(text), "now": rows.now()},
                )
            else:
                db.execute("DELETE FROM draft WHERE key = ?", (key,))

    def draft(self, key: str) -> str:
        """What the person was typing there; empty when there is nothing."""
        found = ""
        for row in self._rows("SELECT text FROM draft WHERE key = :key", {"key": key}):
            found = row["text"]
        return found

    def _summaries(self, condition: str, values: Mapping[str, Any]) -> list[ConversationSummary]:
        found = self._rows(f"{_SUMMARIES} WHERE {condition} ORDER BY tally.newest DESC", values)
        return [
            ConversationSummary(
                id=row["id"],
                persona=row["persona"],
                title=row["title"],
                archived=bool(row["archived"]),
                created=to_iso(row["created"]),
                updated=to_iso(row["updated"]),
                messages=row["messages"],
                last=one_line(unpack_text(row["last"]), _SUMMARY_WIDTH),
            )
            for row in found
        ]

    def _conversation_number(self, conversation: str) -> int:
        for (number,) in self._db.execute("SELECT number FROM conversation WHERE id = ?", (conversation,)):
            found: int = number
            return found
        raise MessageError(f"There is no conversation {conversation!r}.")
