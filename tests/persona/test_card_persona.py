"""Cards as personas, and personas as cards: nothing is lost on the way, and edits arrive."""

import json
from pathlib import Path

import pytest
from helpers.cards import SHARED, based, book, entry, pixels, png, v2, v3

from rolellm_agents.cards import Card, read_cards, to_json, write_charx
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import Persona, find_persona, load_persona, read_persona
from rolellm_agents.persona.from_card.conversion import (
    card_of,
    greetings_of,
    persona_of,
    with_greeting,
    with_macros,
)
from rolellm_agents.persona.from_card.files import (
    card_files,
    export_persona,
    import_file,
    open_persona,
    read_card,
)
from rolellm_agents.persona.yaml import to_yaml

LORE = book(entry(), entry(keys=["gull"], content="Gulls are thieves."))


def imported(tmp_path: Path, content: bytes, name: str = "card.png") -> Persona:
    file = tmp_path / name
    file.write_bytes(content)
    (one,) = import_file(file, tmp_path / "cast", tmp_path / "books", force=True)
    return read_persona(one.path)


def test_a_cards_fields_find_their_places() -> None:
    persona = persona_of(Card(v2(character_book=LORE)), "ada", "ada.png")
    assert (persona.id, persona.name, persona.language, persona.portrait) == ("ada", "Ada", "en", "ada.png")
    assert persona.description == (
        "{{char}} keeps the lamp.\n\nPersonality: Dry.\n\nScenario: A lighthouse."
    )
    assert persona.greeting == "Wipe your feet, {{user}}."
    assert greetings_of(persona)[1:] == ("Again, {{user}}?", "Come in, then.")
    (pair,) = persona.demonstrations
    assert (pair.user, pair.reply) == ("Who are you?", "I keep the lamp.\nAlone.")
    assert persona.lorebook == LORE
    assert persona.tags == ("sea",)


def test_macros_are_filled_when_the_persona_speaks() -> None:
    persona = with_macros(persona_of(Card(v3(nickname="Keeper")), "ada"), "Tom")
    assert persona.description.startswith("Keeper keeps the lamp.")
    assert persona.greeting == "Wipe your feet, Tom."
    assert with_macros(load_persona("shrek"), "Tom") is not None
    holmes = load_persona("sherlock-holmes")
    assert with_macros(holmes, "Tom") is holmes


def test_another_greeting_may_begin() -> None:
    persona = persona_of(Card(v2()), "ada")
    assert with_greeting(persona, 2).greeting == "Come in, then."
    assert with_macros(with_greeting(persona, 1), "Tom").greeting == "Again, Tom?"
    with pytest.raises(PersonaError, match="Ada has 3 greetings; give a number from 0 to 2"):
        with_greeting(persona, 3)


@pytest.mark.parametrize(
    "document", [v2(character_book=LORE), v3(nickname="Keeper", **{"x/unknown": [1, {"a": None}]})]
)
def test_yaml_keeps_the_whole_card(tmp_path: Path, document: dict[str, object]) -> None:
    picture = png(("chara", based(document)))
    persona = imported(tmp_path, picture)
    found = find_persona(tmp_path / "cast" / "ada.yaml")
    for format_, spec in (("json", "v2"), ("png", "v3"), ("charx", "v3")):
        out = tmp_path / f"out.{format_}"
        export_persona(found, format_, spec, out)  # type: ignore[arg-type]
        back = read_card(str(out))
        own = "v3" if "nickname" in str(document) else "v2"
        assert json.loads(to_json(back, own)) == document  # type: ignore[arg-type]
        if format_ != "json":
            assert back.image is not None
            assert pixels(back.image) == pixels(picture)
    assert persona.name == "Ada"


def test_yaml_goes_with_what_belongs_to_it(tmp_path: Path) -> None:
    picture = png(("chara", based(v2(character_book=LORE))))
    imported(tmp_path, picture)
    out = tmp_path / "elsewhere" / "keeper.yaml"
    export_persona(find_persona(tmp_path / "cast" / "ada.yaml"), "yaml", "v3", out)
    assert sorted(path.name for path in out.parent.iterdir()) == ["keeper.png", "keeper.yaml"]
    export_persona(find_persona(out), "png", "v2", tmp_path / "again.png")
    again = read_card(str(tmp_path / "again.png"))
    assert again.document == v2(character_book=LORE)
    assert again.image is not None
    assert pixels(again.image) == pixels(picture)


def test_edits_arrive_in_the_card(tmp_path: Path) -> None:
    persona = imported(tmp_path, png(("chara", based(v2(character_book=LORE)))))
    edited = persona.model_copy(update={"greeting": "Go away.", "tags": ("sea", "storm")})
    data = card_of(edited, None, {}).data
    assert (data["first_mes"], data["tags"]) == ("Go away.", ["sea", "storm"])
    assert data["description"] == "{{char}} keeps the lamp."
    assert data["character_book"] == LORE


def test_a_bundled_persona_becomes_a_card_and_comes_back(tmp_path: Path) -> None:
    holmes = find_persona("sherlock-holmes")
    export_persona(holmes, "png", "v3", tmp_path / "holmes.png")
    (card,) = read_cards(tmp_path / "holmes.png")
    assert card.name == "Sherlock Holmes"
    assert "{{user}}: " in card.examples
    assert card.lorebook is not None
    assert len(card.lorebook.entries) == len(holmes.persona.knowledge)
    back = imported(tmp_path, (tmp_path / "holmes.png").read_bytes())
    assert back.model_copy(update={"portrait": None}) == holmes.persona


def test_files_of_an_archive_lie_beside_the_persona(tmp_path: Path) -> None:
    assets = [{"type": "icon", "uri": "embeded://a/main.png", "name": "main", "ext": "png"}]
    card = Card(v3(assets=assets), None, {"a/main.png": png(), "notes.json": b"{}"})
    write_charx(card, tmp_path / "ada.charx")
    persona = imported(tmp_path, (tmp_path / "ada.charx").read_bytes(), "card.charx")
    assert persona.portrait == "ada.png"
    beside = tmp_path / "cast" / "ada.files"
    assert sorted(path.relative_to(beside).as_posix() for path in beside.rglob("*.*")) == [
        "a/main.png",
        "notes.json",
    ]
    export_persona(find_persona(tmp_path / "cast" / "ada.yaml"), "charx", "v3", tmp_path / "again.charx")
    (again,) = read_cards(tmp_path / "again.charx")
    assert dict(again.files) == dict(card.files)
    assert again.document == card.document


def test_what_is_there_is_replaced_only_by_force(tmp_path: Path) -> None:
    file = tmp_path / "card.json"
    file.write_text(json.dumps(v2()))
    cast = tmp_path / "cast"
    import_file(file, cast, cast, force=False)
    with pytest.raises(PersonaError, match="exists already"):
        import_file(file, cast, cast, force=False)
    file.write_text(json.dumps(v2(description="New.")))
    import_file(file, cast, cast, force=True)
    assert read_persona(cast / "ada.yaml").description.startswith("New.")
    assert sorted(path.name for path in cast.iterdir()) == ["ada.yaml"]


@pytest.mark.parametrize(
    "name", ["\x1b[31mEve\x1b[0m", "a/../../evil", "[red]Eve[/red]", "名", "\u202eEve", "."]
)
def test_names_do_no_harm(tmp_path: Path, name: str) -> None:
    persona = imported(tmp_path, json.dumps(v2(name=name)).encode(), "card.json")
    assert "\x1b" not in persona.name
    assert {path.parent for path in tmp_path.rglob("*.yaml")} == {tmp_path / "cast"}


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"creator_notes": "x" * 8_000_001}, "would have more than 8,00"),
        ({"extensions": {"x": [0] * 1_000_000}}, "would hold 1,000,0"),
        # Escaped in the file, each of these has four bytes.
        ({"creator_notes": "\x01" * 2_000_001}, "is too large: 9,"),
        ({"extensions": {"x": 10**400}}, "has 401 characters, at most 300 are read"),
    ],
    ids=["text", "values", "escaped", "number"],
)
def test_a_card_whose_file_could_not_be_read_again_is_not_imported(
    tmp_path: Path, fields: dict[str, object], told: str
) -> None:
    with pytest.raises(PersonaError, match=told) as raised:
        imported(tmp_path, json.dumps(v2(**fields)).encode(), "card.json")
    assert str(raised.value).startswith("Ada cannot be written, because the file could not be read again: ")
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "cast").exists()


def test_a_picture_that_is_none_is_no_portrait_and_stays_among_the_files(tmp_path: Path) -> None:
    assets = [{"type": "icon", "uri": "embeded://a/main.png", "name": "main", "ext": "png"}]
    write_charx(Card(v3(assets=assets), None, {"a/main.png": b"root:x:0"}), tmp_path / "ada.charx")
    (one,) = import_file(tmp_path / "ada.charx", tmp_path / "cast", tmp_path / "books", force=False)
    assert one.notes == (
        "It has no portrait, because its picture is damaged, or not a PNG, JPEG, WebP or GIF picture; use "
        "another.",
    )
    found = find_persona(one.path)
    assert found.persona.portrait is None
    export_persona(found, "charx", "v3", tmp_path / "again.charx")
    (again,) = read_cards(tmp_path / "again.charx")
    assert (dict(again.files), again.image) == ({"a/main.png": b"root:x:0"}, b"root:x:0")


def test_a_picture_with_too_many_pixels_is_told_before_anything_is_written(tmp_path: Path) -> None:
    picture = png(("chara", based(v2())))
    huge = picture[:16] + (20_000).to_bytes(4, "big") * 2 + picture[24:]
    with pytest.raises(PersonaError, match=r"^The picture of 'Ada' has more than 89 million pixels; save"):
        imported(tmp_path, huge)
    assert not (tmp_path / "cast").exists()


def test_a_kept_card_that_is_invalid_is_told(tmp_path: Path) -> None:
    file = tmp_path / "ada.yaml"
    file.write_text("id: ada\nname: Ada\ndescription: x\nextensions: {card: {document: {name: ''}}}\n")
    told = r"^The card in ada’s extensions is invalid, so it cannot be exported; remove it there\.$"
    with pytest.raises(PersonaError, match=told):
        export_persona(find_persona(file), "charx", "v3", tmp_path / "out.charx")
    with pytest.raises(PersonaError, match=told):
        read_card(str(file))


def test_a_lorebook_alone_is_a_lorebook(tmp_path: Path) -> None:
    file = tmp_path / "Eldoria.json"
    file.write_text(json.dumps({"entries": {"0": {"uid": 0, "key": ["wood"], "content": "Deep."}}}))
    (one,) = import_file(file, tmp_path / "cast", tmp_path / "books", force=False)
    assert (one.kind, one.id, one.lore) == ("lorebook", "eldoria", 1)
    assert json.loads(one.path.read_text()) == json.loads(file.read_text())
    with open_persona(str(file)) as found:
        assert found.persona.lorebook is not None


def test_a_folder_of_cards(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("a.png", "deep/b.CharX", "c.txt", "d.json"):
        (tmp_path / name).write_bytes(b"x")
    assert [path.name for path in card_files(tmp_path)] == ["a.png", "d.json", "b.CharX"]


def test_any_card_text_survives_yaml(tmp_path: Path) -> None:
    odd = "tab\tbell\x07 nul\x00 next\x85 line\u2028 half\ud800 emoji🦊 'quotes\" #: - {x}"
    persona = imported(
        tmp_path, json.dumps(v2(description=odd, **{"x/odd": {odd: [odd]}})).encode(), "card.json"
    )
    assert read_persona(tmp_path / "cast" / "ada.yaml") == persona
    data = card_of(persona, None, {}).data
    assert data["description"] == odd.replace("\ud800", "\ufffd")
    assert data["x/odd"] == {odd.replace("\ud800", "\ufffd"): [odd.replace("\ud800", "\ufffd")]}
    assert to_yaml(persona).isprintable() is False


def test_every_fixture_is_imported(tmp_path: Path) -> None:
    if not SHARED.is_dir():
        pytest.skip("the fixtures are not here")
    files = card_files(SHARED)
    assert len(files) >= 10
    for file in files:
        found = import_file(file, tmp_path / "cast", tmp_path / "books", force=True)
        for one in found:
            assert one.path.is_file()
            assert one.kind == "lorebook" or read_persona(one.path).name
