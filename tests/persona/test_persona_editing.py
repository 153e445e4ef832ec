"""Editing a persona's file: the form, the history, places of findings, saving, drafts."""

import pathlib

import pytest
from helpers.user_files import ADA, write_persona

from rolellm_agents.config.paths import user_paths
from rolellm_agents.editing.drafts import discard_draft, keep_draft, read_draft
from rolellm_agents.editing.form import (
    ItemList,
    Path,
    value_at,
    with_item,
    with_item_moved,
    with_value,
    without_item,
)
from rolellm_agents.editing.history import EditHistory
from rolellm_agents.editing.places import place_of_error, row_at
from rolellm_agents.editing.storing import ChangedOnDiskError
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import FoundPersona, find_persona, list_personas, read_persona
from rolellm_agents.persona.editing.document import (
    edited_persona,
    new_document,
    open_document,
    save_document,
)
from rolellm_agents.persona.editing.persona_form import persona_rows
from rolellm_agents.persona.editing.places import (
    lore_findings,
    place_of_finding,
)
from rolellm_agents.persona.lint import check_personas


def test_a_save_changes_its_line_only() -> None:
    path = write_persona("# mine\n" + ADA)
    document = open_document(find_persona("ada"))
    saved = save_document(document, with_value(document.data, ("greeting",), "Good night."))
    assert path.read_text() == "# mine\n" + ADA.replace("Good day.", "Good night.")
    assert saved.text == path.read_text()


def test_line_breaks_and_the_byte_order_mark_stay() -> None:
    path = write_persona(ADA)
    path.write_bytes(b"\xef\xbb\xbf" + ADA.replace("\n", "\r\n").encode())
    document = open_document(find_persona("ada"))
    save_document(document, with_value(document.data, ("name",), "Eve"))
    expected = ADA.replace("name: Ada", "name: Eve").replace("\n", "\r\n")
    assert path.read_bytes() == b"\xef\xbb\xbf" + expected.encode()


def test_a_file_that_another_program_changed_is_not_replaced_without_asking() -> None:
    path = write_persona()
    document = open_document(find_persona("ada"))
    changed = with_value(document.data, ("name",), "Eve")
    path.write_text(ADA + "moment: Morning.\n")
    with pytest.raises(ChangedOnDiskError, match="was changed by another program") as first:
        save_document(document, changed)
    assert path.read_text() == ADA + "moment: Morning.\n"
    path.write_text(ADA + "moment: Evening.\n")
    with pytest.raises(ChangedOnDiskError) as second:
        save_document(document, changed, warned=first.value)
    assert path.read_text() == ADA + "moment: Evening.\n"
    save_document(document, changed, warned=second.value)
    assert read_persona(path).name == "Eve"


def test_a_bundled_persona_is_saved_as_a_copy() -> None:
    found = next(found for found in list_personas().found if found.origin == "bundled")
    before = found.path.read_bytes()
    document = open_document(found)
    assert document.origin == found.path
    save_document(document, with_value(document.data, ("greeting",), "Hello."))
    assert found.path.read_bytes() == before
    own = find_persona(found.persona.id)
    assert (own.origin, own.persona.greeting) == ("user", "Hello.")


def test_a_new_persona_is_named_after_its_name() -> None:
    document = new_document()
    with pytest.raises(PersonaError, match="name"):
        save_document(document, document.data)
    data = {**document.data, "name": "Grace Hopper", "description": "An admiral."}
    saved = save_document(document, data)
    assert saved.path == user_paths().personas / "grace-hopper.yaml"
    assert find_persona("grace-hopper").persona.name == "Grace Hopper"
    assert save_document(new_document(), data).path.name == "grace-hopper-2.yaml"
    assert find_persona("grace-hopper-2").persona.name == "Grace Hopper"


def test_a_draft_is_kept_until_the_save() -> None:
    path = write_persona()
    document = open_document(find_persona("ada"))
    changed = with_value(document.data, ("name",), "Eve")
    keep_draft(document, changed)
    draft = read_draft(document)
    assert draft is not None
    assert (draft.data, draft.is_of_other_text) == (changed, False)
    path.write_text(ADA + "moment: Morning.\n")
    later = read_draft(open_document(find_persona("ada")))
    assert later is not None
    assert later.is_of_other_text
    path.write_text(ADA)
    save_document(document, changed)
    assert read_draft(open_document(find_persona("ada"))) is None
    assert [found.path for found in list_personas().found if found.origin == "user"] == [path]


def _list(data: dict[str, object], path: Path) -> ItemList:
    items = next(row.items for row in persona_rows(data) if row.path == path)
    assert items is not None
    return items


def test_lists_are_changed_by_items() -> None:
    phrases: Path = ("catchphrases",)
    items = _list({"id": "ada"}, phrases)
    data, first = with_item({"id": "ada"}, items, None)
    data, second = with_item(with_value(data, first, "First."), items, 0)
    data = with_value(data, second, "Second.")
    assert with_item_moved(data, first, 1)["catchphrases"] == ["Second.", "First."]
    assert with_item_moved(data, first, -1) is data
    data = without_item(without_item(data, first), first)
    assert data == {"id": "ada"}
    book, entry = with_item(data, _list(data, ("lorebook", "entries")), None)
    assert value_at(book, (*entry, "keys")) == []
    assert "Lorebook (1)" in [row.label for row in persona_rows(book)]


def test_each_new_persona_has_a_draft_of_its_own_while_it_is_open() -> None:
    first, second = new_document(), new_document()
    assert first.path != second.path
    keep_draft(first, {"name": "Ada"})
    keep_draft(second, {"name": "Eve"})
    assert first.claim is not None
    first.claim.release()
    again = new_document()
    draft = read_draft(again)
    assert draft is not None
    assert draft.data == {"name": "Ada"}
    discard_draft(again)
    assert read_draft(second) is not None


PNG = b"\x89PNG\r\n\x1a\n one"


def test_the_portrait_goes_with_a_copy_and_replaces_no_other_picture(tmp_path: pathlib.Path) -> None:
    (tmp_path / "ada.png").write_bytes(PNG)
    origin = tmp_path / "ada.yaml"
    origin.write_text(ADA + "portrait: ada.png\n")
    found = FoundPersona(read_persona(origin), origin, "pack")
    folder = user_paths().personas
    folder.mkdir(parents=True)
    (folder / "ada.png").write_bytes(b"another picture")
    document = open_document(found)
    saved = save_document(document, document.data)
    assert (folder / "ada.png").read_bytes() == b"another picture"
    assert saved.data["portrait"] == "ada-2.png"
    assert (folder / "ada-2.png").read_bytes() == PNG
    saved.path.unlink()
    assert save_document(open_document(found), document.data).data["portrait"] == "ada-2.png"


def test_an_empty_optional_value_is_removed_with_its_mapping() -> None:
    data = with_value({"id": "ada"}, ("source", "work"), "Notes")
    assert data == {"id": "ada", "source": {"work": "Notes"}}
    assert with_value(data, ("source", "work"), "") == {"id": "ada"}
    assert with_value(data, ("name",), "") == {**data, "name": ""}


def test_typing_in_one_field_is_one_step_of_the_history() -> None:
    history = EditHistory({"name": ""})
    history.change({"name": "A"}, ("name",))
    history.change({"name": "Ad"}, ("name",))
    history.change({"name": "Ad", "moment": "x"}, ("moment",))
    assert history.undo()
    assert history.data == {"name": "Ad"}
    assert history.undo()
    assert history.data == {"name": ""}
    assert not history.undo()
    assert history.redo()
    assert history.data == {"name": "Ad"}


def test_findings_and_errors_name_their_place() -> None:
    write_persona(ADA + "demonstrations:\n- {user: Hm?, reply: '*nods*'}\n")
    document = open_document(find_persona("ada"))
    persona = edited_persona(document, document.data).persona
    places = {
        finding.rule: place_of_finding(finding, document.data) for finding in check_personas([persona])
    }
    assert places["stage-direction"] == ("demonstrations", 0, "reply")
    with pytest.raises(PersonaError) as caught:
        edited_persona(document, with_value(document.data, ("demonstrations", 0, "reply"), ""))
    place = place_of_error(str(caught.value))
    assert place == ("demonstrations", 0, "reply")
    assert persona_rows(document.data)[row_at(persona_rows(document.data), place)].path == (
        "demonstrations",
        0,
    )
    assert place_of_error("It cannot hold a text with control characters.") is None


def test_findings_about_lore_name_their_entry() -> None:
    book = {"entries": [{"keys": ["mill"], "content": "A mill."}, {"keys": ["/(/"], "content": "x"}]}
    found = lore_findings({"lorebook": book}, ("lorebook",))
    assert any(path[:3] == ("lorebook", "entries", 1) and "Entry 2" in line for line, path in found)
    assert not lore_findings({"lorebook": {"entries": {"0": {"uid": 0}}}}, ("lorebook",))
