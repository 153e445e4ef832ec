"""Open WebUI in a browser, with the server behind it."""

import json
from pathlib import Path

import pytest
from helpers.api_server import served
from helpers.client_programs import free_port, installed, running
from helpers.devtools import chromium, picture_of
from langchain_core.messages import BaseMessage

from rolellm_agents import FunctionModel
from rolellm_agents.models.scripted import Reply

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.timeout(600)]

ANSWER = "My name is Sherlock Holmes. It is my business to know what other people do not know."
TASKS: dict[str, object] = {
    "title": "A Consulting Detective",
    "tags": ["Literature", "Crime"],
    "follow_ups": ["Who is Watson?"],
}
ENVIRONMENT = {
    "ANONYMIZED_TELEMETRY": "false",
    "DO_NOT_TRACK": "true",
    "ENABLE_OLLAMA_API": "false",
    "ENABLE_VERSION_UPDATE_CHECK": "false",
    "HF_HUB_OFFLINE": "1",
    "OFFLINE_MODE": "true",
    "OPENAI_API_KEY": "none",
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


async def test_a_new_user_chats_with_a_persona_and_its_tasks_go_to_the_plain_model(tmp_path: Path) -> None:
    program = installed("open-webui/bin/open-webui")
    model = FunctionModel(function=answer, takes_tools=True)
    url = f"http://127.0.0.1:{(port := free_port())}"
    async with served(model) as api:
        address = f"{str(api.base_url).rstrip('/')}/v1"
        environment = {**ENVIRONMENT, "DATA_DIR": str(tmp_path / "data"), "OPENAI_API_BASE_URL": address}
        command = (program, "serve", "--host", "127.0.0.1", "--port", str(port))
        start = running(
            *command, url=f"{url}/health", folder=tmp_path, home=tmp_path / "home", environment=environment
        )
        async with start, chromium(tmp_path / "browser") as page:
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
            await page.write("#chat-input", "Who are you?")
            await page.press("Enter")
            await page.shows(".chat-assistant", ANSWER)
            await page.shows("button", "Who is Watson?")
            await page.until("document.title.startsWith('A Consulting Detective')")
            await page.until("!document.querySelector('[data-sonner-toast]')")
            await picture_of(page, "open-webui")

            chats = [prompt for prompt in model.calls if task_of(prompt) is None]
            assert len(chats) == 1
            assert "You are Sherlock Holmes" in chats[0][0].text
            assert chats[0][-1].text == "Who are you?"
            assert len(model.options[model.calls.index(chats[0])]["tools"]) > 5
            tasks = [prompt for prompt in model.calls if task_of(prompt) is not None]
            assert {"title", "follow_ups"} <= {task_of(prompt) for prompt in tasks}
            assert all([message.type for message in prompt] == ["human"] for prompt in tasks)

            await page.click("button", "Who is Watson?")
            await page.until("document.querySelectorAll('.chat-assistant').length === 2")
