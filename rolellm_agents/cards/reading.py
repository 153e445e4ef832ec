"""Read cards and lorebooks from files of all known formats; the content decides, not the file's name."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from pathlib import Path

from rolellm_agents.cards import foreign
from rolellm_agents.cards.archive import Archive, is_archive
from rolellm_agents.cards.card import DEFAULT_URI, EMBEDDED, LEGACY, Card
from rolellm_agents.cards.errors import CardError
from rolellm_agents.cards.json_text import read_json
from rolellm_agents.cards.lore.lorebook import Lorebook, read_lorebook
from rolellm_agents.cards.png import is_png, read_texts, text_keywords
from rolellm_agents.cards.values import Json, number, text

CARD_JSON = "card.json"
FILE_BYTES = 512 * 2**20
"""The most bytes of a file."""
_JPEG = b"\xff\xd8\xff"
_ZIP = b"PK\x03\x04"
_CARD_KEYWORDS = ("ccv3", "chara")
"""The keywords of a PNG's texts with a card; the first one that it has is used."""
_LEGACY_KEYWORD = "chara-ext-asset_"
_NEWEST = 3.0


def read_cards(path: Path) -> list[Card]:
    """Read the cards of a file: one, or several in some formats of other programs.

    Reads V1, V2 and V3 in JSON, PNG, APNG, CharX and JPEG with an appended zip file, Voxta packages, and
    the JSON of Pygmalion, Agnai and CharacterGLM.

    Raises:
        CardError: the file cannot be read, or is not a card.
    """
    return read_cards_of(_content(path), path.name)


def read_cards_of(source: bytes | Path, what: str) -> list[Card]:
    """Read cards from bytes, or from a large archive on disk.

    Args:
        source: the file's bytes, or the path of an archive, whose members are read on access.
        what: the source's name in messages.

    Raises:
        CardError: the source is not a card.
    """
    if isinstance(source, Path):
        return _of_archive(source, what)
    if is_png(source):
        return [_of_png(source, what)]
    if source.startswith((_ZIP, _JPEG)):
        if not is_archive(source):
            raise CardError(f"{what} is a picture without a card, or a truncated archive.")
        return _of_archive(source, what)
    document = read_json(source, what)
    if found := foreign.cards_of(document):
        return found
    return [_require_character(Card(document, notes=_irregularities(document)), what)]


def read_lorebook_file(path: Path) -> Lorebook:
    """Read a lorebook from its own file or from a card.

    Raises:
        CardError: the file cannot be read, or has no lorebook.
    """
    content = _content(path)
    if isinstance(content, bytes) and not is_png(content) and not content.startswith((_ZIP, _JPEG)):
        return read_lorebook(read_json(content, path.name))
    (card, *_) = read_cards_of(content, path.name)
    if (book := card.lorebook) is None:
        raise CardError(f"{path.name} has no lorebook; name a card or a file that has one.")
    return book


def _content(path: Path) -> bytes | Path:
    """The bytes of a file; for an archive, which may be large, its path."""
    try:
        if not path.is_file():
            raise CardError(f"There is no file {path}.")
        if path.stat().st_size > FILE_BYTES:
            raise CardError(f"{path} is larger than {FILE_BYTES // 2**20} MiB; it is not read.")
        with path.open("rb") as file:
            head = file.read(8)
            if head.startswith((_ZIP, _JPEG)) and is_archive(path):
                return path
            return head + file.read()
    except OSError as error:
        raise CardError(f"{path} cannot be read ({error.strerror}).") from error


def _of_png(png: bytes, what: str) -> Card:
    keywords = text_keywords(png, what)
    part = next((keyword for keyword in _CARD_KEYWORDS if keyword in keywords), None)
    if part is None:
        raise CardError(
            f"{what} is a picture without a card in it; save the card with “export”, not the picture."
        )
    assets = {keyword: path for keyword in keywords if (path := _legacy_path(keyword))}
    texts = read_texts(png, {part, *assets}, what)
    document = read_json(_base64_decoded(texts[part], what), what)
    notes = list(_irregularities(document))
    if all(keyword in keywords for keyword in _CARD_KEYWORDS):
        notes.append("It also has a V2 part, which is ignored in favour of the V3 part.")
    files = {path: _base64_decoded(texts[keyword], what) for keyword, path in assets.items()}
    return _require_character(Card(document, png, files, tuple(notes)), what)


def _legacy_path(keyword: str) -> str:
    """The path of a file that older programs keep in a text with this keyword; empty for other texts."""
    return keyword.removeprefix(_LEGACY_KEYWORD).removeprefix(":") * keyword.startswith(_LEGACY_KEYWORD)


def _of_archive(source: bytes | Path, what: str) -> list[Card]:
    archive = Archive(source, what)
    if foreign.is_voxta(archive):
        return foreign.voxta_cards(archive, what)
    if CARD_JSON not in archive:
        raise CardError(f"{what} has no {CARD_JSON}, so it is not a CharX card.")
    document = read_json(archive[CARD_JSON], f"{CARD_JSON} in {what}")
    card = Card(document, None, Members(archive), _irregularities(document))
    return [_require_character(Card(document, _main_icon(card), card.files, card.notes), what)]


class Members(Mapping[str, bytes]):
    """The files of an archive except the card itself."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._paths = tuple(path for path in archive if path != CARD_JSON)

    def __getitem__(self, path: str) -> bytes:
        if path == CARD_JSON:
            raise KeyError(path)
        return self._archive[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def _main_icon(card: Card) -> bytes | None:
    """The portrait: the icon named `main`, or the first icon whose file exists."""
    icons = sorted(
        (asset for asset in card.assets if asset.type == "icon"), key=lambda icon: icon.name != "main"
    )
    for icon in icons:
        if (content := asset_bytes(card, icon.uri)) is not None:
            return content
    return None


def asset_bytes(card: Card, uri: str) -> bytes | None:
    """The bytes of an embedded asset; None for a missing or remote one.

    Remote assets are not fetched, since a request would reveal the reader to the card's author.

    Raises:
        CardError: the archive is damaged.
    """
    if uri == DEFAULT_URI:
        return card.image
    for scheme in (EMBEDDED, "embedded://", LEGACY):
        if uri.startswith(scheme):
            return card.files.get(uri.removeprefix(scheme))
    if uri.startswith("data:"):
        head, _, body = uri.partition(",")
        try:
            return base64.b64decode(body) if head.endswith(";base64") else None
        except (binascii.Error, ValueError):
            return None
    return None


def _base64_decoded(value: bytes, what: str) -> bytes:
    """Decode base64 with or without line breaks and padding; JSON is returned as it is."""
    packed = bytes(value.translate(None, b" \t\r\n"))
    if packed.startswith(b"{"):
        return packed if packed == value else value
    try:
        return base64.b64decode(packed + b"=" * (-len(packed) % 4), altchars=None, validate=True)
    except (binascii.Error, ValueError):
        raise CardError(f"The card in {what} is damaged base64; get a new copy of the file.") from None


def _irregularities(document: Mapping[str, Json]) -> tuple[str, ...]:
    """Notes about an irregular `spec` or version."""
    spec = text(document.get("spec"))
    if spec == "chara_card_v3" and number(document.get("spec_version"), _NEWEST) > _NEWEST:
        return (
            f"It is of version {text(document['spec_version'])}, newer than 3.0; new fields are "
            "kept unchanged.",
        )
    if "data" in document and spec not in ("chara_card_v2", "chara_card_v3"):
        return ("It does not name its version; it is read as V2.",)
    return ()


def _require_character(card: Card, what: str) -> Card:
    """Return the card if it has a character's name."""
    if not isinstance(card.data, Mapping) or not card.name.strip():
        is_book = "entries" in card.document or text(card.document.get("spec")).startswith("lorebook")
        more = "it is a lorebook" if is_book else "it has no name"
        raise CardError(f"{what} is not a character card: {more}.")
    return card
