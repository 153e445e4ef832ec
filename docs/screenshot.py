"""Draw the pictures in docs/images: the app with real answers of the bundled model; `make screenshot`."""

import asyncio
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from rolellm_agents.config.settings import DEFAULT_MODEL
from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona
from rolellm_agents.scene import load_scene
from rolellm_agents.transcript import Transcript
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.session import Session
from rolellm_graphs.scene.ensemble import Ensemble
from rolellm_graphs.scene.stage import Stage
from rolellm_tui.app import RoleApp
from rolellm_tui.screens.chat import ChatScreen

SCENE = "dinner-for-four"
LINES = ("Who is Watson?", "How do you solve a case?")
STRATEGY = "system"
SEED = 4
SIZE = (110, 32)
PICTURES = Path(__file__).parent / "images"


async def draw() -> None:
    """Hold a short conversation and save what the terminal shows on the way."""
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, Transcript(Path(folder) / "t.db") as transcript:

        def open_session(
            persona: Persona,
            conversation: str | None,
            /,
            *,
            strategy: str | None = None,
            model: str | None = None,
        ) -> Session:
            return Session(
                persona,
                transcript,
                model=get_model(DEFAULT_MODEL),
                model_name=DEFAULT_MODEL,
                strategy=strategy or STRATEGY,
                conversation=conversation,
                seed=SEED,
            )

        app = RoleApp(open_session, transcript)
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause(1)
            await pilot.press(*"sherlock")
            await pilot.pause(1)
            save(app, "library")
            await pilot.press("enter")
            await pilot.pause(1)
            for line in LINES:
                await answered(pilot, *line, "enter")
            save(app, "chat")
            await pilot.press("ctrl+o")
            await pilot.pause(2)
            save(app, "why")
            await pilot.press("escape")
            await answered(pilot, "ctrl+r")
            await pilot.press("ctrl+t")
            await pilot.pause(1)
            save(app, "tree")
            await pilot.press("escape", "ctrl+d")
            await pilot.pause(1)
            await pilot.press("enter")
            chat = next(screen for screen in app.screen_stack if isinstance(screen, ChatScreen))
            before = chat.session.messages[-1].id
            await until(
                pilot, lambda: chat.session.messages[-1].id != before and not chat.session.answering
            )
            save(app, "compare")


async def answered(pilot: Pilot[Any], *keys: str) -> None:
    """Press the keys, and wait for the end of the answer, which may come before this function looks."""
    (chat,) = (screen for screen in pilot.app.screen_stack if isinstance(screen, ChatScreen))
    before = {message.id for message in chat.session.messages}
    await pilot.press(*keys)

    def is_new() -> bool:
        last = chat.session.messages[-1]
        return last.id not in before and last.speaker != USER and last.status == "complete"

    await until(pilot, lambda: is_new() and not chat.answering)


async def until(pilot: Pilot[Any], holds: Callable[[], object]) -> None:
    while not holds():
        await pilot.pause(0.05)
    await pilot.pause(0.5)


def save(app: RoleApp, name: str) -> None:
    (PICTURES / f"{name}.svg").write_text(app.export_screenshot(title="rolellm"), "utf-8")


SPOKEN = (
    ("james-bond", "I never sit with my back to a drawing, Doctor. Who tells you that it is a Dürer?"),
    ("dr-fell", "(whispers to Violet Weston) He looks at the door, not at the lion. Watch his hands."),
    ("violet-weston", "*drains her glass* Oh, I am watching, honey."),
)
"""Speakers and lines of the scene's picture, written for it."""


async def draw_scene() -> None:
    """Let a scene play for a few turns and save what the terminal shows."""
    with tempfile.TemporaryDirectory() as folder, Transcript(Path(folder) / "t.db") as transcript:
        model = ScriptedChatModel(replies=[text for _, text in SPOKEN])
        stage = Stage(Ensemble(load_scene(SCENE), model=model), transcript, seed=SEED)
        for speaker, _ in SPOKEN:
            async for _ in stage.step(speaker=speaker):
                pass

        def open_session(*_: Any, **__: Any) -> Session:
            raise AssertionError("the picture shows no conversation")

        app = RoleApp(open_session, transcript, stage=stage)
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause(1)
            save(app, "scene")


if __name__ == "__main__":
    asyncio.run(draw())
    asyncio.run(draw_scene())
