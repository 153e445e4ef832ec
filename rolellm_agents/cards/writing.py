"""Write cards to JSON, PNG and CharX files, as V2 or V3.

A PNG gets new text chunks and is never encoded again. Files that a container cannot hold, for example those
of an archive in a PNG, become `data:` URLs.
"""

import base64
import copy
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from rolellm_agents.cards.archive import is_safe_path
from rolellm_agents.cards.card import DEFAULT_URI, EMBEDDED, Card
from rolellm_agents.cards.errors import CardError
from rolellm_agents.cards.json_text import CARD_BYTES, write_json
from rolellm_agents.cards.png import is_png, plain_picture, with_texts
from rolellm_agents.cards.reading import CARD_JSON, asset_bytes
from rolellm_agents.cards.specs import backfill, convert
from rolellm_agents.cards.values import Json, mapping, text

CardSpec = Literal["v2", "v3"]
"""The versions in which cards are written."""
ICON_ADDED = "rolellm/icon_added"
"""The extension that marks a portrait that was added to the assets when the archive was written."""
_ICON_PATH = "assets/icon/images/main.png"
_ICON_URI = EMBEDDED + _ICON_PATH
_CARD_KEYWORDS = ("chara", "ccv3")
_GREY = (96, 104, 120)


def to_json(card: Card, spec: CardSpec) -> bytes:
    """The card's JSON, indented, without pictures and files."""
    return write_json(convert(_from_archive(card), spec), indent=2)


def to_png(card: Card, spec: CardSpec) -> bytes:
    """A PNG that contains the card: its own picture, or a plain one.

    With V3 it also contains a V2 part for older programs.

    Raises:
        CardError: the picture is truncated, or the files are too large for a PNG.
    """
    image = card.image if card.image is not None and is_png(card.image) else plain_picture(*_GREY)
    document = convert(_inlined(card, _from_archive(card)), spec)
    if spec == "v2":
        texts = [("chara", _based(document))]
    else:
        texts = [("chara", _based(backfill(document))), ("ccv3", _based(document))]
    return with_texts(image, lambda keyword: keyword in _CARD_KEYWORDS, texts, card.name)


def write_charx(card: Card, path: Path) -> None:
    """Write a CharX archive: the card as V3, its portrait and its files, one at a time.

    Raises:
        CardError: a file of the card is damaged or has an unsafe path, or the archive cannot be written.
    """
    document, icon = _for_archive(card)
    try:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(CARD_JSON, write_json(document, indent=2))
            if icon is not None:
                archive.writestr(zipfile.ZipInfo(_ICON_PATH), icon)
            written = {CARD_JSON, *([_ICON_PATH] if icon is not None else [])}
            for name in card.files:
                if is_safe_path(name) and name not in written:
                    # Not compressed, since pictures and sounds are compressed already.
                    archive.writestr(zipfile.ZipInfo(name), card.files[name])
    except OSError as error:
        raise CardError(
            f"{path} cannot be written ({error.strerror}); check permissions and free space, or "
            "name another."
        ) from error


def _based(document: Mapping[str, Json]) -> bytes:
    packed = base64.b64encode(write_json(document))
    if len(packed) > CARD_BYTES:
        raise CardError(f"The card has {len(packed):,} bytes, too much for a PNG; write a CharX archive.")
    return packed


def _for_archive(card: Card) -> tuple[dict[str, Any], bytes | None]:
    """The document for an archive, and the portrait that goes into it."""
    document = convert(card.document, "v3")
    icon = portrait(card)
    data = document["data"]
    icons = [asset for asset in _assets(data) if asset.get("type") == "icon"]
    default = [asset for asset in icons if asset.get("uri") == DEFAULT_URI]
    if icon is None or (icons and not default):
        return document, None
    if default:
        default[0]["uri"] = _ICON_URI
        return document, icon
    listed = data.get("assets")
    added = {"type": "icon", "uri": _ICON_URI, "name": "main", "ext": "png"}
    data["assets"] = [*(listed if isinstance(listed, list) else []), added]
    extensions = mapping(data.get("extensions"))
    data["extensions"] = {**extensions, ICON_ADDED: "entry" if "assets" in card.data else "list"}
    return document, icon


def portrait(card: Card) -> bytes | None:
    """The portrait without the text chunks of the card; None if the portrait is one of the card's files."""
    if card.image is None or not is_png(card.image):
        return card.image
    return with_texts(card.image, lambda keyword: keyword in _CARD_KEYWORDS, (), card.name)


def _from_archive(card: Card) -> dict[str, Any]:
    """The document, with what `_for_archive` did undone: elsewhere the portrait is the picture itself."""
    document: dict[str, Any] = copy.deepcopy(dict(card.document))
    data = document.get("data")
    if not isinstance(data, dict):
        return document
    extensions = data.get("extensions")
    added = extensions.pop(ICON_ADDED, None) if isinstance(extensions, dict) else None
    if added:
        data["assets"] = [asset for asset in _assets(data) if asset.get("uri") != _ICON_URI]
        if added == "list" and not data["assets"]:
            del data["assets"]
        return document
    for asset in _assets(data):
        uri = text(asset.get("uri"))
        is_icon = asset.get("type") == "icon" and uri.startswith(EMBEDDED)
        if is_icon and card.image is not None and asset_bytes(card, uri) == card.image:
            asset["uri"] = DEFAULT_URI
            break
    return document


def _inlined(card: Card, document: dict[str, Any]) -> dict[str, Any]:
    """Addresses into an archive as `data:` addresses."""
    for asset in _assets(mapping(document.get("data"))):
        uri = text(asset.get("uri"))
        if uri.startswith((EMBEDDED, "embedded://")):
            content = asset_bytes(card, uri)
            if content is not None:
                kind = text(asset.get("ext")) or "octet-stream"
                asset["uri"] = f"data:application/{kind};base64,{base64.b64encode(content).decode()}"
    return document


def _assets(data: Mapping[str, Json]) -> Iterator[dict[str, Any]]:
    listed = data.get("assets")
    for asset in listed if isinstance(listed, list) else ():
        if isinstance(asset, dict):
            yield asset
