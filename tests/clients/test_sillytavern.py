"""SillyTavern in a browser, with the server behind it."""

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from helpers.api_server import served
from helpers.client_programs import free_port, installed, running
from helpers.commands import rolellm
from helpers.devtools import Page, chromium, picture_of
from langchain_core.language_models import BaseChatModel

from rolellm_agents.models.catalog import get_model
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import load_persona

pytestmark = [pytest.mark.slow, pytest.mark.process, pytest.mark.timeout(600)]

ANSWERS = [f"Answer {number}, as plain as the mud on your boots." for number in range(1, 20)]
_TEXTS = (
    "[...document.querySelectorAll('#chat .mes')].map((one) => one.querySelector('.mes_text').innerText)"
)
_MODELS = "[...document.querySelectorAll('select#model_custom_select option')].map((one) => one.value)"
_NAMES = "[...document.querySelectorAll('#chat .mes')].map((one) => one.getAttribute('ch_name'))"
_WATCH = """(() => {
  window.seen = new Set();
  const chat = document.querySelector("#chat");
  const look = () => window.seen.add(chat.querySelector(".last_mes .mes_text")?.innerText);
  new MutationObserver(look).observe(chat, {childList: true, subtree: true, characterData: true});
})()"""
"""Collects what the last message says, one after the other."""
_IDLE = "!document.querySelector('#mes_stop')?.checkVisibility()"


@asynccontextmanager
async def sillytavern(home: Path, model: BaseChatModel, chosen: str) -> AsyncIterator[Page]:
    """SillyTavern as its user has connected it with our server, with the model `chosen`.

    Args:
        home: for all of its files.
        model: answers behind the server.
        chosen: the name of a model, with or without a strategy.
    """
    program = installed("sillytavern/node_modules/sillytavern/server.js")
    if shutil.which("node") is None:
        pytest.skip("there is no Node.js")
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    options: list[str | Path] = [
        "--configPath",
        home / "config.yaml",
        "--dataRoot",
        home / "data",
        "--port",
        str(port),
    ]
    start = running(
        "node",
        program,
        *options,
        "--browserLaunchEnabled=false",
        url=url,
        folder=program.parent,
        home=home,
    )
    async with served(model) as api, start, chromium(home / "browser") as page:
        await page.open(url)
        await page.write("dialog[open] .popup-input", "Ada")
        await page.click("dialog[open] .popup-button-ok")
        await page.click("#API-status-top")
        await page.choose("#main_api", "openai")
        await page.choose("#chat_completion_source", "custom")
        await page.write("#custom_api_url_text", f"{str(api.base_url).rstrip('/')}/v1")
        listed = [one["id"] for one in (await api.get("/v1/models")).json()["data"]]
        await page.click("#api_button_openai")
        await page.shows(".online_status_text", "Valid")
        await page.until(f"{json.dumps(listed)}.every((name) => {_MODELS}.includes(name))")
        await page.write("#custom_model_id", chosen)
        yield page


async def with_card(page: Page, persona: str, folder: Path) -> None:
    """Import a persona's exported card, and leave its lorebook and tags out."""
    card = folder / f"{persona}.png"
    assert rolellm("persona", "export", persona, "--out", str(card)).returncode == 0
    await page.upload("#character_import_file", card)
    await page.click("dialog[open] .popup-controls .menu_button", "Import None")


async def chat_with(page: Page, selector: str, name: str = "") -> None:
    """Open a character's or a group's chat."""
    await page.click("#rightNavDrawerIcon")
    await page.click(selector, name)
    await page.until(f"{_TEXTS}.length > 0")


async def say(page: Page, text: str) -> None:
    """Send a message."""
    await page.write("#send_textarea", text)
    await page.click("#send_but")


async def said(page: Page, *texts: str) -> None:
    """Wait until the last messages are these, and SillyTavern waits for the user."""
    last = f"JSON.stringify({_TEXTS}.slice(-{len(texts)})) === JSON.stringify({json.dumps(texts)})"
    await page.until(f"{last} && {_IDLE}")


async def choose(page: Page, option: str) -> None:
    """Choose an entry of the menu beside the field for messages."""
    await page.click("#options_button")
    await page.click(f"#option_{option}")


async def test_it_connects_lists_all_models_and_sends_its_test_message(tmp_path: Path) -> None:
    model = ScriptedChatModel(replies=ANSWERS)
    async with sillytavern(tmp_path, model, "plain") as page:
        await page.click("#test_api_button")
        await page.shows(".toast-success", "API connection successful!")
        assert [message.text for message in model.calls[0]] == ["Hi"]


async def test_a_refusal_is_shown_with_its_reason(tmp_path: Path) -> None:
    async with sillytavern(tmp_path, ScriptedChatModel(replies=ANSWERS), "sherlock-homes") as page:
        await say(page, "Who are you?")
        await page.shows(".toast-error", "did you mean sherlock-holmes")


async def test_a_persona_chats_streams_swipes_and_goes_on(tmp_path: Path) -> None:
    model = ScriptedChatModel(replies=ANSWERS, seconds_per_word=0.05)
    holmes = load_persona("sherlock-holmes")
    async with sillytavern(tmp_path, model, holmes.id) as page:
        await with_card(page, holmes.id, tmp_path)
        await chat_with(page, ".character_select", holmes.name)
        await page.click("dialog[open] .popup-button-cancel")  # the card's lorebook, which the server has
        await page.click("#rightNavDrawerIcon")
        (greeting,) = await page.value(_TEXTS)
        assert greeting == holmes.greeting
        await page.value(_WATCH)
        await say(page, "Who are you?")
        await said(page, greeting, "Who are you?", ANSWERS[0])
        assert len(await page.value("[...window.seen]")) > 3, "it was not streamed"

        await page.click(".last_mes .swipe_right")
        await said(page, "Who are you?", ANSWERS[1])
        await page.click(".last_mes .swipe_left")
        await said(page, "Who are you?", ANSWERS[0])

        await choose(page, "continue")
        await said(page, "Who are you?", f"{ANSWERS[0]} {ANSWERS[2]}")

        await choose(page, "impersonate")
        await page.until(f"document.querySelector('#send_textarea').value === {json.dumps(ANSWERS[3])}")

    first, swiped, _, impersonated = model.calls
    assert first == swiped
    assert first[-1].text == "Who are you?"
    # The card is the persona's own, so its words are not in the prompt a second time.
    assert sum(message.text.count(holmes.description[:80]) for message in first) == 1
    demonstrated = str(holmes.demonstrations[0].reply)[:80]
    assert sum(message.text.count(demonstrated) for message in first) <= 1
    # The user's own message is written with exchanged roles.
    assert [(one.type, one.text) for one in impersonated[-3:]] == [
        ("human", greeting),
        ("ai", "Who are you?"),
        ("human", f"{ANSWERS[0]} {ANSWERS[2]}"),
    ]
    assert "point of view of Ada" in impersonated[0].text


async def test_a_model_in_this_process_continues_its_answer(tmp_path: Path) -> None:
    model = get_model("llamacpp:rolesmol", seed=1, max_tokens=40, temperature=0)
    async with sillytavern(tmp_path, model, "sherlock-holmes@system") as page:
        await with_card(page, "sherlock-holmes", tmp_path)
        await chat_with(page, ".character_select", "Sherlock Holmes")
        await page.click("dialog[open] .popup-button-cancel")
        await page.click("#rightNavDrawerIcon")
        await say(page, "Who are you?")
        await page.until(f"{_TEXTS}.length === 3 && {_TEXTS}[2].length > 5 && {_IDLE}")
        begun = (await page.value(_TEXTS))[-1]
        await choose(page, "continue")
        await page.until(f"{_TEXTS}[2].length > {len(begun) + 5} && {_IDLE}")
        assert (await page.value(_TEXTS))[-1].startswith(begun)
        await page.until("!document.querySelector('.toast')")
        await picture_of(page, "sillytavern")


@pytest.mark.parametrize("chosen", ["as-card", "sherlock-holmes@system"])
async def test_the_members_of_a_group_speak_as_themselves(tmp_path: Path, chosen: str) -> None:
    model = ScriptedChatModel(replies=ANSWERS)
    async with sillytavern(tmp_path, model, chosen) as page:
        for persona in ("sherlock-holmes", "jack-sparrow"):
            await with_card(page, persona, tmp_path)
        await page.click("#rightNavDrawerIcon")
        await page.click("#rm_button_group_chats")
        for name in ("Sherlock Holmes", "Jack Sparrow"):
            member = f"#rm_group_add_members .group_member:has([title*='{name}'])"
            await page.click(f"{member} [data-action=add]")
        await page.click("#rm_group_submit")
        await page.click(".group_select")
        await page.until(f"{_TEXTS}.length === 2")
        greetings = await page.value(_TEXTS)
        await page.click("#rightNavDrawerIcon")
        await say(page, "Sherlock Holmes and Jack Sparrow, who of you took the spoons?")
        await page.until(f"{_TEXTS}.length === 5 && {_IDLE}")
        names, texts = await page.value(_NAMES), await page.value(_TEXTS)

    assert texts[3:] == ANSWERS[:2]
    assert {*names[3:]} == {"Sherlock Holmes", "Jack Sparrow"}
    greeting_of = dict(zip(names[:2], greetings, strict=True))
    for speaker, other, prompt in zip(names[3:], reversed(names[3:]), model.calls, strict=True):
        assert load_persona(speaker).description[:60] in prompt[0].text
        assert load_persona(other).description[:60] not in prompt[0].text
        own = [message.text for message in prompt if message.type == "ai"]
        assert greeting_of[speaker] in own
        heard = "\n".join(message.text for message in prompt if message.type == "human")
        assert f"{other}: {greeting_of[other]}" in heard
    assert f"{names[3]}: {ANSWERS[0]}" in model.calls[1][-1].text
