"""Open WebUI in a browser, with the server behind it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from helpers.api_server import served
from helpers.client_programs import free_port, installed, running
from helpers.devtools import Page, chromium, picture_of
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from rolellm_agents import FunctionModel
from rolellm_agents.models.scripted import Reply

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.timeout(600)]

ANSWER = "My name is Sherlock Holmes. It is my business to know what other people do not know."
TASKS: dict[str, object] = {
    "title": "A Consulting Detective",
    "tags": ["Literature", "Crime"],
    "follow_ups": ["Who is Watson?"],
    "queries": ["silver spoons"],
}
EACH_CHAT = {"title", "tags", "follow_ups"}
ENVIRONMENT = {
    "ANONYMIZED_TELEMETRY": "false",
    "DO_NOT_TRACK": "true",
    "ENABLE_OLLAMA_API": "false",
    "ENABLE_VERSION_UPDATE_CHECK": "false",
    "HF_HUB_OFFLINE": "1",
    "OFFLINE_MODE": "true",
    "OPENAI_API_KEY": "none",
    "RAG_EMBEDDING_ENGINE": "openai",
    "RAG_EMBEDDING_MODEL": "lexical",
    "RAG_OPENAI_API_KEY": "none",
    "SCARF_NO_ANALYTICS": "true",
    "WEBUI_SECRET_KEY": "for this test",
}


def task_of(messages: list[BaseMessage]) -> str | None:
    """The task of Open WebUI that a prompt is, by the field that it asks for."""
    text = messages[-1].text
    found = [name for name in TASKS if f'"{name}"' in text] if text.startswith("### Task:") else []
    return found[0] if found else None


def answer(messages: list[BaseMessage]) -> Reply:
    task = task_of(messages)
    return ANSWER if task is None else json.dumps({task: TASKS[task]})


@asynccontextmanager
async def open_webui(home: Path, model: BaseChatModel) -> AsyncIterator[Page]:
    """Open WebUI with a new user who has chosen Sherlock Holmes.

    Args:
        home: for all of its files.
        model: answers behind the server.
    """
    program = installed("open-webui/bin/open-webui")
    url = f"http://127.0.0.1:{(port := free_port())}"
    command = (program, "serve", "--host", "127.0.0.1", "--port", str(port))
    async with served(model) as api:
        address = f"{str(api.base_url).rstrip('/')}/v1"
        environment = {
            **ENVIRONMENT,
            "DATA_DIR": str(home / "data"),
            "OPENAI_API_BASE_URL": address,
            "RAG_OPENAI_API_BASE_URL": address,
        }
        start = running(*command, url=f"{url}/health", folder=home, home=home, environment=environment)
        async with start, chromium(home / "browser") as page:
            await page.open(url)
            await page.click("button[aria-label='Get started']")
            await page.write("#name", "Ada")
            await page.write("#email", "ada@example.org")
            await page.write("#password", "correct horse")
            await page.click("button[type=submit]")
            await page.click("button", "Okay, Let's Go!")
            await page.click("button[aria-label^='Selected model']")
            await page.write("#model-search-input", "Sherlock")
            await page.click("[role=option]", "Sherlock Holmes")
            yield page


async def say(page: Page, text: str) -> None:
    """Send a message."""
    await page.write("#chat-input", text)
    await page.press("Enter")


@pytest.mark.parametrize("takes_tools", [True, False], ids=["tools", "no tools"])
async def test_a_persona_chats_and_its_tasks_go_to_the_plain_model(
    tmp_path: Path, takes_tools: bool
) -> None:
    model = FunctionModel(function=answer, takes_tools=takes_tools)
    async with open_webui(tmp_path, model) as page:
        await say(page, "Who are you?")
        await page.shows(".chat-assistant", ANSWER)
        await page.shows("button", "Who is Watson?")
        await page.until("document.title.startsWith('A Consulting Detective')")
        await page.until("!document.querySelector('[data-sonner-toast]')")
        await picture_of(page, "open-webui")

        (chat,) = [prompt for prompt in model.calls if task_of(prompt) is None]
        assert "You are Sherlock Holmes" in chat[0].text
        assert chat[-1].text == "Who are you?"
        tools = model.options[model.calls.index(chat)].get("tools", [])
        assert (len(tools) > 5) is takes_tools
        for _ in range(600):
            if {task_of(prompt) for prompt in model.calls} >= EACH_CHAT:
                break
            await asyncio.sleep(0.1)
        tasks = [prompt for prompt in model.calls if task_of(prompt) is not None]
        assert {task_of(prompt) for prompt in tasks} >= EACH_CHAT
        assert all([message.type for message in prompt] == ["human"] for prompt in tasks)

        await page.click("button", "Who is Watson?")
        await page.until("document.querySelectorAll('.chat-assistant').length === 2")


async def test_a_persona_reads_a_document_that_our_embeddings_have_found(tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("The silver spoons are in the blue box under the stairs.", encoding="utf-8")
    model = FunctionModel(function=answer)
    async with open_webui(tmp_path, model) as page:
        await page.upload("input[type=file][multiple]", notes)
        await page.shows("button", "notes.txt")
        await say(page, "Where are the spoons?")
        await page.shows(".chat-assistant", ANSWER)
        (chat,) = [prompt for prompt in model.calls if task_of(prompt) is None]
    assert "You are Sherlock Holmes" in chat[0].text
    assert "in the blue box under the stairs" in chat[-1].text
