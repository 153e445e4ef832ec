"""How editors are opened from the library and from a chat, and what they try a persona with."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.role_app import bubbles, prompt, role_app, until
from helpers.screen_app import name_of_screen, text_of
from helpers.user_files import ADA, write_persona

from rolellm_agents.cards import read_lorebook
from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import read_persona
from rolellm_agents.transcript import Transcript
from rolellm_graphs.chat.session import Session
from rolellm_tui.app import RoleApp
from rolellm_tui.editing import chat_persona_editor
from rolellm_tui.widgets.library.persona_view import PersonaView

EDITED = "PersonaEditorScreen"


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


def _model() -> ScriptedChatModel:
    return ScriptedChatModel(replies=["I am the reply."])


async def test_a_chat_that_was_opened_by_path_edits_that_file_and_goes_on_with_it(
    transcript: Transcript, tmp_path: Path
) -> None:
    own = write_persona()
    file = tmp_path / "other.yaml"
    file.write_text(ADA.replace("Good day.", "Good night."))
    app = role_app(_model(), transcript)
    app = RoleApp(
        app._open_session,
        transcript,
        first=read_persona(file),
        first_path=file,
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: bubbles(pilot) == [("Ada", "Good night.", "")])
        prompt(pilot).text = "A draft."
        await pilot.press("f11")
        await until(pilot, lambda: name_of_screen(pilot) == EDITED)
        await until(pilot, lambda: "Ada · other.yaml" in text_of(pilot, "#title"))
        await pilot.press("down", "down", "enter", "end", *"Sit", "ctrl+s")
        await until(pilot, lambda: "Saved" in text_of(pilot, "#status"))
        await pilot.press("escape")
        await until(pilot, lambda: bubbles(pilot) == [("Ada", "Good night.Sit", "")])
        # A new conversation, too, is with the persona of this file.
        await pilot.press("ctrl+n", "f11")
        await until(pilot, lambda: "Ada · other.yaml" in text_of(pilot, "#title"))
    assert file.read_text() == ADA.replace("Good day.", "Good night.Sit")
    assert own.read_text() == ADA


@pytest.mark.parametrize("key", ["f8", "f11"])
async def test_the_library_edits_the_highlighted_persona_and_shows_it_again(
    transcript: Transcript, key: str
) -> None:
    path = write_persona()
    async with role_app(_model(), transcript).run_test(size=(120, 36)) as pilot:
        await pilot.press(*"cartographer")
        card = pilot.app.screen.query_one(PersonaView)
        await until(pilot, lambda: card.found and card.found.persona.id == "ada")
        await pilot.press(key)
        await until(pilot, lambda: name_of_screen(pilot) == EDITED)
        await pilot.press("down", "enter", "end", *" Yes", "ctrl+s")
        await until(pilot, lambda: "Saved" in text_of(pilot, "#status"))
        await pilot.press("escape")
        await until(pilot, lambda: card.found and card.found.persona.description.endswith("Yes"))
    assert path.read_text() == ADA.replace("mathematician.", "mathematician. Yes")


async def test_f9_in_the_library_writes_a_new_persona(transcript: Transcript) -> None:
    async with role_app(_model(), transcript).run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: name_of_screen(pilot) == "LibraryScreen")
        await pilot.press("f9")
        await until(pilot, lambda: name_of_screen(pilot) == EDITED)
        await pilot.press("enter", *"Grace", "f3", "f3", "down", "enter", *"An admiral", "ctrl+s")
        await until(pilot, lambda: "Saved" in text_of(pilot, "#status"))
        assert text_of(pilot, "#title") == "Grace · grace.yaml"
    assert read_persona(user_paths().personas / "grace.yaml").description == "An admiral"
    assert not [*user_paths().personas.glob("*.draft")]


async def test_the_library_edits_a_lorebook(transcript: Transcript, tmp_path: Path) -> None:
    file = tmp_path / "new.json"
    async with role_app(_model(), transcript).run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: name_of_screen(pilot) == "LibraryScreen")
        await pilot.press("ctrl+o")
        await until(pilot, lambda: name_of_screen(pilot) == "PickLorebookScreen")
        await pilot.press(*str(file), "enter")
        await until(pilot, lambda: name_of_screen(pilot) == "LorebookEditorScreen")
        await pilot.press("f7")
        await until(pilot, lambda: pilot.app.focused and pilot.app.focused.id != "outline")
        await pilot.press(*"Sea", "ctrl+s")
        await until(pilot, lambda: "Saved" in text_of(pilot, "#status"))
    (entry,) = read_lorebook(json.loads(file.read_text())).entries
    assert entry.name == "Sea"


async def test_f4_in_a_chat_stays_the_key_of_thoughts(transcript: Transcript) -> None:
    write_persona()
    async with role_app(_model(), transcript, first=read_persona(write_persona())).run_test() as pilot:
        await until(pilot, lambda: bubbles(pilot))
        await pilot.press("f4")
        await pilot.pause(0.1)
        assert name_of_screen(pilot) == "ChatScreen"


async def test_the_persona_is_tried_with_all_that_enters_the_prompts_of_the_chat(
    transcript: Transcript,
) -> None:
    book = read_lorebook({"entries": [{"keys": ["mill"], "content": "The mill turns.", "enabled": True}]})
    session = Session(
        read_persona(write_persona()),
        transcript,
        model=_model(),
        strategy="system",
        user_name="Sam",
        about_user="Sam is a miller.",
        lorebooks=[book],
    )
    session.greet()
    async for _ in session.send("Where is the mill?"):
        pass
    session.set_note("Speak in verse.")
    editor = chat_persona_editor(session, None)
    trial = editor.tried(editor._document.data, "")
    prompt_text = trial.shown.plain
    for words in (
        "Good day.",
        "Where is the mill?",
        "The mill turns.",
        "Sam is a miller.",
        "Speak in verse.",
    ):
        assert words in prompt_text
    assert "I am the reply." not in prompt_text
    assert "Lorebook: 4 of at most" in trial.total
