"""General instructions, which every character can answer in its own voice.

The bundled instructions are in `rolellm_personas/instructions`. Others are read from a JSONL file, such as
a file of RoleBench, or from a folder in which Hugging Face's `datasets` saved a data set.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from rolellm_agents.datasets.hugging_face import is_hf_folder
from rolellm_agents.errors import RoleBenchError
from rolellm_agents.text import one_line, plain
from rolellm_agents.text.language import Language

_TEXT_KEYS: Final = ("instruction", "question", "prompt", "query")
_INPUT_KEYS: Final = ("input", "context")
"""Keys of the instruction's input, which some data sets store separately."""
_LONGEST = 20_000


@dataclass(frozen=True)
class Instruction:
    """One instruction."""

    id: str
    text: str
    language: Language
    category: str
    """For bundled instructions `open`, `commonsense` or `knowledge`, as in the paper; may be empty."""


@dataclass(frozen=True)
class InstructionSet:
    """The instructions of a source, in order."""

    all: tuple[Instruction, ...]
    repeated: int
    """Number of rows that were left out because an earlier row has the same text."""

    def of(self, language: Language) -> list[Instruction]:
        """The instructions in one language."""
        return [one for one in self.all if one.language == language]


def bundled_instructions() -> InstructionSet:
    """The bundled instructions: a hundred in English, a hundred in Chinese, with the categories mixed."""
    folder = files("rolellm_personas") / "instructions"
    rows = [
        json.loads(line)
        for language in ("en", "zh")
        for line in (folder / f"{language}.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    return _collect(rows)


def read_instructions(source: Path) -> InstructionSet:
    """Read instructions from a JSONL file, or from a folder with a saved data set.

    A row is an object with the text as `instruction` or `question`. `input` is appended to the text, and
    `id`, `category` and `language` are optional.

    Raises:
        RoleBenchError: the source cannot be read, or contains no instructions.
    """
    rows = _saved_rows(source) if source.is_dir() else _jsonl_rows(source)
    found = _collect(rows)
    if not found.all:
        raise RoleBenchError(
            f"{source} holds no instructions; name a JSONL file with “instruction” in its rows."
        )
    return found


def _jsonl_rows(file: Path) -> Iterator[Mapping[str, Any]]:
    try:
        if not file.is_file():
            raise RoleBenchError(f"There is no file {file}; name a JSONL file of instructions.")
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                text = line.removeprefix(b"\xef\xbb\xbf").strip()
                if text:
                    yield _checked(text, f"{file}, line {number}")
    except OSError as error:
        raise RoleBenchError(f"{file} cannot be read: {error.strerror}.") from error


def _checked(line: bytes, place: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise RoleBenchError(f"{place} is not JSON; correct the line or remove it.") from error
    if not isinstance(row, dict) or not _text(row, _TEXT_KEYS):
        raise RoleBenchError(
            f"{place} has no text as “instruction” or “question”; correct the line or remove it."
        )
    return row


def _saved_rows(folder: Path) -> Iterator[Mapping[str, Any]]:
    if not is_hf_folder(folder):
        raise RoleBenchError(
            f"{folder} holds no saved data set; name a folder that “save_to_disk” wrote, or a JSONL file."
        )
    try:
        saved_sets = import_module("datasets")
    except ImportError as error:
        raise RoleBenchError(
            f"{folder} is a data set of Hugging Face's, and the package “datasets” is not installed; "
            "“pip install datasets” installs it, or give a JSONL file."
        ) from error
    try:
        saved = saved_sets.load_from_disk(str(folder))
    except (OSError, ValueError) as error:
        raise RoleBenchError(
            f"{folder} cannot be read as a data set ({one_line(str(error), 120)}); save it again."
        ) from error
    for part in saved.values() if isinstance(saved, dict) else (saved,):
        yield from (row for row in part if _text(row, _TEXT_KEYS))


def _collect(rows: Iterable[Mapping[str, Any]]) -> InstructionSet:
    by_text: dict[tuple[Language, str], Instruction] = {}
    ids: set[str] = set()
    repeated = 0
    for row in rows:
        one = _instruction(row)
        if (one.language, one.text) in by_text:
            repeated += 1
            continue
        if one.id in ids:
            one = Instruction(_id_of(one.text), one.text, one.language, one.category)
        ids.add(one.id)
        by_text[one.language, one.text] = one
    return InstructionSet(tuple(by_text.values()), repeated)


def _instruction(row: Mapping[str, Any]) -> Instruction:
    text = "\n".join(part for part in (_text(row, _TEXT_KEYS), _text(row, _INPUT_KEYS)) if part)
    given = row.get("language")
    language: Language = given if given in ("en", "zh") else _language_of(text)
    name = row.get("id")
    category = row.get("category")
    return Instruction(
        id=one_line(str(name), 80) if isinstance(name, str | int) and str(name).strip() else _id_of(text),
        text=text,
        language=language,
        category=category if isinstance(category, str) else "",
    )


def _language_of(text: str) -> Language:
    # It imports charset_normalizer, which is not needed when rows name their language.
    from rolellm_agents.text.language import language_of

    return language_of(text)


def _text(row: Mapping[str, Any], keys: Iterable[str]) -> str:
    found = (row[key] for key in keys if isinstance(row.get(key), str))
    return next((cut for text in found if (cut := plain(text)[:_LONGEST].strip())), "")


def _id_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]
