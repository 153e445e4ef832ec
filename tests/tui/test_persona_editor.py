"""The persona editor: typing, lists, findings, saving and leaving."""

import threading
from typing import Any

import pytest
from helpers.piloting import type_fast, until
from helpers.screen_app import ScreenApp, text_of
from helpers.user_files import ADA, write_persona
from langchain_core.messages import AIMessage
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, TextArea

from rolellm_agents.editing.drafts import keep_draft, read_draft
from rolellm_agents.editing.form import with_value
from rolellm_agents.editing.yaml_document import YamlDocument
from rolellm_agents.persona import Persona, find_persona
from rolellm_agents.persona.editing.document import open_document, save_document
from rolellm_tui.screens import persona_editor
from rolellm_tui.screens.persona_editor import PersonaEditorScreen
from rolellm_tui.widgets.editor.trial import TrialSetting

LORE = ADA + (
    "lorebook:\n  entries:\n"
    "  - {comment: Engine, keys: [mill], content: It has a mill.}\n"
    "  - {comment: Tea, keys: [tea], content: Tea at four.}\n"
)


def _editor(line: str = "") -> ScreenApp:
    setting = TrialSetting("few-shot-dialogue", "Sam", None, [AIMessage("Good day.")], line)
    return ScreenApp(PersonaEditorScreen(open_document(find_persona("ada")), setting))


def _status(pilot: Pilot[Any]) -> str:
    return text_of(pilot, "#status")


async def _open_row(pilot: Pilot[Any], label: str) -> None:
    outline = pilot.app.screen.query_one("#outline", OptionList)
    await until(pilot, lambda: outline.option_count)
    outline.highlighted = [str(option.prompt).strip() for option in outline.options].index(label)
    await pilot.press("enter")
    await until(pilot, lambda: isinstance(pilot.app.focused, Input | TextArea))


async def test_what_is_typed_is_saved_and_handed_back() -> None:
    path = write_persona("# mine\n" + ADA)
    app = _editor()
    async with app.run_test() as pilot:
        await _open_row(pilot, "Greeting")
        await pilot.press("end", *"Sit", "ctrl+s")
        await until(pilot, lambda: "Saved" in _status(pilot))
        assert path.read_text() == ("# mine\n" + ADA).replace("Good day.", "Good day.Sit")
        await pilot.press("escape")
        await until(pilot, lambda: app.left)
    assert isinstance(app.result, Persona)
    assert app.result.greeting == "Good day.Sit"


async def test_escape_asks_before_it_discards_changes() -> None:
    path = write_persona()
    app = _editor()
    async with app.run_test() as pilot:
        await _open_row(pilot, "Greeting")
        await pilot.press("x", "escape")
        await until(pilot, lambda: "not saved" in _status(pilot))
        assert not app.left
        await pilot.press("escape")
        await until(pilot, lambda: app.left)
    assert (app.result, path.read_text()) == (None, ADA)


async def test_items_are_added_and_removed_and_undo_restores_them() -> None:
    write_persona()
    async with _editor().run_test() as pilot:
        outline = pilot.app.screen.query_one("#outline", OptionList)
        await until(pilot, lambda: outline.option_count)
        rows = outline.option_count
        outline.highlighted = [str(one.prompt) for one in outline.options].index("Catchphrases (0)")
        await pilot.press("f7")
        await until(pilot, lambda: isinstance(pilot.app.focused, TextArea))
        await pilot.press(*"Indeed")
        await until(pilot, lambda: any("Indeed" in str(one.prompt) for one in outline.options))
        await pilot.press("f8")
        await until(pilot, lambda: outline.option_count == rows)
        await pilot.press("ctrl+z")
        await until(pilot, lambda: any("Indeed" in str(one.prompt) for one in outline.options))


async def test_enter_on_an_error_goes_to_its_field() -> None:
    write_persona()
    async with _editor().run_test() as pilot:
        await _open_row(pilot, "Description")
        pilot.app.screen.query_one("#form TextArea", TextArea).text = ""
        findings = pilot.app.screen.query_one("#findings", OptionList)
        await until(pilot, lambda: findings.option_count and "✗" in str(findings.options[0].prompt))
        pilot.app.screen.query_one("#outline", OptionList).highlighted = 0
        findings.focus()
        await pilot.press("home", "enter")
        await until(pilot, lambda: isinstance(pilot.app.focused, TextArea))


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 36)])
async def test_lorebook_entries_are_tried_with_the_line(size: tuple[int, int]) -> None:
    write_persona(LORE)
    async with _editor("Show me the mill.").run_test(size=size) as pilot:
        if size[0] < 110:
            await pilot.press("f3")
        await until(pilot, lambda: "“Engine” is active: its key “mill”" in text_of(pilot, "#trial"))
        assert "“Tea” is not active: none of its keys was found." in text_of(pilot, "#trial")
        assert "Prompt: about" in text_of(pilot, "#tokens")


async def test_the_draft_of_an_earlier_session_is_restored() -> None:
    write_persona()
    document = open_document(find_persona("ada"))
    keep_draft(document, with_value(document.data, ("name",), "Eve"))
    async with _editor().run_test() as pilot:
        await until(pilot, lambda: "restored" in _status(pilot))
        assert "Eve · ada.yaml · not saved" in text_of(pilot, "#title")
        await pilot.press("ctrl+z")
        await until(pilot, lambda: text_of(pilot, "#title") == "Ada · ada.yaml")


async def test_a_save_does_not_replace_a_file_that_was_changed_again_after_the_warning() -> None:
    path = write_persona()
    async with _editor().run_test() as pilot:
        await _open_row(pilot, "Greeting")
        await pilot.press("x")
        path.write_text(ADA + "moment: Morning.\n")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "another program" in _status(pilot))
        path.write_text(ADA + "moment: Evening.\n")
        await pilot.press("y", "ctrl+s")
        await until(pilot, lambda: "another program" in _status(pilot))
        assert path.read_text() == ADA + "moment: Evening.\n"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Saved" in _status(pilot))


async def test_what_is_typed_during_a_save_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_persona()
    begun, goes_on = threading.Event(), threading.Event()
    save = save_document

    def slow(*arguments: Any, **options: Any) -> YamlDocument:
        begun.set()
        assert goes_on.wait(60)
        return save(*arguments, **options)

    monkeypatch.setattr(persona_editor, "save_document", slow)
    async with _editor().run_test() as pilot:
        await _open_row(pilot, "Greeting")
        await pilot.press("end", "x", "ctrl+s")
        await until(pilot, begun.is_set)
        # The screen goes on while the file is written.
        await pilot.press("y")
        area = pilot.app.screen.query_one("#form TextArea", TextArea)
        await until(pilot, lambda: area.text == "Good day.xy")
        goes_on.set()
        await until(pilot, lambda: "Saved" in _status(pilot))
        assert path.read_text() == ADA.replace("Good day.", "Good day.x")
        assert "not saved" in text_of(pilot, "#title")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "xy" in path.read_text())


async def test_undo_back_to_what_is_saved_removes_the_draft() -> None:
    path = write_persona()
    draft = path.with_name(".ada.yaml.draft")
    async with _editor().run_test() as pilot:
        await _open_row(pilot, "Greeting")
        await pilot.press("x")
        await until(pilot, draft.exists)
        await pilot.press("ctrl+z")
        await until(pilot, lambda: not draft.exists())


async def test_changes_are_kept_when_the_app_ends() -> None:
    write_persona()
    async with _editor().run_test() as pilot:
        await _open_row(pilot, "Greeting")
        await pilot.press("end", "x")
        await until(pilot, lambda: "not saved" in text_of(pilot, "#title"))
    draft = read_draft(open_document(find_persona("ada")))
    assert draft is not None
    assert draft.data["greeting"] == "Good day.x"


async def test_an_error_of_the_strategy_leads_to_no_field() -> None:
    write_persona()
    setting = TrialSetting("no-such-strategy", "Sam")
    app = ScreenApp(PersonaEditorScreen(open_document(find_persona("ada")), setting))
    async with app.run_test() as pilot:
        findings = pilot.app.screen.query_one("#findings", OptionList)
        await until(pilot, lambda: findings.option_count and "✗" in str(findings.options[0].prompt))
        findings.focus()
        await pilot.press("home", "enter")
        await until(pilot, lambda: "not about one field" in _status(pilot))
        assert pilot.app.focused is findings


async def test_labels_of_the_outline_take_one_row_each_in_a_narrow_terminal() -> None:
    write_persona(ADA + "knowledge:\n- {title: A title that is far too long for it, text: I know.}\n")
    async with _editor().run_test(size=(60, 20)) as pilot:
        outline = pilot.app.screen.query_one("#outline", OptionList)
        await until(pilot, lambda: outline.option_count)
        assert outline.virtual_size.height == outline.option_count


async def test_what_is_typed_right_after_enter_goes_into_the_field() -> None:
    write_persona()
    async with _editor().run_test() as pilot:
        outline = pilot.app.screen.query_one("#outline", OptionList)
        await until(pilot, lambda: outline.option_count)
        outline.highlighted = 2
        # Keys come faster than the form is filled.
        for key, letter in (("enter", "\r"), ("x", "x")):
            pilot.app.post_message(events.Key(key, letter))
        await until(pilot, lambda: "not saved" in text_of(pilot, "#title"))
        assert pilot.app.screen.query_one("#form TextArea", TextArea).text == "xGood day."


async def test_enter_goes_to_the_row_that_the_arrow_keys_before_it_chose() -> None:
    path = write_persona()
    async with _editor().run_test() as pilot:
        outline = pilot.app.screen.query_one("#outline", OptionList)
        await until(pilot, lambda: outline.option_count)
        await type_fast(pilot, "down", "down", "enter")
        await until(pilot, lambda: isinstance(pilot.app.focused, TextArea))
        await pilot.press("end", *"Sit", "ctrl+s")
        await until(pilot, lambda: "Saved" in _status(pilot))
    assert path.read_text() == ADA.replace("Good day.", "Good day.Sit")


async def test_the_row_that_the_arrow_keys_chose_is_removed() -> None:
    path = write_persona(ADA + "catchphrases:\n  - One.\n  - Two.\n")
    async with _editor().run_test() as pilot:
        outline = pilot.app.screen.query_one("#outline", OptionList)
        await until(pilot, lambda: outline.option_count)
        outline.highlighted = [str(one.prompt).strip() for one in outline.options].index("1 One.")
        await pilot.pause()
        await type_fast(pilot, "down", "f8")
        await until(pilot, lambda: "Removed" in _status(pilot))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Saved" in _status(pilot))
    assert path.read_text() == ADA + "catchphrases:\n  - One.\n"
