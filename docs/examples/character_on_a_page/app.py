"""A web page on which a character answers word by word; `page.html` beside it is the page.

    pip install 'rolellm-agents[serve]'
    uvicorn --app-dir docs/examples/character_on_a_page app:app

Then open http://127.0.0.1:8000. The page keeps the conversation and sends all of it with each line; the
server keeps nothing. `ROLELLM_MODEL` selects another model than the bundled one.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

from fastapi import FastAPI
from fastapi.responses import FileResponse, StreamingResponse
from pydantic import BaseModel, Field

from rolellm_agents.config.settings import load_settings
from rolellm_graphs import RoleChatModel

PAGE = Path(__file__).with_name("page.html")

app = FastAPI(docs_url=None, redoc_url=None)
character = RoleChatModel("sherlock-holmes", model=load_settings().model)


class Said(BaseModel):
    """One line of the conversation."""

    role: Literal["human", "ai"]
    content: str = Field(max_length=10_000)


@app.get("/")
def page() -> FileResponse:
    """The page."""
    return FileResponse(PAGE)


@app.post("/answer")
async def answer(said: list[Said]) -> StreamingResponse:
    """The character's answer to the last line, as plain text that grows."""

    async def words() -> AsyncIterator[str]:
        async for chunk in character.astream([(one.role, one.content) for one in said]):
            yield chunk.text

    return StreamingResponse(words(), media_type="text/plain; charset=utf-8")
