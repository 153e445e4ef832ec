"""Editing a persona's file: the form, the history, places of findings, saving, drafts."""

import pytest
from helpers.user_files import ADA, write_persona

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import find_persona, list_personas, read_persona
from rolellm_agents.persona.editing.document import (
    ChangedOnDiskError,
    edited_persona,
    keep_draft,
    new_document,
    open_document,
    read_draft,
    save_document,
)
from rolellm_agents.persona.editing.form import (
    ENTRIES,
    rows_of,
    value_at,
    with_item,
    with_item_moved,
    with_value,
    without_item,
)
from rolellm_agents.persona.editing.history import EditHistory
from rolellm_agents.persona.editing.places import place_of_error, place_of_finding, row_at
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
    with pytest.raises(ChangedOnDiskError, match="was changed by another program"):
        save_document(document, changed)
    assert path.read_text() == ADA + "moment: Morning.\n"
    save_document(document, changed, overwrite=True)
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


def test_lists_are_changed_by_items() -> None:
    data = with_item({"id": "ada"}, ("catchphrases",), 0)
    data = with_value(data, ("catchphrases", 0), "First.")
    data = with_value(with_item(data, ("catchphrases",), 1), ("catchphrases", 1), "Second.")
    assert with_item_moved(data, ("catchphrases",), 0, 1)["catchphrases"] == ["Second.", "First."]
    assert with_item_moved(data, ("catchphrases",), 0, -1) is data
    data = without_item(without_item(data, ("catchphrases",), 0), ("catchphrases",), 0)
    assert data == {"id": "ada"}
    book = with_item(data, ENTRIES, 0)
    assert value_at(book, (*ENTRIES, 0, "keys")) == []
    assert "Lorebook (1)" in [row.label for row in rows_of(book)]


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
    assert rows_of(document.data)[row_at(document.data, place)].path == ("demonstrations", 0)
