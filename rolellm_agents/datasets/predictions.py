"""Read predictions and references from two files and pair them, by row or by role and question.

A file is JSONL, with RoleBench's fields or with `prediction`, `reply` or `text` and `references`, or plain
text with one text on each line.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from rolellm_agents.datasets.keys import question_key, role_key
from rolellm_agents.datasets.layout import place_of
from rolellm_agents.datasets.reading import describe_error, fields_of
from rolellm_agents.errors import RoleBenchError, RoleLLMError
from rolellm_agents.metrics import ReferencedReply
from rolellm_agents.text import one_line, replace_surrogates
from rolellm_agents.text.language import Language

REPLY_KEYS: Final = ("generated", "prediction", "reply", "text")
"""The fields that may hold a reply; the first that exists counts."""
_REFERENCE_KEYS: Final = ("generated", "references", "reference", "text")
_LANGUAGES: Final[Mapping[str, Language]] = {"en": "en", "zh": "zh"}
_SHOWN = 60
_ENOUGH = 100
"""Number of rows from which a file's language is recognised."""

Key = tuple[str, str]
"""The keys of a role and a question."""


class TextRow(NamedTuple):
    """One row of a file."""

    line: int
    texts: tuple[str, ...]
    """The references; or replies, of which the first counts. May be empty."""
    role: str = ""
    question: str = ""
    language: Language | None = None

    @property
    def key(self) -> Key | None:
        """None unless the row has both a role and a question."""
        return (role_key(self.role), question_key(self.question)) if self.role and self.question else None


@dataclass(frozen=True)
class TextFile:
    """The rows of a file."""

    path: Path
    rows: Sequence[TextRow]

    def describe(self, row: TextRow) -> str:
        """Name a row in a message: by line, and by role and question where it has them."""
        asked = f" ({one_line(f'{row.role}: {row.question}', _SHOWN)})" if row.key else ""
        return f"line {row.line} of {self.path}{asked}"


class Prediction(NamedTuple):
    """A reply with its references."""

    answer: ReferencedReply
    role: str
    """Empty where neither file has it."""


@dataclass(frozen=True)
class PredictionSet:
    """Predictions to score."""

    scored: Sequence[Prediction]
    notes: Sequence[str]
    """Sentences that should be shown beside the scores."""

    @property
    def answers(self) -> list[ReferencedReply]:
        """The replies with their references, for `score_many`."""
        return [prediction.answer for prediction in self.scored]

    @property
    def clusters(self) -> list[str]:
        """The cluster of each prediction, for `mean_interval`: its role, or its row if it has none."""
        return [prediction.role or f"row {number}" for number, prediction in enumerate(self.scored)]

    @property
    def empty(self) -> int:
        """Number of replies without text."""
        return sum(not prediction.answer.reply.strip() for prediction in self.scored)


def read_predictions(
    predictions: Path, references: Path, *, language: Language | None = None, only_common: bool = False
) -> PredictionSet:
    """Read predictions and their references, and pair them.

    Rows are paired by role and question where all rows of both files have them, otherwise by place. Rows
    without a reference are left out with a note.

    Args:
        predictions: a file of replies; if a row has several, the first is used.
        references: a file of references, one or several in a row.
        language: the language of all rows; by default taken from the rows, then from the folders, then
            from the references' script.
        only_common: leave out rows that only one file has; requires roles and questions.

    Raises:
        RoleBenchError: a file cannot be read, a row is invalid, or the files do not fit together.
    """
    replies = read_texts(predictions, REPLY_KEYS)
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
    """Read a file of texts: JSONL if its first line is a JSON object, otherwise one text on each line.

    Args:
        file: JSONL in UTF-8, or plain text in any encoding.
        keys: the possible fields of a row's texts; the first that exists counts.

    Raises:
        RoleBenchError: the file cannot be read or is empty, or a row is invalid.
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
    # Imported here because it loads charset_normalizer, which most commands do not need.
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
    # Not `splitlines`: lines of JSONL end at a line feed only, and texts may contain other separators.
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
            f"{file}, line {number}: {describe_error(error)}; correct the line or remove it."
        ) from error


def _texts(fields: Mapping[str, Any], keys: Sequence[str]) -> tuple[str, ...]:
    """The texts of the first existing field; trailing white space stays, as the metric counts it."""
    for key in keys:
        match fields.get(key):
            case None:
                continue
            case str(text):
                return (replace_surrogates(text).lstrip(),)
            case list(texts) if all(isinstance(text, str) for text in texts):
                return tuple(replace_surrogates(text).lstrip() for text in texts)
            case _:
                raise ValueError(f"{key!r} is neither a text nor a list of texts")
    raise ValueError(f"it has none of {', '.join(keys)}")


def _name(fields: Mapping[str, Any], key: str) -> str:
    value = fields.get(key)
    return replace_surrogates(value).strip() if isinstance(value, str) else ""


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
    """Pairs in the references' order; rows with equal keys are paired in order."""
    pending: defaultdict[Key | None, deque[TextRow]] = defaultdict(deque)
    for row in replies.rows:
        pending[row.key].append(row)
    pairs, unanswered = [], []
    for row in expected.rows:
        if found := pending[row.key]:
            pairs.append((found.popleft(), row))
        else:
            unanswered.append(row)
    unasked = sorted(chain.from_iterable(pending.values()))
    if only_common and pairs:
        return pairs
    misfits = _unpaired(replies, unasked, expected) + _unpaired(expected, unanswered, replies)
    if misfits:
        advice = "--common scores those that both files have" if pairs else "name files of the same test"
        raise RoleBenchError(f"The files do not fit together: {', and '.join(misfits)}; {advice}.")
    return pairs


def _paired_by_place(replies: TextFile, expected: TextFile) -> list[tuple[TextRow, TextRow]]:
    count, wanted = len(replies.rows), len(expected.rows)
    if count != wanted:
        longer, shorter = (replies, expected) if count > wanted else (expected, replies)
        raise RoleBenchError(
            f"{replies.path} has {count} rows and {expected.path} {wanted}: "
            f"{longer.describe(longer.rows[len(shorter.rows)])} is the first of {abs(count - wanted)} rows "
            "without a counterpart; give both files a row for each reply, or each row a role and a "
            "question."
        )
    return list(zip(replies.rows, expected.rows, strict=True))


def _unpaired(file: TextFile, misfits: Sequence[TextRow], other: TextFile) -> list[str]:
    if not misfits:
        return []
    others = f", the first of {len(misfits)} such rows" if len(misfits) > 1 else ""
    return [f"{file.describe(misfits[0])} has no row in {other.path}{others}"]


def _scored(reply: TextRow, wanted: TextRow, language: Language | None, common: Language) -> Prediction:
    text = reply.texts[0] if reply.texts else ""
    references = tuple(text for text in wanted.texts if text.strip())
    spoken = language or wanted.language or reply.language or common
    return Prediction(ReferencedReply(text, references, spoken), wanted.role or reply.role)


def _language_of_files(predictions: Path, references: Path, rows: Sequence[TextRow]) -> Language:
    from rolellm_agents.text.language import language_of

    by_folder = place_of(references).language or place_of(predictions).language
    return by_folder or language_of("\n".join(chain.from_iterable(row.texts for row in rows[:_ENOUGH])))


def _notes(scored: Sequence[Prediction], alone: int, paired: int, several: int) -> Iterator[str]:
    from rolellm_agents.text.language import is_in_other_language

    if alone:
        yield f"Left out, because only one of the files has them: {alone} rows."
    if paired > len(scored):
        yield f"Left out, because they have no reference: {paired - len(scored)} of {paired} rows."
    if several:
        yield f"With several replies, of which the first is scored: {several} rows."
    if empty := sum(not prediction.answer.reply.strip() for prediction in scored):
        yield f"Empty replies, scored 0: {empty} of {len(scored)}."
    foreign = sum(
        is_in_other_language(prediction.answer.references[0], prediction.answer.language)
        for prediction in scored
    )
    if foreign:
        yield (
            f"With references in another language than they are scored in: {foreign} of {len(scored)} "
            "rows; give such rows a “language”, or score them separately."
        )
