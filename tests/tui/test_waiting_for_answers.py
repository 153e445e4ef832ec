"""What the app, plain mode and `say` show while an answer is waited for."""

import asyncio
import re
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from helpers.role_app import answering, prompt, role_app, say, screen, status, until
from helpers.user_files import write_persona
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field

from rolellm_agents.config.paths import user_paths
from rolellm_agents.models.prefill import ON_PREFILL, PrefillProgress
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.transcript import Message, Transcript
from rolellm_graphs import Prefilling, Prompted, Session, TokenDelta, Waiting
from rolellm_tui.cli.chat.say import exchange
from rolellm_tui.plain import waiting_lines
from rolellm_tui.plain.answers import Answers
from rolellm_tui.plain.background import BackgroundLoop
from rolellm_tui.plain.waiting_lines import WaitingLines
from rolellm_tui.widgets.common import status_line

READ = Prefilling(computed=812, total=4031)
READ_ON = Prefilling(computed=1068, total=4031)
PROMPTED = Prompted(parts=(), model="any", strategy="system", sampling={})
PATIENCE = 60.0


class ReadingModel(ScriptedChatModel):
    """A model in this process that has read a part of its prompt, and reads the rest when it is told to."""

    may_answer: threading.Event = Field(default_factory=threading.Event)

    def _chunks(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None,
        options: dict[str, Any],
        should_stop: Callable[[], bool],
    ) -> Iterator[ChatGenerationChunk]:
        tell = ON_PREFILL.get()
        assert tell is not None
        tell(PrefillProgress(READ.computed, READ.total))
        assert self.may_answer.wait(PATIENCE)
        yield from super()._chunks(messages, stop, options, should_stop)


class ServedModel(BaseChatModel):
    """A model of another library, which answers when it is told to."""

    may_answer: asyncio.Event = Field(default_factory=asyncio.Event)

    @property
    def _llm_type(self) -> str:
        return "served"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        await self.may_answer.wait()
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Good day."))])


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript(user_paths().transcript) as opened:
        yield opened


@pytest.fixture
def ada() -> Persona:
    write_persona()
    return load_persona("ada")


@pytest.mark.core
async def test_the_status_line_tells_how_much_of_the_prompt_is_read(
    ada: Persona, transcript: Transcript
) -> None:
    model = ReadingModel(replies=["Good day."])
    async with role_app(model, transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).has_focus)
        await say(pilot, "Hello.")
        await until(pilot, lambda: status(pilot) == "reading 812 of 4,031 tokens")
        model.may_answer.set()
        await until(pilot, lambda: not answering(pilot))
        assert status(pilot) == ""


async def test_the_status_line_counts_the_seconds_that_a_server_takes(
    ada: Persona, transcript: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(status_line, "_SHORT", 1)
    model = ServedModel()
    async with role_app(model, transcript, first=ada).run_test() as pilot:
        await until(pilot, lambda: screen(pilot) == "ChatScreen" and prompt(pilot).has_focus)
        await say(pilot, "Hello.")
        await until(pilot, lambda: re.fullmatch(r"waiting for the server \d+ s", status(pilot)))
        model.may_answer.set()
        await until(pilot, lambda: not answering(pilot))
        assert status(pilot) == ""


async def test_a_line_is_printed_seldom(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    lines = WaitingLines(ScriptedChatModel())
    for event in (PROMPTED, READ, READ_ON):
        lines.take(event)
    assert capsys.readouterr().err == "rolellm: reading 812 of 4,031 tokens\n"
    monkeypatch.setattr(waiting_lines, "_EVERY", 0.0)
    lines.take(READ_ON)
    assert capsys.readouterr().err == "rolellm: reading 1,068 of 4,031 tokens\n"


@pytest.mark.parametrize("model", [ScriptedChatModel(), ServedModel()])
async def test_nothing_is_printed_that_nobody_sees_but_refusals(
    model: BaseChatModel, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting_lines, "_EVERY", 0.0)
    lines = WaitingLines(model)
    for event in (PROMPTED, READ, Waiting(seconds=2, reason="It is busy")):
        lines.take(event)
    await asyncio.sleep(0.01)
    assert capsys.readouterr().err == "rolellm: It is busy; trying again in 2 s.\n"


async def test_the_seconds_of_a_server_are_printed_until_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    printed: asyncio.Queue[str] = asyncio.Queue()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(waiting_lines, "complain", printed.put_nowait)
    monkeypatch.setattr(waiting_lines, "_EVERY", 1.1)
    lines = WaitingLines(ServedModel())
    lines.take(PROMPTED)
    async with asyncio.timeout(PATIENCE):
        assert re.fullmatch(r"waiting for the server \d+ s", await printed.get())
    lines.take(TokenDelta(message="1", text="Good"))
    assert lines._next_line is not None
    assert lines._next_line.cancelled()


@pytest.mark.parametrize("is_watched", [True, False])
async def test_say_tells_a_person_how_much_is_read_and_a_pipe_nothing(
    ada: Persona,
    transcript: Transcript,
    is_watched: bool,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_watched)
    model = ReadingModel(replies=["Good day."])
    model.may_answer.set()
    answer = await exchange(Session(ada, transcript, model=model), "Hello.", show=True)
    assert isinstance(answer, Message)
    printed = capsys.readouterr()
    assert printed.out == "Good day.\n"
    assert printed.err == ("rolellm: reading 812 of 4,031 tokens\n" if is_watched else "")


def test_plain_mode_tells_how_much_is_read(
    ada: Persona,
    transcript: Transcript,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    model = ReadingModel(replies=["Good day."])
    model.may_answer.set()
    session = Session(ada, transcript, model=model)
    with BackgroundLoop() as loop:
        Answers(session, loop).print_answer(session.send("Hello."))
    printed = capsys.readouterr()
    assert printed.out == "Ada: Good day.\n"
    assert printed.err == "rolellm: reading 812 of 4,031 tokens\n"
