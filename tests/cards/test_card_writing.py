"""Cards go out and come back: unknown fields, pixels, files and all."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from helpers.cards import SHARED, based, book, compressed_text, data, entry, pixels, png, v2, v3
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rolellm_agents.cards.card import Card
from rolellm_agents.cards.png import read_texts, text_keywords
from rolellm_agents.cards.reading import asset_bytes, read_cards, read_cards_of
from rolellm_agents.cards.specs import STASH, backfill, convert, lost_fields
from rolellm_agents.cards.writing import CardSpec, to_json, to_png, write_charx

V3_ONLY = {
    "nickname": "A.",
    "source": ["https://example.org/1"],
    "creation_date": 1700000000,
    "modification_date": 1700000001,
    "creator_notes_multilingual": {"en": "Hear.", "de": "Hört."},
    "group_only_greetings": ["You all, then."],
}


def one(content: bytes) -> Card:
    (card,) = read_cards_of(content, "card")
    return card


def text(content: bytes, keyword: str) -> Any:
    import base64

    return json.loads(base64.b64decode(read_texts(content, {keyword}, "x")[keyword]))


def charx(card: Card, folder: Path) -> Card:
    write_charx(card, folder / "card.charx")
    (back,) = read_cards(folder / "card.charx")
    return back


def test_json_comes_back_as_it_was() -> None:
    for document in (v2(character_book=book(entry())), v3(**V3_ONLY)):
        document["root/unknown"] = {"kept": [1, 1.5, None]}
        card = one(json.dumps(document).encode())
        back = json.loads(to_json(card, "v3" if card.spec == "v3" else "v2"))
        assert back == document
        assert list(back["data"]) == list(document["data"])


def test_a_v3_png_holds_both_versions_and_the_same_pixels() -> None:
    original = png(("Title", b"A picture"), ("chara", based(v2())), ("CCV3", based(v2())))
    content = to_png(one(original), "v3")
    assert pixels(content) == pixels(original)
    assert text_keywords(content, "x") == ["title", "chara", "ccv3"]
    assert text(content, "ccv3")["spec"] == "chara_card_v3"
    beside = text(content, "chara")
    assert beside["spec"] == "chara_card_v2"
    assert "V3 part that your program has not read" in beside["data"]["creator_notes"]
    assert STASH not in beside["data"]["extensions"]
    assert one(content).data == convert(v2(), "v3")["data"]


def test_a_v2_png_holds_one() -> None:
    content = to_png(one(png(("chara", based(v2())))), "v2")
    assert text_keywords(content, "x") == ["chara"]
    assert one(content).document == v2()


def test_compressed_old_cards_are_replaced_too() -> None:
    whole = png()
    content = whole[:-12] + compressed_text(b"chara", based(v2(name="Old"))) + whole[-12:]
    out = to_png(one(content), "v2")
    assert text_keywords(out, "x") == ["chara"]
    assert one(out).name == "Old"


def test_a_card_without_a_picture_gets_a_plain_one() -> None:
    content = to_png(Card(v2()), "v3")
    assert content.startswith(b"\x89PNG")
    assert one(content).name == "Ada"


def test_what_lies_behind_the_end_of_a_picture_stays() -> None:
    content = png(("chara", based(v2()))) + b"a trailer"
    assert to_png(one(content), "v2").endswith(b"a trailer")


def test_a_picture_goes_into_an_archive_and_comes_out_again(tmp_path: Path) -> None:
    original = png(("chara", based(v2(character_book=book(entry())))))
    card = one(original)
    packed = charx(card, tmp_path)
    with zipfile.ZipFile(tmp_path / "card.charx") as archive:
        listed = json.loads(archive.read("card.json"))["data"]["assets"]
    assert listed == [
        {"type": "icon", "uri": "embeded://assets/icon/images/main.png", "name": "main", "ext": "png"}
    ]
    assert packed.image is not None
    assert pixels(packed.image) == pixels(original)
    again = one(to_png(packed, "v2"))
    assert again.document == card.document
    assert again.image is not None
    assert pixels(again.image) == pixels(original)


def test_files_of_an_archive_become_part_of_a_picture(tmp_path: Path) -> None:
    assets = [
        {"type": "icon", "uri": "embeded://icon.png", "name": "main", "ext": "png"},
        {"type": "emotion", "uri": "embeded://e/glad.webp", "name": "glad", "ext": "webp"},
    ]
    picture = png()
    card = Card(
        v3(assets=assets), picture, {"icon.png": picture, "e/glad.webp": b"GLAD", "module.risum": b"{}"}
    )
    packed = charx(card, tmp_path)
    assert packed.document == card.document
    assert dict(packed.files) == dict(card.files)
    flat = one(to_png(packed, "v3"))
    assert [asset_bytes(flat, asset.uri) for asset in flat.assets] == [flat.image, b"GLAD"]
    assert flat.assets[0].uri == "ccdefault:"


def test_no_path_of_a_card_leads_out_of_an_archive(tmp_path: Path) -> None:
    card = Card(v3(), None, {"../evil.png": b"x", "fine.png": b"y"})
    write_charx(card, tmp_path / "card.charx")
    with zipfile.ZipFile(tmp_path / "card.charx") as archive:
        assert sorted(archive.namelist()) == ["card.json", "fine.png"]


def test_v1_becomes_v2_and_v3() -> None:
    old = {"name": "Ada", "description": "x", "first_mes": "Hm.", "avatar": "none", "fav": False}
    new = convert(old, "v2")
    assert new["data"]["name"] == "Ada"
    assert (new["data"]["personality"], new["data"]["tags"], new["data"]["extensions"]) == ("", [], {})
    assert (new["avatar"], new["fav"]) == ("none", False)
    assert convert(old, "v3")["data"]["group_only_greetings"] == []


def test_v3_rests_in_v2_and_comes_back() -> None:
    decorated = entry(content="@@depth 2\n@@@role user\nThe lamp burns oil.", use_regex=False, id="x")
    original = v3(**V3_ONLY, character_book=book(decorated, entry(use_regex=True, keys=["/lamp/i"])))
    original["spec_version"] = "3.1"
    down = convert(original, "v2")
    held = down["data"]["character_book"]["entries"]
    assert held[0]["content"] == "The lamp burns oil."
    assert "use_regex" not in held[0]
    assert not set(V3_ONLY) & set(down["data"])
    back = convert(down, "v3")
    assert back == original
    assert list(back["data"]) == list(original["data"])
    assert set(lost_fields(original, "v2")) == {*V3_ONLY, "decorators of lore entries"}
    assert lost_fields(original, "v3") == []


def test_what_was_edited_in_v2_is_kept() -> None:
    down = convert(v3(**V3_ONLY, character_book=book(entry(content="@@depth 1\nOil."))), "v2")
    down["data"]["description"] = "New."
    down["data"]["character_book"]["entries"][0]["content"] = "Whale oil."
    back = convert(down, "v3")
    assert back["data"]["description"] == "New."
    assert back["data"]["character_book"]["entries"][0]["content"] == "Whale oil."
    assert back["data"]["nickname"] == "A."


def test_a_backfill_leaves_the_card_alone() -> None:
    original = v3(**V3_ONLY)
    before = json.dumps(original)
    backfill(original)
    assert json.dumps(original) == before


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
UNKNOWN = st.dictionaries(st.text(max_size=8).map(lambda name: f"x/{name}"), JSON, max_size=3)


@st.composite
def cards(draw: st.DrawFn) -> dict[str, Any]:
    """V2 and V3 cards with unknown keys at every depth."""
    entries = [
        entry(
            content=draw(
                st.sampled_from(["Oil.", "@@depth 3\nOil.", "@@nonsense\n@@@role user\n\nOil.", "@@only"])
            ),
            **draw(UNKNOWN),
        )
        for _ in range(draw(st.integers(0, 3)))
    ]
    fields = data(extensions=draw(UNKNOWN), **draw(UNKNOWN), first_mes=draw(st.text(max_size=30)))
    with_empty_book: bool = draw(st.booleans())
    if entries or with_empty_book:
        fields["character_book"] = book(*entries, **draw(UNKNOWN))
    version = draw(st.sampled_from(["2", "3"]))
    if version == "3":
        fields["group_only_greetings"] = draw(st.lists(st.text(max_size=9), max_size=2))
        more: list[dict[str, Any]] = [{}, V3_ONLY, {"nickname": "A."}, {"assets": []}]
        fields |= draw(st.sampled_from(more))
    order = draw(st.permutations(list(fields)))
    root = draw(UNKNOWN)
    return {
        "spec": f"chara_card_v{version}",
        "spec_version": f"{version}.0",
        "data": {name: fields[name] for name in order},
        **root,
    }


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(cards())
def test_every_card_survives_every_way(tmp_path: Path, document: dict[str, Any]) -> None:
    picture = png(("chara", based(document)))
    card = one(picture)
    own: CardSpec = "v3" if card.spec == "v3" else "v2"
    other: CardSpec = "v2" if own == "v3" else "v3"
    assert card.document == document
    assert json.loads(to_json(card, own)) == document
    assert convert(convert(document, other), own) == document
    assert one(to_png(card, own)).document == document
    packed = charx(card, tmp_path)
    assert convert(json.loads(to_json(packed, own)), own) == document
    assert one(to_png(packed, own)).document == document
    assert packed.image is not None
    assert pixels(packed.image) == pixels(picture)


def test_seraphina_goes_round() -> None:
    file = SHARED / "default_Seraphina.png"
    if not file.is_file():
        pytest.skip("she is not here")
    original = file.read_bytes()
    card = one(original)
    assert to_png(card, "v2") == original, "byte for byte"
    back = one(to_png(card, "v3"))
    assert back.image is not None
    assert pixels(back.image) == pixels(original)
    assert convert(back.document, "v2") == card.document
