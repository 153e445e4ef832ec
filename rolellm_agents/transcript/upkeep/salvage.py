"""Salvage: everything that can be read of a damaged transcript, in a new file."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from rolellm_agents.errors import StorageError
from rolellm_agents.transcript.branches import MAIN
from rolellm_agents.transcript.database import Database
from rolellm_agents.transcript.message import USER
from rolellm_agents.transcript.search_words import index_of
from rolellm_agents.transcript.statements import to_json
from rolellm_agents.transcript.times import now
from rolellm_agents.transcript.upkeep.files import dated_file, new_file
from rolellm_agents.transcript.upkeep.pages import Pages, Progress, open_log
from rolellm_agents.transcript.upkeep.remains import Remains, StoredMessage, collect

_MARK: Final = "salvaged"
"""The key in a message's provenance that says what is lost."""
_TORN, _BRIDGED, _UNHEARD = "a part of it is lost", "messages before it are lost", "who said it is lost"
UNKNOWN_PERSONA: Final = "salvaged"
"""The persona of a conversation that has lost its own."""


@dataclass(frozen=True, kw_only=True)
class Salvage:
    """What a salvage has saved."""

    file: str
    """The new file."""
    conversations: int
    messages: int
    """Messages that are not in the bin."""
    binned: int
    """Messages in the bin."""
    torn: int
    """Messages of which a part is lost."""
    lost: int
    """Messages that were in the file, but cannot be read, as far as the numbers of the others tell."""


def salvage(
    file: Path, out: Path | None = None, progress: Progress = lambda _done, _total: None
) -> Salvage:
    """Save everything that can be read of a transcript in a new file; the old one is only read.

    Args:
        file: the transcript, damaged or not; its write-ahead log is read, too.
        out: the new file; by default, a file beside the old one with the date in its name.
        progress: called with the number of pages that were read, and of all.

    Raises:
        StorageError: the file cannot be read, or contains no message; or the new file exists already or
            cannot be written.
    """
    remains = _read(file, progress)
    if not remains.messages:
        raise StorageError(
            f"No message can be read in {file}; if there is a backup, “rolellm history restore” "
            "puts it in place."
        )
    repaired = _Repair(remains)
    with new_file(out or dated_file(file, "salvaged")) as (part, target):
        _write(part, repaired)
    messages = repaired.messages
    kept = messages.keys() - remains.binned.keys()
    return Salvage(
        file=str(target),
        conversations=len({repaired.branches[messages[one].row.branch][0] for one in kept}),
        messages=len(kept),
        binned=len(messages) - len(kept),
        torn=sum(one.row.torn for one in messages.values()),
        lost=max(0, _highest(remains) - len(messages) - sum(row[0] for row in remains.emptied.values())),
    )


def _highest(remains: Remains) -> int:
    """The highest number that a message has had."""
    emptied = (row[1] for row in remains.emptied.values())
    return max(remains.highest, *remains.messages, *emptied)


def _read(file: Path, progress: Progress) -> Remains:
    log = open_log(file)
    try:
        with ExitStack() as stack:
            pages = Pages(
                stack.enter_context(file.open("rb")),
                None if log is None else stack.enter_context(log.open("rb")),
            )
            return collect(pages.rows(progress), pages.below)
    except OSError as error:
        raise StorageError(f"{file} cannot be read ({error.strerror}); name another file.") from error


_Row = TypeVar("_Row")


class _Mended(NamedTuple):
    """A message as it is written to the new file."""

    row: StoredMessage
    notes: tuple[str, ...]
    """What is lost of it."""


class _Repair:
    """Rows that refer to each other correctly; what a lost row said is inferred from the others."""

    def __init__(self, remains: Remains) -> None:
        self.remains = remains
        self.conversations = _distinct(remains.conversations, lambda row: row[0])
        self.branches = _distinct(remains.branches, lambda row: row)
        self.manners = _distinct(remains.manners, lambda row: row)
        self.messages: dict[int, _Mended] = {}
        self._ids: set[bytes] = set()
        self._newest: dict[int, int] = {}
        """The newest message of each conversation."""
        for number, row in sorted(remains.messages.items()):
            self._mend(number, row)
        for conversation in {conversation for conversation, _ in self.branches.values()}:
            if conversation not in self.conversations:
                self.conversations[conversation] = self._lost_conversation(conversation)

    def _mend(self, number: int, row: StoredMessage) -> None:
        if row.id in self._ids:
            return  # a copy that is no row of its own
        self._ids.add(row.id)
        notes = [_TORN] if row.torn else []
        if row.branch not in self.branches:
            self.branches[row.branch] = self._lost_branch(row)
        conversation = self.branches[row.branch][0]
        parent = row.parent
        if parent is not None and self._conversation_of(parent) != conversation:
            parent = self._newest.get(conversation)
            notes.append(_BRIDGED)
        if row.manner not in self.manners:
            row = row._replace(manner=self._lost_manner(row, conversation))
            notes.append(_UNHEARD)
        if number not in self.remains.binned:
            self._newest[conversation] = number
        self.messages[number] = _Mended(row._replace(parent=parent), tuple(notes))

    def admits(self, branch: int, head: int | None) -> bool:
        """Whether a branch can be moved to a message."""
        if branch not in self.branches:
            return False
        return head is None or self._conversation_of(head) == self.branches[branch][0]

    def _conversation_of(self, message: int) -> int | None:
        found = self.messages.get(message)
        return found and self.branches[found.row.branch][0]

    def _lost_branch(self, row: StoredMessage) -> tuple[int, str]:
        """In the conversation of the message's parent, or in a new one."""
        conversation = None if row.parent is None else self._conversation_of(row.parent)
        if conversation is None:
            known = (*self.conversations, *(number for number, _ in self.branches.values()), 0)
            conversation = max(known) + 1
        names = {name for number, name in self.branches.values() if number == conversation}
        return conversation, next(name for name in _branch_names() if name not in names)

    def _lost_manner(self, row: StoredMessage, conversation: int) -> int:
        """Nobody else may hear what was perhaps whispered, so only its speaker has witnessed it."""
        known = self.conversations.get(conversation)
        persona = known[1] if known else UNKNOWN_PERSONA
        alone = known is not None and known[3] is not None
        speaker = persona if "model" in row.made_by else USER
        manner = speaker, to_json([speaker] if alone else [USER, persona]), "say"
        for number, known_manner in self.manners.items():
            if known_manner == manner:
                return number
        number = max(self.manners, default=0) + 1
        self.manners[number] = manner
        return number

    def _lost_conversation(self, number: int) -> tuple[str, str, int, str | None]:
        """Its persona is the one who speaks most."""
        spoken: dict[str, int] = {}
        moments = [now()]
        for message, _ in self.messages.values():
            if self.branches[message.branch][0] == number:
                speaker = self.manners[message.manner][0]
                spoken[speaker] = spoken.get(speaker, 0) + (speaker != USER)
                moments.append(message.created)
        persona = max(spoken, key=lambda one: spoken[one], default=UNKNOWN_PERSONA)
        id_ = self.remains.conversation_ids.get(number) or f"{number:08x}"
        return id_, UNKNOWN_PERSONA if persona == USER else persona, min(moments), None


def _distinct(rows: Mapping[int, _Row], key: Callable[[_Row], object]) -> dict[int, _Row]:
    """Rows without those that repeat another one's key, as only a damaged row can."""
    seen: dict[object, int] = {}
    for number, row in sorted(rows.items()):
        seen.setdefault(key(row), number)
    return {number: rows[number] for number in seen.values() if number > 0}


def _branch_names() -> Iterator[str]:
    yield MAIN
    number = 1
    while True:
        yield f"salvaged-{number}"
        number += 1


def _write(part: Path, repaired: _Repair) -> None:
    database = Database(part)
    try:
        database.admit_kinds(kind for _, _, kind in repaired.manners.values())
        with database.writing() as db:
            _insert(db, repaired)
    finally:
        database.close()


def _insert(db: sqlite3.Connection, repaired: _Repair) -> None:
    messages, remains = repaired.messages, repaired.remains
    _insert_rows(db, "conversation", ((number, *row) for number, row in repaired.conversations.items()))
    _insert_rows(db, "branch", ((number, *row) for number, row in sorted(repaired.branches.items())))
    _insert_rows(db, "manner", ((number, *row) for number, row in repaired.manners.items()))
    _insert_rows(db, "message", (_columns(number, *mended) for number, mended in messages.items()))
    db.executemany(
        "INSERT INTO word (rowid, words) VALUES (?, ?)",
        ((number, index_of(row.text)) for number, (row, _) in messages.items() if row.text is not None),
    )
    _insert_rows(
        db,
        "piece",
        (
            (message, number, text)
            for (message, number), text in sorted(remains.pieces.items())
            if message in messages and messages[message].row.status is None
        ),
    )
    _insert_rows(
        db,
        "move",
        ((number, *move) for number, move in remains.moves.items() if repaired.admits(*move[:2])),
    )
    for table, rows in (
        ("title", remains.titles),
        ("note", remains.notes),
        ("archiving", remains.archivings),
    ):
        known = ((number, *row) for number, row in rows.items() if row[0] in repaired.conversations)
        _insert_rows(db, table, known)
    summaries = ((number, *row) for number, row in remains.summaries.items() if row[1] in messages)
    _insert_rows(db, "summary", summaries)
    _insert_bin(db, repaired)
    _insert_rows(db, "draft", ((key, *row) for key, row in remains.drafts.items()))


def _insert_bin(db: sqlite3.Connection, repaired: _Repair) -> None:
    """What was deleted stays deleted; a deletion whose row is lost can still be taken back."""
    remains, conversations = repaired.remains, repaired.conversations
    removals = {
        number: row for number, row in remains.removals.items() if row[2] is None or row[2] in conversations
    }
    binned = {message: row for message, row in remains.binned.items() if message in repaired.messages}
    for message, removal in sorted(binned.items()):
        if removal not in removals:
            conversation = repaired.branches[repaired.messages[message].row.branch][0]
            removals[removal] = (
                f"{removal:08x}", "message", conversation, message, None, None, None, now(), 0,
            )  # fmt: skip
    for number, (id_, kind, its_conversation, root, branch, *rest) in removals.items():
        known_root = root if root in repaired.messages else None
        known_branch = branch if branch in repaired.branches else None
        _insert_rows(
            db, "removal", [(number, id_, kind, its_conversation, known_root, known_branch, *rest)]
        )
    _insert_rows(db, "binned", binned.items())
    _insert_rows(db, "emptied", ((number, *row) for number, row in remains.emptied.items()))


def _insert_rows(db: sqlite3.Connection, table: str, rows: Iterable[tuple[Any, ...]]) -> None:
    for row in rows:
        places = ", ".join("?" * len(row))
        db.execute(f"INSERT INTO {table} VALUES ({places})", row)  # noqa: S608 - the tables are ours


def _columns(number: int, row: StoredMessage, notes: tuple[str, ...]) -> tuple[Any, ...]:
    made_by = {**row.made_by, _MARK: "; ".join(notes)} if notes else row.made_by
    known = (row.id, row.branch, row.parent, row.manner, row.created, to_json(made_by) if made_by else None)
    return (number, *known, row.usage, row.status, row.took, row.text)
