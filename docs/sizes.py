"""Draw the pictures in docs/images/sizes: each main screen at four sizes of the terminal; `make sizes`."""

import asyncio
import os
import re
import tempfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Input, Static, TextArea

from rolellm_agents.config.paths import user_paths
from rolellm_agents.config.settings import DEFAULT_MODEL, DEFAULT_STRATEGY
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona, find_persona, load_persona
from rolellm_agents.scene import load_scene
from rolellm_agents.transcript import Transcript
from rolellm_graphs.chat.session import Session
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.stage import Stage
from rolellm_tui.app import RoleApp
from rolellm_tui.screens.chat import ChatScreen
from rolellm_tui.screens.persona_editor import PersonaEditorScreen

SIZES = ((60, 20), (80, 24), (120, 36), (220, 65))
PICTURES = Path(__file__).parent / "images" / "sizes"
TALKS = {
    "jack-sparrow": (
        ("Where did you leave your ship?", "*pats his pockets* Not in this coat, it would seem."),
        (
            "How do they greet you in the ports of the south?",
            "In one of them:\n\nصباح الخير يا قبطان، أين سفينتك؟\n\nIn another:\n\n"
            "בוקר טוב, קברניט\n\nI answer that she is *resting*.",
        ),
    ),
    "hal": (("Are you listening?", "I am always listening. It is what I was built to do."),),
    "sherlock-holmes": (
        (
            "What do you see on my boots?",
            "*does not look up from the violin* Red clay on the left heel alone. You stood with "
            "one foot in the street works at Wigmore Street, and changed your mind.",
        ),
        (
            "And what did I change my mind about?",
            "About posting the letter. It is still in your pocket, and you have touched it **twice** "
            "since you came in.\n\n> A letter that one is glad to send is sent.\n\nWho is she?",
        ),
    ),
}
"""Personas, and their conversations: what the user says, and the answer, written for the pictures."""
CHATS = (
    ("sherlock-holmes", "high-contrast", "high-contrast"),
    ("sherlock-holmes", "colour-blind", "colour-blind"),
    ("jack-sparrow", "textual-dark", "right-to-left"),
)
"""Personas, themes, and the names of the pictures of their chats."""
SPOKEN = (
    ("james-bond", "I never sit with my back to a drawing, Doctor. Who tells you that it is a Dürer?"),
    ("dr-fell", "(whispers to Violet Weston) He looks at the door, not at the lion. Watch his hands."),
    ("violet-weston", "*drains her glass* Oh, I am watching, honey."),
)
"""The scene's speakers, and what they say."""


def write_own_persona() -> None:
    """Copy a bundled persona, so that the editor shows a file of the user's own."""
    text = find_persona("hal-9000").path.read_text("utf-8")
    own = user_paths().personas / "hal.yaml"
    own.parent.mkdir(parents=True)
    own.write_text(text.replace("id: hal-9000", "id: hal").replace("name: HAL 9000", "name: HAL"), "utf-8")


async def tell(transcript: Transcript) -> None:
    """Put the conversations into a transcript."""
    for persona, lines in TALKS.items():
        model = ScriptedChatModel(replies=[reply for _, reply in lines])
        session = Session(load_persona(persona), transcript, model=model, model_name=DEFAULT_MODEL)
        session.greet()
        for line, _ in lines:
            async for _ in session.send(line):
                pass


async def draw(size: tuple[int, int]) -> None:
    """Save what a terminal of this size shows."""
    columns, rows = size
    with tempfile.TemporaryDirectory() as folder, Transcript(Path(folder) / "t.db") as transcript:
        os.environ["ROLELLM_HOME"] = folder
        write_own_persona()
        await tell(transcript)
        for visit, stage in ((talk, None), (play, await staged(transcript))):
            app = RoleApp(opener(transcript), transcript, stage=stage)
            async with app.run_test(size=size) as pilot:
                async for name in visit(pilot):
                    await save(pilot, f"{name}-{columns}x{rows}", f"{name}, {columns}×{rows}")


async def draw_themes() -> None:
    """Save a chat in each of our themes, and one in languages that are written from right to left."""
    for persona, theme, name in CHATS:
        with tempfile.TemporaryDirectory() as folder, Transcript(Path(folder) / "t.db") as transcript:
            os.environ["ROLELLM_HOME"] = folder
            write_own_persona()
            await tell(transcript)
            app = RoleApp(opener(transcript), transcript, first=load_persona(persona), theme=theme)
            async with app.run_test(size=(80, 24)) as pilot:
                await pilot.pause(1)
                await save(pilot, name, name)


async def save(pilot: Pilot[Any], name: str, title: str) -> None:
    """Save what the terminal shows."""
    hold_still(pilot)
    await pilot.pause(0.3)
    picture = pilot.app.export_screenshot(title=title)
    (PICTURES / f"{name}.svg").write_text(smaller(picture), "utf-8")


async def talk(pilot: Pilot[Any]) -> AsyncIterator[str]:
    """Visit the screens around a conversation."""
    await pilot.pause(1)
    await pilot.press("down")
    yield "library"
    await pilot.press("f8")
    await until(pilot, lambda: isinstance(pilot.app.screen, PersonaEditorScreen) and tried(pilot))
    yield "editor"
    await pilot.press("escape")
    await pilot.pause(0.5)
    await pilot.press(*"sherlock", "enter")
    await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
    await pilot.pause(0.5)
    yield "chat"
    for key, name in (
        ("ctrl+o", "inspector"),
        ("ctrl+s", "conversations"),
        ("f2", "settings"),
        ("f1", "keys"),
    ):
        await pilot.press(key)
        yield name
        await pilot.press("escape")
        await pilot.pause(0.3)


def tried(pilot: Pilot[Any]) -> bool:
    """Whether the editor has composed the prompt."""
    return bool(str(pilot.app.screen.query_one("#tokens", Static).render()))


async def play(pilot: Pilot[Any]) -> AsyncIterator[str]:
    """Visit the scene."""
    await pilot.pause(1)
    yield "scene"


async def staged(transcript: Transcript) -> Stage:
    """A scene after some lines."""
    model = ScriptedChatModel(replies=[text for _, text in SPOKEN])
    stage = Stage(Ensemble(load_scene("dinner-for-four"), model=model), transcript, seed=4)
    for speaker, _ in SPOKEN:
        async for _ in stage.step(speaker=speaker):
            pass
    return stage


def opener(transcript: Transcript) -> Callable[..., Session]:
    """What opens the chats of the app."""

    def open_session(persona: Persona, conversation: str | None, **_: Any) -> Session:
        model = ScriptedChatModel(replies=["…"])
        return Session(
            persona,
            transcript,
            model=model,
            model_name=DEFAULT_MODEL,
            strategy=DEFAULT_STRATEGY,
            conversation=conversation,
        )

    return open_session


def hold_still(pilot: Pilot[Any]) -> None:
    """No cursor blinks, so that pictures are the same each time."""
    for line in pilot.app.screen.query(Input):
        line.cursor_blink = False
    for area in pilot.app.screen.query(TextArea):
        area.cursor_blink = False


def smaller(picture: str) -> str:
    """The same picture in half the bytes, without fonts from the network."""
    picture = re.sub(r"terminal-\d+-", "t-", picture)
    picture = re.sub(r",\s*url\([^)]*\) format\([^)]*\)", "", picture)
    picture = re.sub(r' clip-path="url\(#t-line-\d+\)"', "", picture)
    picture = re.sub(r'<clipPath id="t-line-\d+">.*?</clipPath>', "", picture, flags=re.DOTALL)
    picture = re.sub(r"<text [^>]*>\s*</text>", "", picture.replace("&#160;", "\xa0"))
    return re.sub(r">\s+<", "><", picture)


async def until(pilot: Pilot[Any], holds: Callable[[], object]) -> None:
    while not holds():
        await pilot.pause(0.05)


async def draw_all() -> None:
    """Draw all sizes."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        await draw(size)
    await draw_themes()


if __name__ == "__main__":
    asyncio.run(draw_all())
