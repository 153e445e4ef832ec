"""The summary of earlier messages: a line in the app that opens, and a command of plain mode."""

from collections.abc import Iterator
from typing import Any

import pytest
from helpers.here import rolellm_here
from helpers.long_conversation import long_record
from helpers.role_app import answering, role_app, say, screen, status, until
from helpers.user_files import write_persona
from langchain_core.messages import BaseMessage
from textual.pilot import Pilot
from textual.widgets import TextArea

from rolellm_agents.config.paths import user_paths
from rolellm_agents.errors import ModelError
from rolellm_agents.models.testing import FunctionModel
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.transcript import Transcript
from rolellm_tui.widgets.chat.summary_line import SummaryLine


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


@pytest.fixture
def ada() -> Persona:
    write_persona()
    return load_persona("ada")


def summarizing(messages: list[BaseMessage]) -> str:
    return "You kept the light." if len(messages) == 1 else "No boat tonight."


def failing(messages: list[BaseMessage]) -> str:
    if len(messages) == 1:
        raise ModelError("The lamp is out.")
    return "No boat tonight."


def is_chat(call: list[BaseMessage]) -> bool:
    return len(call) > 1


def line(pilot: Pilot[Any]) -> SummaryLine:
    return pilot.app.screen.query_one(SummaryLine)


async def talk(pilot: Pilot[Any], text: str) -> None:
    await until(pilot, lambda: screen(pilot) == "ChatScreen" and not answering(pilot))
    await say(pilot, text)
    await until(pilot, lambda: not answering(pilot))


async def test_the_line_opens_the_summary_which_can_be_edited(ada: Persona, transcript: Transcript) -> None:
    conversation = transcript.add_record(long_record(200))
    model = FunctionModel(function=summarizing, n_ctx=8_192)
    async with role_app(model, transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen")
        assert not line(pilot).display
        await talk(pilot, "When does the boat leave?")
        await until(pilot, lambda: line(pilot).display)
        assert str(line(pilot).render()).endswith(" earlier messages as a summary")
        line(pilot).focus()
        await pilot.press("enter")
        await until(pilot, lambda: screen(pilot) == "AskScreen")
        area = pilot.app.screen.query_one(TextArea)
        assert area.text == "You kept the light."
        area.text = "You lost the ring."
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "You lost the ring." in transcript.summaries(conversation).values())
        await talk(pilot, "And the next?")
        await until(pilot, lambda: "You lost the ring." in [*filter(is_chat, model.calls)][-1][0].text)


async def test_a_failure_is_told_and_the_chat_goes_on(ada: Persona, transcript: Transcript) -> None:
    transcript.add_record(long_record(200))
    model = FunctionModel(function=failing, n_ctx=8_192)
    async with role_app(model, transcript, first=ada).run_test() as pilot:
        await talk(pilot, "When does the boat leave?")
        await until(pilot, lambda: "The lamp is out" in status(pilot))
        assert not line(pilot).display
        await talk(pilot, "And the next?")
        conversation = transcript.conversations()[0].id
        await until(pilot, lambda: len(transcript.path(conversation)) == 204)


def test_plain_mode_prints_the_summary(ada: Persona, transcript: Transcript) -> None:
    def printed(command: str = "/summary") -> list[str]:
        done = rolellm_here("chat", "ada", "--plain", "--model", "scripted:One.", stdin=f"{command}\n")
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.splitlines()

    conversation = transcript.add_record(long_record(6))
    assert "There is no summary; prompts contain the messages themselves." in printed()
    transcript.keep_summary(transcript.path(conversation)[3].id, "You kept the light.")
    assert "4 earlier messages as a summary: You kept the light." in printed()
    assert "4 earlier messages as a summary: You lost the ring." in printed("/summary You lost the ring.")
    assert "There is no summary; prompts contain the messages themselves." in printed("/summary clear")
