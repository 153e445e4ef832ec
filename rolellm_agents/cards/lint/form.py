"""Rules for a card's form: fields, versions, assets and the PNG file."""

from collections import Counter
from collections.abc import Iterator, Mapping

from rolellm_agents.cards.card import DEFAULT_URI, EMBEDDED, LEGACY
from rolellm_agents.cards.errors import CardError
from rolellm_agents.cards.json_text import json_path
from rolellm_agents.cards.lint.view import ASSET, KINDS, ROOT, V1, V2, V3, Spots, View, listed
from rolellm_agents.cards.png import is_png, text_keywords
from rolellm_agents.cards.reading import asset_bytes
from rolellm_agents.cards.specs import lost_fields
from rolellm_agents.cards.values import Json, number, text

_SPECS = ("chara_card_v2", "chara_card_v3")
_COPIES = {*V1.required, "creatorcomment", "avatar", "chat", "talkativeness", "fav", "tags", "create_date"}
"""Fields that SillyTavern writes beside `data` for programs that read V1 only."""
_WEB = ("https://", "http://")


def missing(view: View) -> Spots:
    """Required fields that are missing."""
    for where, value, shape in view.objects:
        for name, kind in shape.required.items():
            if name not in value:
                yield json_path(where, name), f"is missing; it is required, and must be {kind}."


def null(view: View) -> Spots:
    """Fields that are null."""
    for where, value, shape in view.objects:
        for name, kind in {**shape.required, **shape.optional}.items():
            if name in value and value[name] is None:
                yield (
                    json_path(where, name),
                    f"is null, which other programs cannot read; it must be {kind}.",
                )


def wrong_kind(view: View) -> Spots:
    """Fields of a wrong type."""
    for where, value, shape in view.objects:
        for name, kind in {**shape.required, **shape.optional}.items():
            if value.get(name) is not None and not KINDS[kind](value[name]):
                yield (
                    json_path(where, name),
                    f"is not {kind}; strict programs reject the card.",
                )


def own_fields(view: View) -> Spots:
    """Fields outside the specifications, except SillyTavern's copies at the root."""
    for where, value, shape in view.objects:
        known = {*shape.required, *shape.optional, *(_COPIES if shape is ROOT else ())}
        for name in value if shape is not V1 else ():
            if name not in known:
                is_newer = shape is V2 and name in {*V3.required, *V3.optional}
                why = "is a field of V3 in a V2 card" if is_newer else "is in no specification"
                yield (
                    json_path(where, name),
                    f"{why}, and may get lost; put fields of your own into extensions.",
                )


def unknown_spec(view: View) -> Spots:
    """An unknown `spec`."""
    said = view.card.document.get("spec")
    if isinstance(said, str) and said not in _SPECS:
        yield "spec", f"is {listed([said])}, which is not a card version; write {' or '.join(_SPECS)}."


def wrong_version(view: View) -> Spots:
    """A `spec_version` that does not fit `spec`."""
    said, spec = view.card.document.get("spec_version"), view.card.document.get("spec")
    is_wrong = said != "2.0" if spec == _SPECS[0] else number(said) < 3
    if isinstance(said, str) and spec in _SPECS and is_wrong:
        wanted = "2.0" if spec == _SPECS[0] else "3.0"
        yield "spec_version", f"is {listed([said])}; it must be “{wanted}” where spec is {spec}."


def newer_version(view: View) -> Spots:
    """A version newer than V3."""
    said = view.card.document.get("spec_version")
    if view.card.spec == "v3" and number(said) > 3:
        yield "spec_version", f"is {listed([text(said)])}, newer than 3.0; new features are ignored."


def lost_in_v2(view: View) -> Spots:
    """Data that V2 programs do not see."""
    if lost := lost_fields(view.card.document, "v2"):
        yield "data", f"has data that V2 programs ignore: {', '.join(lost)}."


def no_notes(view: View) -> Spots:
    """A card without notes for users."""
    if view.root and not view.card.creator_notes.strip():
        yield "data.creator_notes", "is empty; describe there what the card is for."


def main_assets(view: View) -> Spots:
    """Check that exactly one of several icons is the main one, and at most one background."""
    names: dict[str, list[str]] = {"icon": [], "background": []}
    for _, asset, _ in _assets(view):
        names.setdefault(text(asset.get("type")), []).append(text(asset.get("name")))
    if len(names["icon"]) > 1 and names["icon"].count("main") != 1:
        yield "data.assets", "has several icons, of which exactly one must be named “main”."
    if names["background"].count("main") > 1:
        yield "data.assets", "has several backgrounds named “main”, but only one is allowed."


def schemes(view: View) -> Spots:
    """Yield the assets whose URI scheme is unknown."""
    for where, _, uri in _assets(view):
        is_known = uri.casefold().startswith(_WEB) or uri.startswith(("data:", EMBEDDED, LEGACY))
        if not is_known and uri != DEFAULT_URI:
            more = ", which is spelled “embeded://” in cards" if uri.startswith("embedded://") else ""
            yield f"{where}.uri", f"is {listed([uri])}, which is not a URI of V3{more}."


def lost_assets(view: View) -> Spots:
    """Assets whose file is missing."""
    files = {*view.card.files}
    for where, _, uri in _assets(view):
        path = uri.removeprefix(EMBEDDED).removeprefix(LEGACY)
        if path != uri and path not in files:
            yield f"{where}.uri", f"is {listed([uri])}, but the card does not contain this file; add it."
        elif uri.startswith("data:") and asset_bytes(view.card, uri) is None:
            yield f"{where}.uri", "is not valid base64, which a data: URI requires; embed the file again."


def extensions(view: View) -> Spots:
    """Assets whose `ext` is in upper case or begins with a dot."""
    for where, asset, uri in _assets(view):
        ext = text(asset.get("ext"))
        if uri != DEFAULT_URI and (ext != ext.lower() or "." in ext):
            yield f"{where}.ext", f"is {listed([ext])}; it must be in lower case and without a dot."


def remote_assets(view: View) -> Spots:
    """Assets on other servers."""
    for where, _, uri in _assets(view):
        if uri.casefold().startswith(_WEB):
            yield f"{where}.uri", f"is {listed([uri])}, whose server sees who loads it; embed the file."


def damaged_image(view: View) -> Spots:
    """A damaged PNG."""
    try:
        _keywords(view)
    except CardError as error:
        yield "image", f"is a damaged PNG: {error}"


def image_texts(view: View) -> Spots:
    """A PNG with more than one card of a version."""
    try:
        keywords = _keywords(view)
    except CardError:
        return
    for keyword in ("chara", "ccv3"):
        if (times := keywords[keyword]) > 1:
            yield "image", f"has {times} texts “{keyword}”, and programs differ in which one they read."


def _assets(view: View) -> Iterator[tuple[str, Mapping[str, Json], str]]:
    """The assets with their paths and addresses, if the address is a text."""
    for where, value, shape in view.objects:
        if shape is ASSET and isinstance(uri := value.get("uri"), str):
            yield where, value, uri


def _keywords(view: View) -> Counter[str]:
    image = view.card.image
    return Counter(text_keywords(image, "it") if image is not None and is_png(image) else [])
