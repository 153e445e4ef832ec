"""The rows of a damaged transcript, each recognized by its columns, without the file's schema."""

import json
import re
import sqlite3
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, cast

from rolellm_agents.transcript.message import is_kind_name
from rolellm_agents.transcript.migration import inflated, joined_json
from rolellm_agents.transcript.statements import to_json
from rolellm_agents.transcript.upkeep.pages import Row, Value

_LETTERS: Final[dict[type, str]] = {int: "I", str: "T", bytes: "B", float: "F", type(None): "N"}
_CONVERSATION_ID = re.compile(r"[0-9a-f]{8}")
_LONGEST_TITLE: Final = 200
"""Characters. Where the schema is lost, a longer text, or one with line breaks, counts as a note."""


class StoredMessage(NamedTuple):
    """A row of `message`, in the order of its columns after the number."""

    id: bytes
    branch: int
    parent: int | None
    manner: int
    created: int
    made_by: dict[str, Any]
    usage: str | None
    status: int | None
    took: int | None
    text: str | None
    torn: bool


@dataclass
class Remains:
    """All rows that were found, by their numbers."""

    conversations: dict[int, tuple[str, str, int, str | None]] = field(default_factory=dict)
    conversation_ids: dict[int, str] = field(default_factory=dict)
    branches: dict[int, tuple[int, str]] = field(default_factory=dict)
    manners: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    messages: dict[int, StoredMessage] = field(default_factory=dict)
    pieces: dict[tuple[int, int], str] = field(default_factory=dict)
    moves: dict[int, tuple[int, int | None, int, int]] = field(default_factory=dict)
    titles: dict[int, tuple[int, str, int]] = field(default_factory=dict)
    notes: dict[int, tuple[int, str, int]] = field(default_factory=dict)
    summaries: dict[int, tuple[str, int, int]] = field(default_factory=dict)
    archivings: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    removals: dict[int, tuple[Value, ...]] = field(default_factory=dict)
    binned: dict[int, int] = field(default_factory=dict)
    """The deletion of each message in the bin."""
    emptied: dict[int, tuple[int, int, str]] = field(default_factory=dict)
    highest: int = 0
    """The highest number of a message, as far as rows of any table tell."""
    drafts: dict[str, tuple[str, int]] = field(default_factory=dict)
    roots: dict[str, int] = field(default_factory=dict)
    """The first page of each table, as far as the schema can be read."""
    titles_or_notes: dict[tuple[int, int], tuple[int, str, int]] = field(default_factory=dict)
    """By page and number; these tables have the same columns."""
    packed: dict[int, tuple[Value, ...]] = field(default_factory=dict)
    """Messages of format 2, which can be read when all shapes are known."""
    shapes: dict[int, str | bytes] = field(default_factory=dict)


def collect(rows: Iterable[Row], pages_below: Callable[[int], set[int]]) -> Remains:
    """Sort rows into tables; a row that belongs to none of ours is left out.

    `pages_below` returns the pages of a table by its first page.
    """
    found = Remains()
    for row in rows:
        shape = "".join(_LETTERS[type(value)] for value in row.values)
        tables = _INDEXES if row.number is None else _TABLES
        for pattern, take in tables:
            if pattern.fullmatch(shape):
                take(found, row)
                break
    _tell_titles_from_notes(found, pages_below)
    _unpack(found)
    return found


def _tell_titles_from_notes(found: Remains, pages_below: Callable[[int], set[int]]) -> None:
    of_titles, of_notes = (
        pages_below(found.roots[name]) if name in found.roots else set() for name in ("title", "note")
    )
    for (page, number), row in found.titles_or_notes.items():
        is_note = page in of_notes or (
            page not in of_titles and (len(row[1]) > _LONGEST_TITLE or "\n" in row[1])
        )
        (found.notes if is_note else found.titles)[number] = row


def _conversation(found: Remains, row: Row) -> None:
    _, id_, persona, created, extensions = cast("tuple[None, str, str, int, str | None]", row.values)
    if _CONVERSATION_ID.fullmatch(id_) and not row.torn:
        found.conversations[_number(row)] = id_, persona, created, _valid_json(extensions)


def _message(found: Remains, row: Row) -> None:
    values = cast("tuple[Any, ...]", row.values)
    _, id_, branch, parent, manner, created, made_by, usage, status, took, text = values
    number, before = _number(row), found.messages.get(_number(row))
    if not _is_message(number, id_, parent, status) or (status is None) != (text is None):
        return
    if before is not None and before.status is not None and (status is None or row.torn):
        return  # an older version of the row, or a damaged one
    found.messages[number] = StoredMessage(
        id_,
        branch,
        parent,
        manner,
        created,
        _object(made_by),
        _valid_json(usage),
        status,
        took,
        text,
        row.torn or (made_by is not None and _valid_json(made_by) is None),
    )


def _packed_message(found: Remains, row: Row) -> None:
    values = cast("tuple[Any, ...]", row.values)
    _, id_, _, parent, _, _, _, _, status, _, _ = values
    number = _number(row)
    older = found.packed.get(number)
    if (
        _is_message(number, id_, parent, status)
        and not (row.torn and older)
        and not (older and older[8] is not None and status is None)
    ):
        found.packed[number] = row.values


def _is_message(number: int, id_: bytes, parent: int | None, status: int | None) -> bool:
    return len(id_) == 8 and number > 0 and (parent is None or 0 < parent < number) and status in _STATUSES


_STATUSES: Final = (None, 0, 1, 2)


def _named(found: Remains, row: Row) -> None:
    """A branch, or a shape of format 2, which is JSON or deflated."""
    _, first, text = cast("tuple[None, int, str]", row.values)
    if row.torn:
        return
    if text.startswith("{"):
        found.shapes[_number(row)] = text
    else:
        found.branches[_number(row)] = first, text


def _packed_shape(found: Remains, row: Row) -> None:
    found.shapes[_number(row)] = cast("bytes", row.values[2])


def _title_or_note(found: Remains, row: Row) -> None:
    found.titles_or_notes[row.page, _number(row)] = cast("tuple[int, str, int]", row.values[1:])


def _summary(found: Remains, row: Row) -> None:
    found.summaries[_number(row)] = cast("tuple[str, int, int]", row.values[1:])


def _table(found: Remains, row: Row) -> None:
    kind, name, _, root, _ = cast("tuple[str, str, str, int, str]", row.values)
    if kind == "table":
        found.roots[name] = root


def _archiving(found: Remains, row: Row) -> None:
    _, conversation, archived, decided = cast("tuple[None, int, int, int]", row.values)
    if archived in (0, 1):
        found.archivings[_number(row)] = conversation, archived, decided


def _move(found: Remains, row: Row) -> None:
    found.moves[_number(row)] = cast("tuple[int, int | None, int, int]", row.values[1:])


def _removal(found: Remains, row: Row) -> None:
    if row.values[2] in ("message", "branch", "conversation", "draft") and row.values[9] in (0, 1):
        found.removals[_number(row)] = row.values[1:]


def _binned(found: Remains, row: Row) -> None:
    found.binned[_number(row)] = cast("int", row.values[1])


def _emptied(found: Remains, row: Row) -> None:
    if row.values[3] in ("no", "begun", "file", "log"):
        found.emptied[_number(row)] = cast("tuple[int, int, str]", row.values[1:])


def _manner(found: Remains, row: Row) -> None:
    _, speaker, audience, kind = cast("tuple[None, str, str, str]", row.values)
    _add_manner(found, _number(row), speaker, audience, kind)


def _indexed_manner(found: Remains, row: Row) -> None:
    speaker, audience, kind, number = cast("tuple[str, str, str, int]", row.values)
    _add_manner(found, number, speaker, audience, kind)


def _add_manner(found: Remains, number: int, speaker: str, audience: str, kind: str) -> None:
    if is_kind_name(kind) and _is_list_of_texts(audience):
        found.manners[number] = speaker, audience, kind


def _indexed_branch(found: Remains, row: Row) -> None:
    conversation, name, number = cast("tuple[int, str, int]", row.values)
    found.branches.setdefault(number, (conversation, name))


def _indexed_conversation(found: Remains, row: Row) -> None:
    id_, number = cast("tuple[str, int]", row.values)
    if _CONVERSATION_ID.fullmatch(id_):
        found.conversation_ids[number] = id_


def _indexed_message(found: Remains, row: Row) -> None:
    id_, number = cast("tuple[bytes, int]", row.values)
    if len(id_) == 8 and not row.torn:
        found.highest = max(found.highest, number)


def _piece(found: Remains, row: Row) -> None:
    message, number, text = cast("tuple[int, int, str]", row.values)
    found.pieces[message, number] = text


def _draft(found: Remains, row: Row) -> None:
    key, text, kept = cast("tuple[str, str, int]", row.values)
    if key not in found.drafts or found.drafts[key][1] <= kept:
        found.drafts[key] = text, kept


_Take = Callable[[Remains, Row], None]
_TABLES: Final[tuple[tuple[re.Pattern[str], _Take], ...]] = tuple(
    (re.compile(pattern), take)
    for pattern, take in (
        ("NBI[IN]II[TN][TN][IN][IN][TN]", _message),
        ("NBI[IN]III[TBIN][IN][IN][TBN]", _packed_message),
        ("NBI[IN]IIN[TBIN][IN][IN][TBN]", _packed_message),
        ("NTT[IN][IN][IN][TN][TN]II", _removal),
        ("NI", _binned),
        ("NIIT", _emptied),
        ("NTTI[TN]", _conversation),
        ("NTTT", _manner),
        ("TTTIT", _table),
        ("NITI", _title_or_note),
        ("NTII", _summary),
        ("NIII", _archiving),
        ("NI[IN]II", _move),
        ("NIT", _named),
        ("NIB", _packed_shape),
    )
)
"""The columns of tables: N null (where the number is, too), I integer, T text, B bytes."""
_INDEXES: Final[tuple[tuple[re.Pattern[str], _Take], ...]] = tuple(
    (re.compile(pattern), take)
    for pattern, take in (
        ("IIT", _piece),
        ("TTI", _draft),
        ("ITI", _indexed_branch),
        ("TTTI", _indexed_manner),
        ("TI", _indexed_conversation),
        ("BI", _indexed_message),
    )
)


def _unpack(found: Remains) -> None:
    """Convert messages of format 2 to the current format; a text that cannot be inflated is lost."""
    for number, values in found.packed.items():
        _, id_, branch, parent, manner, created, shape, own, status, took, text = cast("Any", values)
        torn = False
        try:
            provenance = joined_json(found.shapes.get(shape), own)
        except ValueError:
            provenance, torn = {}, True
        try:
            said = None if text is None else inflated(text)
        except ValueError:
            continue
        usage, made_by = provenance.get("usage"), provenance.get("made_by")
        found.messages.setdefault(
            number,
            StoredMessage(
                id_,
                branch,
                parent,
                manner,
                created,
                made_by if isinstance(made_by, dict) else {},
                None if usage is None else to_json(usage),
                status,
                took,
                said,
                torn or (shape is not None and shape not in found.shapes),
            ),
        )


def _number(row: Row) -> int:
    if row.number is None:
        raise sqlite3.InternalError("a row of a table has no number")
    return row.number


def _object(text: str | None) -> dict[str, Any]:
    value = json.loads(text) if _valid_json(text) is not None and text else {}
    return value if isinstance(value, dict) else {}


def _valid_json(text: str | None) -> str | None:
    """The text if it is JSON, else None."""
    try:
        return text if text is not None and isinstance(json.loads(text), dict) else None
    except (ValueError, RecursionError):
        return None


def _is_list_of_texts(text: str) -> bool:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
