"""What a person wants to bring in, by a path or by pasting it; looked at before anything is written."""

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
from rolellm_agents.persona.from_card.files import Imported, import_file, is_card_file
from rolellm_agents.text import one_line, whole

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
    """One character or lorebook that would come in."""

    kind: Literal["persona", "lorebook"]
    name: str
    format: str
    """The card's version and the file's kind, as in “V3 · PNG”."""
    about: str
    """How its description begins."""
    lore: int
    """Entries of its lorebook."""
    errors: int
    """What the linter found that breaks the specification."""
    warnings: int
    """What the linter found that may do harm."""
    replaces: bool
    """Whether a file of the person's own has its id."""


@dataclass(frozen=True)
class PathCompletion:
    """A path that was begun, as far as it can only go one way, and the ways from there."""

    text: str
    names: tuple[str, ...]
    """Several, or none."""


def is_json(text: str) -> bool:
    """Whether a text is meant as JSON and not as a path."""
    return text.lstrip().startswith(("{", "["))


def is_card(text: str) -> bool:
    """Whether what was pasted is a card's JSON, or names a file that may hold a card."""
    if is_json(text):
        return text.rstrip().endswith(("}", "]"))
    path = path_in(text)
    try:
        return is_card_file(path) and path.is_file()
    except (OSError, ValueError):
        return False


def path_in(text: str) -> Path:
    """The path that a person typed, or that a terminal pasted for a file that was dropped on it.

    Terminals quote what they paste: in marks, with backslashes, or as a `file:` address.
    """
    raw = text.strip()
    if raw.startswith("file://"):
        return Path(unquote(urlsplit(raw).path))
    if _exists(Path(raw)):
        return Path(raw)
    if os.name == "nt":
        return _expanded(Path(raw.strip('"')))
    try:
        words = shlex.split(raw)
    except ValueError:
        words = []
    return _expanded(Path(words[0] if len(words) == 1 else raw))


def look(given: str) -> list[Preview]:
    """Say what would come in.

    Args:
        given: a path, or a card's JSON.

    Raises:
        PersonaError: there is no such file, or it is no card and no lorebook.
    """
    with _as_file(given) as path:
        try:
            return [_of_card(card, path) for card in read_cards(path)]
        except CardError as no_card:
            try:
                book = read_lorebook_file(path)
            except CardError:
                raise PersonaError(str(no_card)) from no_card
            name = book.name or path.stem
            there = user_paths().lorebooks / f"{id_of(name)}.json"
            form = f"lorebook · {_container(path)}"
            lore = len(book.entries)
            return [Preview("lorebook", one_line(name), form, "", lore, 0, 0, there.exists())]


def bring_in(given: str, *, replace: bool) -> list[Imported]:
    """Write it into the person's own folders.

    Args:
        given: a path, or a card's JSON.
        replace: whether files that are there may be replaced.

    Raises:
        PersonaError: it cannot be used, would replace a file, or the folder cannot be written.
    """
    paths = user_paths()
    with _as_file(given) as path:
        return import_file(path, paths.personas, paths.lorebooks, force=replace)


def completed(text: str) -> PathCompletion:
    """Complete a path as a shell does: folders, and files that may hold a card."""
    begun = _expanded(Path(text)) if text else Path()
    folder, stem = (begun, "") if not text or text.endswith(os.sep) else (begun.parent, begun.name)
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
    further = _shared_beginning(names)[len(stem) :]
    return PathCompletion(text + further, tuple(names) if len(names) > 1 else ())


def _shared_beginning(names: list[str]) -> str:
    """How all of some sorted names begin; nothing when there are none."""
    pairs = zip(names[0], names[-1], strict=False) if names else ()
    return "".join(mine for mine, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _of_card(card: Card, path: Path) -> Preview:
    levels = Counter(finding.level for finding in lint(card))
    scope = MacroScope(char=card.called, user=DEFAULT_USER)
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
def _as_file(given: str) -> Iterator[Path]:
    """The file that was named; or what was pasted, as a file for now."""
    if not is_json(given):
        path = path_in(given)
        if _exists(path) and path.is_dir():
            raise PersonaError(f"{path} is a folder; enter a file name.")
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="rolellm-pasted-") as folder:
        path = Path(folder) / "pasted.json"
        write_atomically(path, whole(given), PersonaError)
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
