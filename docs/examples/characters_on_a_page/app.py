"""A web page on which several characters answer word by word; `page.html` beside it is the page.

    pip install 'rolellm-agents[serve]'
    uvicorn --app-dir docs/examples/characters_on_a_page app:app

Then open http://127.0.0.1:8000. You choose who answers, and each character has heard what the others have
said. The page keeps the conversation and sends all of it with each line; the server keeps nothing.
`ROLELLM_MODEL` selects another model than the bundled one.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Literal, get_args

from fastapi import FastAPI
from fastapi.responses import FileResponse, StreamingResponse
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel, ConfigDict, Field

from rolellm_agents import get_model, load_persona
from rolellm_agents.config.settings import load_settings
from rolellm_graphs import RoleChatModel

PAGE = Path(__file__).with_name("page.html")
Character = Literal["sherlock-holmes", "jack-sparrow", "shrek"]

app = FastAPI(docs_url=None, redoc_url=None)
model = get_model(load_settings().model)
personas = {name: load_persona(name) for name in get_args(Character)}
characters = {name: RoleChatModel(persona, model=model) for name, persona in personas.items()}


class Said(BaseModel):
    """One line of the conversation, said by a character or by the user."""

    model_config = ConfigDict(extra="forbid")

    content: str = Field(max_length=10_000)
    name: Character | None = None

    def as_message(self) -> HumanMessage | AIMessage:
        """The line as LangChain's message."""
        if self.name is None:
            return HumanMessage(self.content)
        return AIMessage(self.content, name=personas[self.name].name)


@app.get("/")
def page() -> FileResponse:
    """The page."""
    return FileResponse(PAGE)


@app.post("/answer/{character}")
async def answer(
    character: Character, said: Annotated[list[Said], Field(min_length=1)]
) -> StreamingResponse:
    """A character's answer to the last line, as plain text that grows."""
    messages = [one.as_message() for one in said]

    async def words() -> AsyncIterator[str]:
        async for chunk in characters[character].astream(messages):
            yield chunk.text

    return StreamingResponse(words(), media_type="text/plain; charset=utf-8")
