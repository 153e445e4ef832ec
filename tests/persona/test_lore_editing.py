"""Editing lorebooks: each setting that is read has a field, and the file keeps its style."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from rolellm_agents.cards import read_lorebook
from rolellm_agents.cards.lore.lorebook import LoreEntry
from rolellm_agents.config.paths import user_paths
from rolellm_agents.editing.form import Data, FormField, value_at, with_field, with_item
from rolellm_agents.editing.storing import ChangedOnDiskError
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona.editing.lore_form import book_list
from rolellm_agents.persona.editing.lorebook_document import (
    lorebook_rows,
    open_lorebook,
    save_lorebook,
)
from rolellm_agents.persona.editing.persona_form import persona_rows

CARD_BOOK: Data = {
    "entries": [
        {"keys": ["mill"], "content": "A mill.", "enabled": True, "insertion_order": 5, "extensions": {}}
    ]
}
WORLD_BOOK: Data = {"entries": {"0": {"uid": 0, "key": ["sea"], "content": "The sea.", "order": 90}}}


def _fields(data: Data, entry: int = 1) -> list[FormField]:
    items = book_list(data, ())
    assert items is not None
    return list([*items.rows(data)][entry].fields)


def _field(data: Data, label: str) -> FormField:
    return next(field for field in _fields(data) if field.label.startswith(label))


def _entry(data: Data) -> LoreEntry:
    return read_lorebook(data).entries[0]


def _others(field: FormField) -> list[Any]:
    """Values that differ from the present one."""
    match field.kind:
        case "flag":
            return [not field.value]
        case "choice":
            return [value for _, value in field.choices if value != field.value]
        case "number":
            return [(field.value or 0) + 1]
        case "words":
            return [["word", "other, with a comma"]]
        case _:
            return ["word"]


@pytest.mark.parametrize(("book", "but"), [(CARD_BOOK, set()), (WORLD_BOOK, {"priority"})])
def test_each_setting_of_an_entry_that_is_read_has_a_field(book: Data, but: set[str]) -> None:
    shown: set[str] = set()
    for field in _fields(book):
        for value in _others(field):
            # Secondary keys and the probability count only with their switch, so both are on before.
            before = book
            if field.label == "Use the probability":
                before = with_field(book, _field(book, "Probability"), 50)
            elif field.label.startswith(("Use secondary keys", "Secondary keys")):
                path = _field(book, "Secondary keys")
                before = with_field(book, path, ["a"])
                is_used = field.value if field.kind == "flag" else True
                before = with_field(before, _field(book, "Use secondary"), is_used)
            changed = with_field(before, field, value)
            old, new = dataclasses.asdict(_entry(before)), dataclasses.asdict(_entry(changed))
            different = {key for key in old if key != "raw" and old[key] != new[key]}
            assert different, field
            shown |= different
            now = next(one for one in _fields(changed) if one.label == field.label)
            assert now.value == (tuple(value) if field.kind == "words" else value)
    wanted = {one.name for one in dataclasses.fields(LoreEntry)}
    assert shown == wanted - {"uid", "raw", "use_regex"} - but


def test_the_position_is_written_where_it_counts() -> None:
    plain = with_field(CARD_BOOK, _field(CARD_BOOK, "Position"), "after_char")
    assert value_at(plain, ("entries", 0, "position")) == "after_char"
    assert value_at(plain, ("entries", 0, "extensions")) == {}
    deep = with_field(plain, _field(plain, "Position"), "at_depth")
    assert value_at(deep, ("entries", 0, "extensions", "position")) == 4
    assert _field(deep, "Position").value == "at_depth"
    back = with_field(deep, _field(deep, "Position"), "before_char")
    assert value_at(back, ("entries", 0, "extensions", "position")) == 0
    assert (_entry(back).position, _field(back, "Position").value) == ("before_char", "before_char")


def test_keys_with_commas_in_one_text_are_shown_one_on_each_line() -> None:
    book: Data = {"entries": {"0": {"uid": 0, "key": "sea, ship", "content": "x"}}}
    assert _field(book, "Keys, one").value == ("sea", "ship")


def test_a_new_entry_of_world_info_has_a_number_of_its_own() -> None:
    items = book_list(WORLD_BOOK, ())
    assert items is not None
    data, path = with_item(WORLD_BOOK, items, None)
    assert (path, data["entries"]["1"]["uid"]) == (("entries", "1"), 1)
    assert [entry.uid for entry in read_lorebook(data).entries] == ["0", "1"]


@pytest.mark.parametrize("indent", [None, 2, 4, "\t"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_a_saved_lorebook_differs_in_one_place(tmp_path: Path, indent: int | str | None, end: str) -> None:
    file = tmp_path / "world.json"
    text = json.dumps({**WORLD_BOOK, "más": 1.0}, indent=indent, ensure_ascii=False) + end
    file.write_text(text, encoding="utf-8")
    document = open_lorebook(str(file))
    field = next(
        one
        for one in lorebook_rows(document, document.data)[1].fields
        if one.label == "Order (lower comes first)"
    )
    saved = save_lorebook(document, with_field(document.data, field, 91))
    assert file.read_text(encoding="utf-8") == text.replace("90", "91")
    assert saved.data == document.data | {"entries": {"0": {**WORLD_BOOK["entries"]["0"], "order": 91}}}


def test_compact_json_with_a_byte_order_mark_and_line_breaks_of_windows_stays_so(tmp_path: Path) -> None:
    file = tmp_path / "world.json"
    content = b"\xef\xbb\xbf" + json.dumps(CARD_BOOK, separators=(",", ":")).encode() + b"\r\n"
    file.write_bytes(content)
    document = open_lorebook(str(file))
    save_lorebook(document, with_field(document.data, _field(CARD_BOOK, "Order"), 6))
    assert file.read_bytes() == content.replace(b":5,", b":6,")


def test_the_lorebook_of_a_card_is_edited_in_its_json(tmp_path: Path) -> None:
    file = tmp_path / "card.json"
    card = {"spec": "chara_card_v2", "data": {"name": "Ada", "character_book": CARD_BOOK}}
    file.write_text(json.dumps(card, indent=1))
    document = open_lorebook(str(file))
    rows = lorebook_rows(document, document.data)
    assert [row.label for row in rows] == ["Lorebook (1)", "  1 mill"]
    save_lorebook(document, with_field(document.data, rows[1].fields[0], "Mill"))
    assert json.loads(file.read_text())["data"]["character_book"]["entries"][0]["comment"] == "Mill"


def test_a_new_lorebook_is_written_when_it_is_saved(tmp_path: Path) -> None:
    file = tmp_path / "new.json"
    document = open_lorebook(str(file))
    assert not file.exists()
    items = lorebook_rows(document, document.data)[0].items
    assert items is not None
    data, _ = with_item(document.data, items, None)
    save_lorebook(document, data)
    assert len(read_lorebook(json.loads(file.read_text())).entries) == 1


def test_an_imported_lorebook_is_opened_by_name() -> None:
    folder = user_paths().lorebooks
    folder.mkdir(parents=True)
    (folder / "sea.json").write_text(json.dumps(WORLD_BOOK))
    assert open_lorebook("sea").path == folder / "sea.json"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("risu.json", '{"type": "risu", "data": []}', "format of another program"),
        ("novel.json", '{"lorebookVersion": 4, "entries": []}', "format of another program"),
        ("list.json", "[1]", "cannot be edited"),
        ("card.json", '{"data": {"character_book": null}}', "The card has no lorebook"),
    ],
)
def test_what_cannot_be_edited_is_said(tmp_path: Path, name: str, content: str, words: str) -> None:
    file = tmp_path / name
    file.write_text(content)
    with pytest.raises(PersonaError, match=words):
        open_lorebook(str(file))
    with pytest.raises(PersonaError, match="There is no lorebook"):
        open_lorebook(str(tmp_path / "nothing"))


def test_a_lorebook_that_another_program_changed_is_not_replaced_without_asking(tmp_path: Path) -> None:
    file = tmp_path / "world.json"
    file.write_text(json.dumps(WORLD_BOOK))
    document = open_lorebook(str(file))
    file.write_text("{}")
    with pytest.raises(ChangedOnDiskError) as warned:
        save_lorebook(document, document.data)
    assert file.read_text() == "{}"
    save_lorebook(document, document.data, warned=warned.value)
    assert json.loads(file.read_text()) == WORLD_BOOK


@pytest.mark.parametrize("spec", ["v1", "v2"])
def test_the_fields_of_a_card_that_prompts_use_are_in_the_persona_form(spec: str) -> None:
    fields = {"alternate_greetings": ["Hi."], "system_prompt": "Be brief.", "name": "Ada"}
    document = fields if spec == "v1" else {"spec": "chara_card_v2", "data": fields}
    data: Data = {"id": "ada", "name": "Ada", "extensions": {"card": {"document": document}}}
    rows = {row.label.strip(): row for row in persona_rows(data)}
    assert rows["1 Hi."].fields[0].value == "Hi."
    shown = {field.label: field for field in rows["Card's prompts"].fields}
    note = next(field for label, field in shown.items() if label == "Character's note")
    changed = with_field(data, note, "She is tired.")
    inner = value_at(changed, rows["Card's prompts"].path)
    assert inner["extensions"]["depth_prompt"] == {"prompt": "She is tired."}
    assert [field.value for field in shown.values()][1] == "Be brief."
    assert not any("Card" in row.label for row in persona_rows({"id": "ada"}))
