"""Cards in every container and of every kind; strangers' files are hostile until proven otherwise."""

import base64
import json
import struct
import zipfile
import zlib
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from helpers.cards import SHARED, based, book, chunk, compressed_text, entry, png, v2, v3
from helpers.hypotheses import examples
from helpers.memory import peak_memory
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.cards.card import DEFAULT_ASSETS, Card
from rolellm_agents.cards.errors import CardError
from rolellm_agents.cards.json_text import read_json
from rolellm_agents.cards.reading import asset_bytes, read_cards, read_cards_of, read_lorebook_file


def one(content: bytes, name: str = "card") -> Card:
    (card,) = read_cards_of(content, name)
    return card


def charx(*members: tuple[str, bytes], card: Any = None) -> bytes:
    held = BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        if card is not None:
            archive.writestr(zipfile.ZipInfo("card.json"), json.dumps(card))
        for path, content in members:
            archive.writestr(zipfile.ZipInfo(path), content)
    return held.getvalue()


@pytest.mark.parametrize(
    ("content", "spec"),
    [
        (json.dumps({"name": "Ada", "description": "x", "first_mes": "Hm."}).encode(), "v1"),
        (json.dumps(v2()).encode(), "v2"),
        (b"\xef\xbb\xbf" + json.dumps(v3()).encode(), "v3"),
        (json.dumps(v3()).encode("utf-16"), "v3"),
        (json.dumps({"data": v2()["data"]}).encode(), "v2"),
        (png(("chara", based(v2()))), "v2"),
        (png(("Chara", based(v2()))), "v2"),
        (png(("chara", based(v2())), ("ccv3", based(v3()))), "v3"),
        (png(("ccv3", based(v3())), ("chara", based(v2()))), "v3"),
        (png(("other", b"x"), ("ccv3", based(v3()))), "v3"),
        (charx(card=v3()), "v3"),
        (b"\xff\xd8\xff\xe0 a picture" + charx(card=v3()), "v3"),
    ],
)
def test_every_container(content: bytes, spec: str) -> None:
    card = one(content)
    assert (card.name, card.spec) == ("Ada", spec)


def test_compressed_and_international_texts_are_read() -> None:
    whole = png()
    for text in (
        compressed_text(b"chara", based(v2())),
        chunk(b"iTXt", b"chara\0\0\0en\0\0" + based(v2())),
        chunk(b"iTXt", b"chara\0\1\0\0\0" + zlib.compress(based(v2()))),
    ):
        assert one(whole[:-12] + text + whole[-12:]).name == "Ada"


def test_a_wrong_checksum_is_borne() -> None:
    content = bytearray(png(("chara", based(v2()))))
    content[-14] ^= 1
    assert one(bytes(content)).name == "Ada"


def test_base64_with_line_breaks_and_without_padding() -> None:
    packed = based(v2()).rstrip(b"=")
    broken = b"\n".join(packed[at : at + 76] for at in range(0, len(packed), 76))
    assert one(png(("chara", broken))).name == "Ada"


def test_faults_of_the_wild_are_understood() -> None:
    card = one(
        json.dumps(
            v2(
                character_book=None,
                character_version=1.2,
                alternate_greetings="One, with a comma",
                tags="sea, lamp",
                extensions=None,
                personality=None,
            )
        ).encode()
    )
    assert card.lorebook is None
    assert card.version == "1.2"
    assert card.greetings == ("Wipe your feet, {{user}}.", "One, with a comma")
    assert card.tags == ("sea", "lamp")
    assert (dict(card.extensions), card.personality) == ({}, "")


def test_a_book_keyed_by_number_with_keys_in_one_text() -> None:
    card = one(json.dumps(v2(character_book={"entries": {"0": entry(keys="lamp, oil")}})).encode())
    assert card.lorebook is not None
    assert card.lorebook.entries[0].keys == ("lamp", "oil")


def test_defaults_are_the_specifications() -> None:
    card = one(json.dumps(v3()).encode())
    assert card.assets == DEFAULT_ASSETS
    assert card.char_name == "Ada"
    assert one(json.dumps(v3(nickname="A.")).encode()).char_name == "A."
    multilingual = v3(creator_notes_multilingual={"en": "Hear.", "de": "Hört."})
    assert one(json.dumps(multilingual).encode()).creator_notes == "Hear."


def test_what_is_odd_is_told() -> None:
    newer = {**v3(), "spec_version": "4.1"}
    assert "newer than 3.0" in one(json.dumps(newer).encode()).notes[0]
    assert "does not name its version" in one(json.dumps({"data": v2()["data"]}).encode()).notes[0]


def test_assets_of_an_archive_and_of_a_picture() -> None:
    assets = [
        {"type": "icon", "uri": "embeded://assets/main.png", "name": "main", "ext": "png"},
        {"type": "emotion", "uri": "data:image/png;base64,aGk=", "name": "glad", "ext": "png"},
        {"type": "background", "uri": "https://example.org/x.png", "name": "main", "ext": "png"},
    ]
    card = one(charx(("assets/main.png", b"PIXELS"), card=v3(assets=assets)))
    assert card.image == b"PIXELS"
    assert [asset_bytes(card, asset.uri) for asset in card.assets] == [b"PIXELS", b"hi", None]
    legacy = png(
        ("ccv3", based(v3())),
        ("chara-ext-asset_:1", base64.b64encode(b"one")),
        ("chara-ext-asset_2", b"dHdv"),
    )
    assert dict(one(legacy).files) == {"1": b"one", "2": b"two"}


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "holds no JSON object"),
        (b'{"a": 1}', "not a character card: it has no name"),
        (json.dumps({"entries": {}}).encode(), "it is a lorebook"),
        (json.dumps(v2(name="")).encode(), "not a character card"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 60 + b"1" + b"}" * 60, "nested too deeply"),
        (b'{"name": ' + b"9" * 10_000 + b"}", "not JSON"),
        (png(), "picture without a card"),
        (png(("chara", b"!!!!")), "damaged base64"),
        (png(("chara", b"aGk=")), "not JSON"),
        (png(("chara", based(v2())))[:-30], "truncated"),
        (png()[:20], "truncated"),
        (b"\xff\xd8\xff no card", "picture without a card, or a truncated archive"),
        (charx(card=v3())[:-9], "truncated"),
        (charx(("x.txt", b"x")), "no card.json"),
        (charx(("../evil", b"x"), card=v3()), "leads out"),
        (charx(("/etc/evil", b"x"), card=v3()), "leads out"),
        (charx(("C:/evil", b"x"), card=v3()), "leads out"),
        (charx(("#", b"x"), card=v3()).replace(b"#", b"\0"), "is empty"),
        (charx(("a\\..\\..\\evil", b"x"), card=v3()), "leads out"),
    ],
)
def test_bad_files_are_one_sentence(content: bytes, told: str) -> None:
    with pytest.raises(CardError, match=told) as failed:
        one(content, "stranger.bin")
    assert "\n" not in str(failed.value)


def test_bombs_are_refused_before_they_go_off() -> None:
    whole = png()
    text = compressed_text(b"chara", b"\0" * 140_000_000)
    with pytest.raises(CardError, match="decompress to more than"):
        one(whole[:-12] + text + whole[-12:])
    held = BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("card.json", json.dumps(v3()))
        archive.writestr("assets/bomb.png", b"\0" * 30_000_000)
    with pytest.raises(CardError, match="far more than its compressed size"):
        one(held.getvalue())
    with pytest.raises(CardError, match=r"holds 5,002 files; at most 5,000"):
        one(charx(*((f"{number}", b"") for number in range(5001)), card=v3()))


def test_only_the_texts_that_are_read_are_decompressed() -> None:
    bomb = zlib.compress(b"\0" * 120_000_000)
    texts = [chunk(b"zTXt", b"%d\0\0" % number + bomb) for number in range(20)]
    texts += [chunk(b"zTXt", b"chara\0\0" + bomb), chunk(b"zTXt", b"ccv3\0\0" + zlib.compress(based(v3())))]
    whole = png()
    with peak_memory() as peak:
        assert one(whole[:-12] + b"".join(texts) + whole[-12:]).spec == "v3"
    assert peak() < 20_000_000


def test_the_texts_of_a_picture_are_bounded_together() -> None:
    part = zlib.compress(b"\0" * 50_000_000)
    texts = [chunk(b"zTXt", b"chara-ext-asset_:%d\0\0" % number + part) for number in range(3)]
    texts.append(chunk(b"tEXt", b"chara\0" + based(v2())))
    whole = png()
    with (
        peak_memory() as peak,
        pytest.raises(CardError, match=r"decompress to more than 134,217,728 bytes"),
    ):
        one(whole[:-12] + b"".join(texts) + whole[-12:])
    assert peak() < 300_000_000


def test_more_values_than_memory_bears_are_refused() -> None:
    many = b'{"name": "Ada", "extensions": {"x": [' + b"[]," * 6_000_000 + b"0]}}"
    with peak_memory() as peak, pytest.raises(CardError, match="too many values; at most 5,000,000"):
        one(many)
    assert peak() < 20_000_000


def test_a_chunk_that_claims_gigabytes_is_told() -> None:
    content = png()[:33] + struct.pack(">I4s", 2**31 - 1, b"tEXt") + b"chara\0"
    with pytest.raises(CardError, match="truncated"):
        one(content)


def test_an_encrypted_archive_is_told() -> None:
    content = bytearray(charx(card=v3()))
    local, central = content.find(b"PK\x03\x04"), content.find(b"PK\x01\x02")
    content[local + 6] |= 1
    content[central + 8] |= 1
    with pytest.raises(CardError, match="encrypted"):
        one(bytes(content))


def test_lone_surrogates_nan_and_double_keys_do_no_harm() -> None:
    card = one(b'{"name": "A\\ud800", "name": "B\\udfff", "description": "x", "weight": NaN, "big": 1e999}')
    assert card.name == "B\udfff"
    assert card.document["weight"] is None
    assert card.document["big"] is None


def test_text_that_is_not_utf8_is_read_as_the_system_wrote_it() -> None:
    assert one('{"name": "José"}'.encode("cp1252")).name == "José"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(
    [
        *("name", "description", "first_mes", "mes_example", "alternate_greetings", "tags", "extensions"),
        *("character_book", "assets", "nickname", "spec", "data", "spec_version", "entries", "keys"),
    ]
)


@given(st.dictionaries(FIELDS | st.text(max_size=5), JSON, max_size=8), st.booleans())
def test_any_json_is_a_card_or_a_sentence(document: dict[str, Any], wrapped: bool) -> None:
    content = json.dumps({"spec": "chara_card_v3", "data": document} if wrapped else document).encode()
    try:
        cards = read_cards_of(content, "stranger")
    except CardError as error:
        sentence = str(error)
        cards = []
    else:
        sentence = "fine"
    assert sentence
    for card in cards:
        assert isinstance(card.greetings, tuple)
        assert all(
            isinstance(text, str) for text in (card.name, card.examples, *card.greetings, *card.tags)
        )
        assert isinstance(card.assets, tuple)


@examples(1.5)
@given(st.data())
def test_any_harm_to_a_good_file_is_a_card_or_a_sentence(data: st.DataObject) -> None:
    good = data.draw(st.sampled_from([png(("chara", based(v2()))), charx(("a.png", b"x"), card=v3())]))
    content = bytearray(good)
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(content)))
    try:
        cards = read_cards_of(bytes(content[:cut]), "stranger")
        told = [list(card.files.values()) for card in cards]
    except CardError as error:
        told = [[str(error).encode()]]
    assert told


def test_files_are_read_by_what_they_are_and_not_by_their_name(tmp_path: Path) -> None:
    file = tmp_path / "card.txt"
    for content in (png(("chara", based(v2()))), charx(card=v3()), json.dumps(v2()).encode()):
        file.write_bytes(content)
        assert read_cards(file)[0].name == "Ada"
    with pytest.raises(CardError, match="There is no file"):
        read_cards(tmp_path / "nothing.png")


def test_lorebooks_out_of_files_and_cards(tmp_path: Path) -> None:
    file = tmp_path / "book"
    for content in (
        json.dumps({"entries": {"7": {"uid": 7, "key": ["lamp"], "content": "Oil."}}}).encode(),
        json.dumps({"spec": "lorebook_v3", "data": book(entry())}).encode(),
        json.dumps(book(entry())).encode(),
        png(("chara", based(v2(character_book=book(entry()))))),
        json.dumps({"lorebookVersion": 5, "entries": [{"keys": ["lamp"], "text": "Oil."}]}).encode(),
        json.dumps({"entries": [{"keywords": ["lamp"], "entry": "Oil.", "name": "x"}]}).encode(),
        json.dumps({"type": "risu", "data": [{"key": "lamp, oil", "content": "Oil."}]}).encode(),
    ):
        file.write_bytes(content)
        (found,) = read_lorebook_file(file).entries
        assert found.keys[0] == "lamp"
        assert "il" in found.content
    file.write_bytes(json.dumps(v2()).encode())
    with pytest.raises(CardError, match="not a lorebook"):
        read_lorebook_file(file)


@pytest.mark.parametrize(
    ("name", "characters"),
    [
        ("default_Seraphina.png", ["Seraphina"]),
        ("agnai_robot.native.json", ["Robot"]),
        ("pygmalion_classic.native.json", ["Mira"]),
        ("fixtures/basic/png/baseline_v3_small.png", None),
        ("fixtures/basic/charx/baseline_v3_small.charx", ["Synthetic CharX Character"]),
        ("fixtures/basic/json/hybrid_format_v2.json", ["Synthetic V2 Character"]),
        ("fixtures/basic/voxta/character_only_small.voxpkg", ["Synthetic Voxta Character"]),
        ("fixtures/extended/charx/v3_many_assets_01.charx", ["Synthetic Multi-Asset Character"]),
    ],
)
def test_real_cards(name: str, characters: list[str] | None) -> None:
    file = SHARED / name
    if not file.is_file():
        pytest.skip(f"{name} is not here")
    cards = read_cards(file)
    assert characters is None or [card.name for card in cards] == characters
    assert all(card.description for card in cards)


def test_many_characters_of_one_file() -> None:
    file = SHARED / "characterglm_zh.json"
    if not file.is_file():
        pytest.skip("it is not here")
    names = [card.name for card in read_cards(file)]
    assert names[:2] == ["张起灵", "相柳"]
    assert len(names) == len(set(names)) == len(read_json(file.read_bytes(), "x"))


def test_seraphina_has_her_lore() -> None:
    file = SHARED / "default_Seraphina.png"
    if not file.is_file():
        pytest.skip("it is not here")
    (card,) = read_cards(file)
    assert card.lorebook is not None
    assert len(card.lorebook.entries) == 4
    assert "eldoria" in card.lorebook.entries[0].keys
