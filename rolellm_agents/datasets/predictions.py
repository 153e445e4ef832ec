"""Replies from anywhere, and what they are compared with: two files, row by row or question by question.

A file is JSONL, as RoleBench's own or with `prediction`, `reply` or `text` and `references`, or plain text
with one text a line.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from rolellm_agents.datasets.keys import question_key, role_key
from rolellm_agents.datasets.layout import place_of
from rolellm_agents.datasets.reading import fields_of, what_is_wrong
from rolellm_agents.errors import RoleBenchError, RoleLLMError
from rolellm_agents.metrics import ReferencedReply
from rolellm_agents.text import one_line, whole
from rolellm_agents.text.language import Language

_REPLY_KEYS: Final = ("generated", "prediction", "reply", "text")
_REFERENCE_KEYS: Final = ("generated", "references", "reference", "text")
_LANGUAGES: Final[Mapping[str, Language]] = {"en": "en", "zh": "zh"}
_SHOWN = 60
_ENOUGH = 100
"""So many rows tell the language of a file."""

Key = tuple[str, str]
"""A role and a question, in the form by which they are told to be the same."""


class TextRow(NamedTuple):
    """What a row of a file says."""

    line: int
    texts: tuple[str, ...]
    """The first of them is the reply, or all are references; empty where the row has none."""
    role: str = ""
    question: str = ""
    language: Language | None = None

    @property
    def key(self) -> Key | None:
        """None unless it has both a role and a question."""
        return (role_key(self.role), question_key(self.question)) if self.role and self.question else None


@dataclass(frozen=True)
class TextFile:
    """The rows of a file."""

    path: Path
    rows: Sequence[TextRow]

    def told(self, row: TextRow) -> str:
        """A row by its line, and by its role and question where it has them."""
        asked = f" ({one_line(f'{row.role}: {row.question}', _SHOWN)})" if row.key else ""
        return f"line {row.line} of {self.path}{asked}"


class Prediction(NamedTuple):
    """A reply with what it is compared with."""

    answer: ReferencedReply
    role: str
    """Empty where no file says it."""


@dataclass(frozen=True)
class PredictionSet:
    """What there is to score."""

    scored: Sequence[Prediction]
    notes: Sequence[str]
    """One sentence for each thing that should be known beside the scores."""

    @property
    def answers(self) -> list[ReferencedReply]:
        """For `score_many`."""
        return [one.answer for one in self.scored]

    @property
    def clusters(self) -> list[str]:
        """For `mean_interval`: the role; a row without one stands alone."""
        return [one.role or f"row {number}" for number, one in enumerate(self.scored)]

    @property
    def empty(self) -> int:
        """How many replies have no text."""
        return sum(not one.answer.reply.strip() for one in self.scored)


def read_answered(
    predictions: Path, references: Path, *, language: Language | None = None, only_common: bool = False
) -> PredictionSet:
    """Read replies and their references, and put them together.

    Rows belong together by role and question where all rows of both files have them, in any order;
    otherwise by their places. A row without a reference cannot be scored and is left out, which is told.

    Args:
        predictions: a file of replies; of several in one row the first counts.
        references: a file of references, one or several in a row.
        language: of all rows; otherwise what the rows say, then the folders, then the references' script.
        only_common: rows that only one of the files has are left out; they must have roles and questions.

    Raises:
        RoleBenchError: a file cannot be read, a row is damaged, or the files do not fit together.
    """
    replies = read_texts(predictions, _REPLY_KEYS)
    expected = read_texts(references, _REFERENCE_KEYS)
    pairs = _paired(replies, expected, only_common=only_common)
    usable = [(reply, wanted) for reply, wanted in pairs if any(map(str.strip, wanted.texts))]
    if not usable:
        raise RoleBenchError(f"No row of {references} has a reference; name the file that holds them.")
    common = language or _language_of_files(predictions, references, [wanted for _, wanted in usable])
    scored = [_scored(reply, wanted, language, common) for reply, wanted in usable]
    alone = len(replies.rows) + len(expected.rows) - 2 * len(pairs)
    several = sum(len(reply.texts) > 1 for reply, _ in pairs)
    return PredictionSet(scored, list(_notes(scored, alone, len(pairs), several)))


def read_texts(file: Path, keys: Sequence[str]) -> TextFile:
    """Read a file of texts, JSONL if its first line is a JSON object, else plain text with one a line.

    Args:
        file: in any encoding; JSONL in UTF-8.
        keys: the fields that may hold a row's texts, the first that is there counts.

    Raises:
        RoleBenchError: it cannot be read, is empty, or a row is damaged.
    """
    lines = _lines(file)
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("[") and file.suffix in (".json", ".jsonl"):
        raise RoleBenchError(f"{file} is one JSON list; write each of its objects on a line of its own.")
    if first.lstrip().startswith("{") or file.suffix == ".jsonl":
        numbered = ((number, line) for number, line in enumerate(lines, 1) if line.strip())
        return TextFile(file, [_row(file, number, line, keys) for number, line in numbered])
    plain = (TextRow(number, (line.strip(),)) for number, line in enumerate(lines, 1))
    return TextFile(file, list(plain))


def _lines(file: Path) -> list[str]:
    # It brings charset_normalizer, which commands that read no such files should not pay for.
    from rolellm_agents.text.decoding import decoded

    try:
        if not file.is_file():
            raise RoleBenchError(f"There is no file {file}; name one with a text on each line.")
        content = file.read_bytes()
    except OSError as error:
        raise RoleBenchError(f"{file} cannot be read: {error.strerror}.") from error
    try:
        text = decoded(content, file).lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    except RoleLLMError as error:
        raise RoleBenchError(f"{file} is not text; save it as UTF-8, with a text on each line.") from error
    if not text.strip():
        raise RoleBenchError(f"{file} is empty; name a file with a text on each line.")
    # Not `splitlines`: JSONL ends a line at a line feed only, and texts may hold other marks for it.
    return text.removesuffix("\n").split("\n")


def _row(file: Path, number: int, line: str, keys: Sequence[str]) -> TextRow:
    try:
        fields = fields_of(line.encode("utf-8", "surrogatepass"))
        return TextRow(
            number,
            _texts(fields, keys),
            _name(fields, "role"),
            _name(fields, "question"),
            _LANGUAGES.get(_name(fields, "language")),
        )
    except (ValueError, RecursionError) as error:
        raise RoleBenchError(
            f"{file}, line {number}: {what_is_wrong(error)}; correct the line or remove it."
        ) from error


def _texts(fields: Mapping[str, Any], keys: Sequence[str]) -> tuple[str, ...]:
    """What the first of these fields holds; white space behind it counts by the paper's measure."""
    for key in keys:
        match fields.get(key):
            case None:
                continue
            case str(text):
                return (whole(text).lstrip(),)
            case list(texts) if all(isinstance(text, str) for text in texts):
                return tuple(whole(text).lstrip() for text in texts)
            case _:
                raise ValueError(f"{key!r} is neither a text nor a list of texts")
    raise ValueError(f"it has none of {', '.join(keys)}")


def _name(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    return whole(value).strip() if isinstance(value, str) else ""


def _paired(replies: TextFile, expected: TextFile, *, only_common: bool) -> list[tuple[TextRow, TextRow]]:
    if all(row.key for row in chain(replies.rows, expected.rows)):
        return _paired_by_key(replies, expected, only_common=only_common)
    if only_common:
        raise RoleBenchError(
            f"Not all rows of {replies.path} and {expected.path} have a role and a question, so nobody can "
            "tell which are common; name files that belong together line by line."
        )
    return _paired_by_place(replies, expected)


def _paired_by_key(
    replies: TextFile, expected: TextFile, *, only_common: bool
) -> list[tuple[TextRow, TextRow]]:
    """In the references' order; of rows with one key the first belongs to the first."""
    waiting: defaultdict[Key | None, deque[TextRow]] = defaultdict(deque)
    for row in replies.rows:
        waiting[row.key].append(row)
    pairs, unanswered = [], []
    for row in expected.rows:
        if found := waiting[row.key]:
            pairs.append((found.popleft(), row))
        else:
            unanswered.append(row)
    unasked = sorted(chain.from_iterable(waiting.values()))
    if only_common and pairs:
        return pairs
    misfits = _sides(replies, unasked, expected) + _sides(expected, unanswered, replies)
    if misfits:
        advice = "--common scores those that both files have" if pairs else "name files of the same test"
        raise RoleBenchError(f"They do not fit together: {', and '.join(misfits)}; {advice}.")
    return pairs


def _paired_by_place(replies: TextFile, expected: TextFile) -> list[tuple[TextRow, TextRow]]:
    count, wanted = len(replies.rows), len(expected.rows)
    if count != wanted:
        longer, shorter = (replies, expected) if count > wanted else (expected, replies)
        raise RoleBenchError(
            f"{replies.path} has {count} rows and {expected.path} {wanted}: "
            f"{longer.told(longer.rows[len(shorter.rows)])} is the first of {abs(count - wanted)} that "
            "nothing stands beside; give both files a row for each reply, or a role and a question in each."
        )
    return list(zip(replies.rows, expected.rows, strict=True))


def _sides(file: TextFile, misfits: Sequence[TextRow], other: TextFile) -> list[str]:
    if not misfits:
        return []
    others = f", the first of {len(misfits)} such rows" if len(misfits) > 1 else ""
    return [f"{file.told(misfits[0])} has no row in {other.path}{others}"]


def _scored(reply: TextRow, wanted: TextRow, language: Language | None, common: Language) -> Prediction:
    text = reply.texts[0] if reply.texts else ""
    references = tuple(text for text in wanted.texts if text.strip())
    spoken = language or wanted.language or reply.language or common
    return Prediction(ReferencedReply(text, references, spoken), wanted.role or reply.role)


def _language_of_files(predictions: Path, references: Path, rows: Sequence[TextRow]) -> Language:
    from rolellm_agents.text.language import language_of

    told = place_of(references).language or place_of(predictions).language
    return told or language_of("\n".join(chain.from_iterable(row.texts for row in rows[:_ENOUGH])))


def _notes(scored: Sequence[Prediction], alone: int, paired: int, several: int) -> Iterator[str]:
    from rolellm_agents.text.language import is_in_other_language

    if alone:
        yield f"Left out, since only one of the files has them: {alone} rows."
    if paired > len(scored):
        yield f"Left out, since they have no reference: {paired - len(scored)} of {paired} rows."
    if several:
        yield f"With several replies, of which the first is scored: {several} rows."
    if empty := sum(not one.answer.reply.strip() for one in scored):
        yield f"Empty replies, scored 0: {empty} of {len(scored)}."
    foreign = sum(is_in_other_language(one.answer.references[0], one.answer.language) for one in scored)
    if foreign:
        yield (
            f"With references in another language than they are scored in: {foreign} of {len(scored)} "
            "rows; give such rows a “language”, or score them apart."
        )
