"""Draw docs/images/chat.svg: a real exchange with the embedded model, in the app; `make screenshot`."""

import asyncio
import tempfile
from pathlib import Path

from rolellm_agents.models.catalog import get_model
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.transcript import Transcript
from rolellm_graphs.session import Session
from rolellm_tui.app import RoleApp

LINE = "What can you tell from my shoes?"
SEED = 12
PICTURE = Path(__file__).parent / "images" / "chat.svg"


async def draw() -> None:
    """Say the line, wait for the answer, and save what the terminal shows."""
    with tempfile.TemporaryDirectory() as folder, Transcript(Path(folder) / "t.db") as transcript:

        def open_session(persona: Persona, conversation: str | None) -> Session:
            return Session(
                persona,
                transcript,
                model=get_model("llamacpp:smollm2"),
                model_name="llamacpp:smollm2",
                conversation=conversation,
                seed=SEED,
            )

        app = RoleApp(open_session, transcript, first=load_persona("sherlock-holmes"))
        async with app.run_test(size=(92, 28)) as pilot:
            await pilot.pause()
            await pilot.press(*LINE, "enter")
            await pilot.app.workers.wait_for_complete()
            await pilot.pause()
            PICTURE.parent.mkdir(exist_ok=True)
            PICTURE.write_text(app.export_screenshot(title="rolellm chat sherlock-holmes"), "utf-8")


if __name__ == "__main__":
    asyncio.run(draw())
