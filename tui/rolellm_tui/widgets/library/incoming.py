"""Cards to import, from a path or pasted JSON, with a preview."""

import os
import shlex
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from rolellm_agents.cards import (
    Card,
    CardError,
    MacroScope,
    lint,
    read_cards,
    read_lorebook_file,
    substitute,
)
from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.errors import PersonaError
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.persona import id_of
from rolellm_agents.persona.from_card.files import ImportedFile, import_file, is_card_file
from rolellm_agents.text import one_line, replace_surrogates

_CONTAINERS = {
    ".apng": "PNG",
    ".charx": "CharX",
    ".jpeg": "JPEG",
    ".jpg": "JPEG",
    ".json": "JSON",
    ".png": "PNG",
    ".voxpkg": "Voxta package",
}


@dataclass(frozen=True)
class Preview:
    """A character or lorebook to import."""

    kind: Literal["persona", "lorebook"]
    name: str
    format: str
    """Card version and file format, as in “V3 · PNG”."""
    about: str
    """Start of the description."""
    lore: int
    """Number of lorebook entries."""
    errors: int
    """Number of linter errors."""
    warnings: int
    """Number of linter warnings."""
    replaces: bool
    """Whether a user's file has the same id."""


@dataclass(frozen=True)
class PathCompletion:
    """A completed path and its possible continuations."""

    text: str
    names: tuple[str, ...]
    """Several, or none."""


def is_json(text: str) -> bool:
    """Whether a text is JSON rather than a path."""
    return text.lstrip().startswith(("{", "["))


def is_card(text: str) -> bool:
    """Whether pasted text is JSON of a card, or the path of a possible card."""
    if is_json(text):
        return text.rstrip().endswith(("}", "]"))
    path = path_in(text)
    try:
        return is_card_file(path) and path.is_file()
    except (OSError, ValueError):
        return False


def path_in(text: str) -> Path:
    """Parse a typed path, or one that a terminal pasted for a dropped file.

    Terminals quote paths with quotation marks, backslashes, or as `file:` URLs.
    """
    raw = text.strip()
    if raw.startswith("file://"):
        return Path(unquote(urlsplit(raw).path))
    if _exists(Path(raw)):
        return Path(raw)
    if os.name == "nt":
        return _expanded(Path(raw.strip('"')))
    try:
        parts = shlex.split(raw)
    except ValueError:
        parts = []
    return _expanded(Path(parts[0] if len(parts) == 1 else raw))


def look(source: str) -> list[Preview]:
    """Preview the items of a card.

    Args:
        source: the path of a card, or its JSON.

    Raises:
        PersonaError: the file is missing, or neither a card nor a lorebook.
    """
    with _as_file(source) as path:
        try:
            return [_of_card(card, path) for card in read_cards(path)]
        except CardError as no_card:
            try:
                book = read_lorebook_file(path)
            except CardError:
                raise PersonaError(str(no_card)) from no_card
            name = book.name or path.stem
            target = user_paths().lorebooks / f"{id_of(name)}.json"
            form = f"lorebook · {_container(path)}"
            lore = len(book.entries)
            return [Preview("lorebook", one_line(name), form, "", lore, 0, 0, target.exists())]


def bring_in(source: str, *, replace: bool) -> list[ImportedFile]:
    """Import a card into the user's folders.

    Args:
        source: the path of a card, or its JSON.
        replace: whether existing files may be overwritten.
    """
    paths = user_paths()
    with _as_file(source) as path:
        return import_file(path, paths.personas, paths.lorebooks, force=replace)


def completed(text: str) -> PathCompletion:
    """Complete a path with folders and possible cards."""
    typed = _expanded(Path(text)) if text else Path()
    folder, stem = (typed, "") if not text or text.endswith(os.sep) else (typed.parent, typed.name)
    try:
        names = sorted(
            entry.name + os.sep if entry.is_dir() else entry.name
            for entry in folder.iterdir()
            if entry.name.startswith(stem)
            and (stem or not entry.name.startswith("."))
            and (is_card_file(entry) or entry.is_dir())
        )
    except (OSError, ValueError):
        names = []
    completion = _shared_beginning(names)[len(stem) :]
    return PathCompletion(text + completion, tuple(names) if len(names) > 1 else ())


def _shared_beginning(names: list[str]) -> str:
    """The common prefix of sorted names."""
    pairs = zip(names[0], names[-1], strict=False) if names else ()
    return "".join(letter for letter, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _of_card(card: Card, path: Path) -> Preview:
    levels = Counter(finding.level for finding in lint(card))
    scope = MacroScope(char=card.char_name, user=DEFAULT_USER)
    return Preview(
        kind="persona",
        name=one_line(card.name),
        format=f"{card.spec.upper()} · {_container(path)}",
        about=one_line(str(substitute(card.description, scope)), 160),
        lore=len(card.lorebook.entries) if card.lorebook else 0,
        errors=levels["error"],
        warnings=levels["warning"],
        replaces=(user_paths().personas / f"{id_of(card.name)}.yaml").exists(),
    )


def _container(path: Path) -> str:
    return _CONTAINERS.get(path.suffix.lower(), "file")


@contextmanager
def _as_file(source: str) -> Iterator[Path]:
    """The named file, or the pasted text as a temporary file."""
    if not is_json(source):
        path = path_in(source)
        if _exists(path) and path.is_dir():
            raise PersonaError(f"{path} is a folder; enter a file name.")
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="rolellm-pasted-") as folder:
        path = Path(folder) / "pasted.json"
        write_atomically(path, replace_surrogates(source), PersonaError)
        yield path


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:
        return path
