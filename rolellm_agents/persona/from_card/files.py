"""Import card files as personas into the user's folder, and export personas as card files."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from rolellm_agents.cards import (
    CardError,
    CardSpec,
    expressions_note,
    read_cards,
    read_lorebook_file,
    to_json,
    to_png,
    write_charx,
)
from rolellm_agents.cards.archive import is_safe_path
from rolellm_agents.cards.card import Card
from rolellm_agents.cards.json_text import write_json
from rolellm_agents.cards.lore.lorebook import Lorebook
from rolellm_agents.cards.reading import FILE_BYTES
from rolellm_agents.cards.values import mapping, texts
from rolellm_agents.cards.writing import portrait
from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import PersonaError
from rolellm_agents.files.atomic_write import write_atomically
from rolellm_agents.files.contained import read_contained
from rolellm_agents.files.picture_head import picture_head
from rolellm_agents.persona import FoundPersona, Persona, find_persona, id_of, list_personas
from rolellm_agents.persona.from_card.conversion import CARD, card_of, persona_of
from rolellm_agents.persona.portrait import NO_PICTURE, portrait_fault, read_portrait
from rolellm_agents.persona.yaml import to_readable_yaml
from rolellm_agents.text import did_you_mean

Format = Literal["json", "png", "charx", "yaml"]
_CARD_SUFFIXES = {".png", ".apng", ".json", ".charx", ".jpg", ".jpeg", ".voxpkg"}


@dataclass(frozen=True)
class ImportedFile:
    """A persona or lorebook that was imported."""

    kind: Literal["persona", "lorebook"]
    id: str
    name: str
    path: Path
    notes: tuple[str, ...]
    """Sentences about irregularities of the card."""
    lore: int
    """Number of lorebook entries."""


def card_files(source: Path) -> list[Path]:
    """The card files in a folder and its subfolders; for a file, the file itself."""
    if not source.is_dir():
        return [source]
    return sorted(
        path for path in source.rglob("*") if path.suffix.lower() in _CARD_SUFFIXES and path.is_file()
    )


def import_file(source: Path, personas: Path, lorebooks: Path, *, force: bool) -> list[ImportedFile]:
    """Import the cards of a file as personas, or a lorebook file as a lorebook.

    Args:
        source: a file that `read_cards` or `read_lorebook_file` can read.
        personas: the folder for persona files and the other files of a card.
        lorebooks: the folder for lorebooks.
        force: replace existing files.

    Raises:
        PersonaError: the file is invalid, a target exists already, or a folder cannot be written.
    """
    try:
        cards = read_cards(source)
    except CardError as no_card:
        try:
            book = read_lorebook_file(source)
        except CardError:
            raise PersonaError(str(no_card)) from no_card
        return [_import_lorebook(book, source, lorebooks, force=force)]
    return [_import_card(card, personas, force=force) for card in cards]


def _import_card(card: Card, folder: Path, *, force: bool) -> ImportedFile:
    name = id_of(card.name)
    target = folder / f"{name}.yaml"
    _check_free(target, force=force)
    try:
        picture, notes = _shown_portrait(card)
        picture_name = f"{name}.{_suffix(picture)}" if picture is not None else None
        persona = persona_of(card, name, picture_name)
        text = to_readable_yaml(persona, target)
        lore = len(card.lorebook.entries) if card.lorebook else 0
        notes += _lore_notes(card.lorebook)
        with _staged(folder) as stage:
            for path, content in card.files.items():
                if is_safe_path(path):
                    _write(stage / f"{name}.files" / PurePosixPath(path), content)
            if picture is not None and picture_name is not None:
                _write(stage / picture_name, picture)
            write_atomically(stage / target.name, text, PersonaError)
            _move_all(stage, folder)
    except CardError as error:
        raise PersonaError(str(error)) from error
    except ValueError as error:
        raise PersonaError(f"The card of {card.name!r} cannot become a persona ({error}).") from error
    except OSError as error:
        raise PersonaError(
            f"{folder} cannot be written ({error.strerror}); check permissions and free space."
        ) from error
    return ImportedFile("persona", name, persona.name, target, (*card.notes, *notes), lore)


def _shown_portrait(card: Card) -> tuple[bytes | None, tuple[str, ...]]:
    """The card's portrait if it is a picture, and a sentence if it is not.

    Raises:
        PersonaError: the picture is too large.
    """
    picture = portrait(card)
    fault = portrait_fault(picture) if picture is not None else None
    if fault == NO_PICTURE:
        return None, (f"It has no portrait, because its picture {fault}.",)
    if fault:
        raise PersonaError(f"The picture of {card.name!r} {fault}.")
    return picture, ()


def _import_lorebook(book: Lorebook, source: Path, folder: Path, *, force: bool) -> ImportedFile:
    name = id_of(book.name or source.stem)
    target = folder / f"{name}.json"
    _check_free(target, force=force)
    write_atomically(target, write_json(book.raw, indent=2).decode("utf-8"), PersonaError)
    notes = _lore_notes(book)
    return ImportedFile("lorebook", name, book.name or source.stem, target, notes, len(book.entries))


def _lore_notes(book: Lorebook | None) -> tuple[str, ...]:
    note = expressions_note([book]) if book else ""
    return (note,) if note else ()


def export_persona(found: FoundPersona, format_: Format, spec: CardSpec, out: Path) -> Card:
    """Write a persona as a card file or as YAML.

    Returns:
        The card that was written.

    Raises:
        PersonaError: a file of the persona is missing, or the target cannot be written.
    """
    persona, folder = found.persona, found.path.parent
    files = _files(found)
    card = card_of(persona, read_portrait(persona, folder), files)
    try:
        if format_ == "yaml":
            _write_yaml(persona, read_portrait(persona, folder), files, out)
            return card
        with _staged(out.parent) as stage:
            part = stage / "card"
            if format_ == "charx":
                write_charx(card, part)
            else:
                part.write_bytes(to_png(card, spec) if format_ == "png" else to_json(card, spec))
            part.replace(out)
    except CardError as error:
        raise PersonaError(str(error)) from error
    except OSError as error:
        raise PersonaError(f"{out} cannot be written ({error.strerror}); name another file.") from error
    return card


@contextlib.contextmanager
def open_persona(reference: str) -> Iterator[FoundPersona]:
    """Open a persona by id, name or file; or a card or lorebook file as a temporary persona.

    Raises:
        PersonaError: there is no such persona or file, or it is invalid.
    """
    path = Path(reference).expanduser()
    if not is_card_file(path):
        book = user_paths().lorebooks / f"{reference}.json"
        if not book.is_file() or any(found.persona.id == reference for found in list_personas().found):
            yield find_persona(reference)
            return
        path = book
    with tempfile.TemporaryDirectory(prefix="rolellm-card-") as folder:
        (first, *_) = import_file(path, Path(folder), Path(folder), force=False)
        if first.kind == "persona":
            yield find_persona(first.path)
        else:
            raw = read_lorebook_file(path).raw
            persona = Persona(id=first.id, name=first.name, description=first.name, lorebook=dict(raw))
            yield FoundPersona(persona, path, "path")


def find_lorebook(reference: str) -> Lorebook:
    """Find a lorebook by file, or by the name under which it was imported.

    Raises:
        PersonaError: there is no such lorebook, or it is invalid.
    """
    path = Path(reference).expanduser()
    imported = user_paths().lorebooks / f"{reference}.json"
    if not path.exists() and not imported.is_file():
        known = sorted(file.stem for file in user_paths().lorebooks.glob("*.json"))
        raise PersonaError(
            f"There is no lorebook {reference!r}{did_you_mean(reference, known)}; name a file, or "
            "one that was "
            "imported with “rolellm persona import”."
        )
    try:
        return read_lorebook_file(path if path.exists() else imported)
    except CardError as error:
        raise PersonaError(str(error)) from error


def is_card_file(path: Path) -> bool:
    """Whether a path has the suffix of a card file."""
    return path.suffix.lower() in _CARD_SUFFIXES


def read_card(reference: str) -> Card:
    """The first card of a file, or the card of a persona.

    Raises:
        PersonaError: there is no such file or persona, or it is invalid.
    """
    path = Path(reference).expanduser()
    if is_card_file(path):
        try:
            return read_cards(path)[0]
        except CardError as error:
            raise PersonaError(str(error)) from error
    found = find_persona(reference)
    return card_of(found.persona, read_portrait(found.persona, found.path.parent), _files(found))


def _write_yaml(persona: Persona, picture: bytes | None, files: Mapping[str, bytes], out: Path) -> None:
    """Write a persona's file, its portrait and its other files."""
    with _staged(out.parent) as stage:
        for path, content in files.items():
            _write(stage / f"{out.stem}.files" / PurePosixPath(path), content)
        if picture is not None:
            name = f"{out.stem}.{_suffix(picture)}"
            _write(stage / name, picture)
            persona = persona.model_copy(update={"portrait": name})
        write_atomically(stage / out.name, to_readable_yaml(persona, out), PersonaError)
        _move_all(stage, out.parent)


class _PersonaFiles(Mapping[str, bytes]):
    """The other files of a persona, read on access."""

    def __init__(self, folder: Path, paths: tuple[str, ...]) -> None:
        self._folder, self._paths = folder, paths

    def __getitem__(self, path: str) -> bytes:
        if path not in self._paths:
            raise KeyError(path)
        what = f"The card's file {path}"
        return read_contained(self._folder, path, what, PersonaError, most_bytes=FILE_BYTES)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def _files(found: FoundPersona) -> Mapping[str, bytes]:
    listed = texts(mapping(found.persona.extensions.get(CARD)).get("files"))
    return _PersonaFiles(
        found.path.with_suffix(".files"), tuple(path for path in listed if is_safe_path(path))
    )


def _check_free(target: Path, *, force: bool) -> None:
    if target.exists() and not force:
        raise PersonaError(f"{target} exists already; use --force to replace it, or --to another folder.")


@contextlib.contextmanager
def _staged(folder: Path) -> Iterator[Path]:
    """A temporary folder in the target's folder, from which all files of a card can be moved at once."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".card-") as stage:
        yield Path(stage)


def _move_all(stage: Path, folder: Path) -> None:
    """Move the persona's own file last, since its presence makes the persona visible."""
    for part in sorted(stage.iterdir(), key=lambda path: path.suffix == ".yaml"):
        target = folder / part.name
        if target.is_dir():
            shutil.rmtree(target)
        part.replace(target)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _suffix(picture: bytes) -> str:
    head = picture_head(picture)
    return head.format if head else "img"
