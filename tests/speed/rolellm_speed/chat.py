"""Measures how long it takes to open, extend, search and draw conversations of 100 to 10,000 messages."""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import psutil
from textual.containers import VerticalScroll
from textual.pilot import Pilot

from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona, list_personas, load_persona
from rolellm_agents.recall import demonstrations_of, knowledge_of
from rolellm_agents.transcript import ConversationRecord, Message, Transcript
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.session import Session
from rolellm_tui.app import RoleApp
from rolellm_tui.widgets.chat.bubble import Bubble
from rolellm_tui.widgets.chat.conversation_view import ConversationView

_PERSONA = "sherlock-holmes"
_AUDIENCE = (USER, _PERSONA)
_LINE_WORDS, _ANSWER_WORDS = 15, 90
_ROUNDS = 20
_SIZE = (120, 40)
_BEGUN = "2026-01-01T00:00:00.000Z"

Progress = Callable[[str], None]


def measure_conversations(lengths: Sequence[int], progress: Progress) -> list[dict[str, Any]]:
    """Measure the waiting times of a user in conversations of these lengths.

    Returns:
        For each length `messages`; `open_ms`, reading the messages from a closed file; `screen_ms`, drawing
        the first frame; `append_ms`; `search_ms`; `stream_ms`, drawing a new word of an answer;
        `scroll_ms`, scrolling up by a page; `jump_ms`, going to the start or the end; `hit_ms`, opening a
        message in the middle; `mounted`, the number of messages mounted then; `memory_mib`, the memory of
        the open conversation; `size`, the file's bytes for each byte of text.
    """
    rows = []
    for length in lengths:
        progress(f"{length:,} messages …")
        with tempfile.TemporaryDirectory(prefix="rolellm-bench-") as folder:
            file = Path(folder) / "transcript.db"
            text = _write(file, length)
            rows.append({"messages": length, **_measure_store(file, text), **_measure_screen(file)})
    return rows


def measure_list(conversations: int, progress: Progress) -> float:
    """Median milliseconds for listing this number of conversations of ten messages."""
    progress(f"{conversations:,} conversations …")
    with tempfile.TemporaryDirectory(prefix="rolellm-bench-") as folder:
        file = Path(folder) / "transcript.db"
        with Transcript(file) as transcript:
            for number in range(conversations):
                transcript.add_record(_record(10, Random(number)))
            return round(_median_ms(transcript.conversations), 2)


def _write(file: Path, length: int) -> int:
    """Write a conversation of `length` messages; returns the number of bytes of its text."""
    record = _record(length, Random(length))
    with Transcript(file) as transcript:
        transcript.add_record(record)
    return sum(len(message.text.encode()) for message in record.messages)


def _record(length: int, chance: Random) -> ConversationRecord:
    words = _words()
    messages: list[Message] = []
    for number in range(length):
        mine = number % 2 == 0
        count = chance.randint(1, 2 * (_LINE_WORDS if mine else _ANSWER_WORDS))
        made_by = {"model": "llamacpp:smollm2", "strategy": "system", "seed": chance.randrange(2**31)}
        messages.append(
            Message(
                id=f"{number:016x}",
                conversation="",
                parent=messages[-1].id if messages else None,
                speaker=USER if mine else _PERSONA,
                audience=_AUDIENCE,
                kind="say",
                text=" ".join(chance.choices(words, k=count)),
                status="complete",
                made_by={} if mine else made_by,
                created=_BEGUN,
            )
        )
    return ConversationRecord(
        persona=_PERSONA,
        created=_BEGUN,
        messages=tuple(messages),
        branches={"main": messages[-1].id},
        branch="main",
    )


def _words() -> list[str]:
    """The words of the cast's lines, with repetitions."""
    cast = [found.persona for found in list_personas().found if found.persona.language == "en"][:20]
    return [
        word
        for persona in cast
        for passage in (*demonstrations_of(persona), *knowledge_of(persona))
        for word in passage.text.split()
    ]


def _measure_store(file: Path, text: int) -> dict[str, Any]:
    opened = _median_ms(lambda: _open(file))
    with Transcript(file) as transcript:
        conversation = transcript.conversations()[0].id
        head = transcript.path(conversation)[-1].id
        size = round(sum(part.stat().st_size for part in file.parent.iterdir()) / text, 2)
        searched = _median_ms(lambda: transcript.search("house"))
        appended = _median_ms(
            lambda: transcript.append(
                conversation, head, speaker=USER, audience=_AUDIENCE, text="A line of ten words or so."
            )
        )
    return {
        "open_ms": round(opened, 1),
        "append_ms": round(appended, 2),
        "search_ms": round(searched, 2),
        "size": size,
    }


def _open(file: Path) -> None:
    with Transcript(file) as transcript:
        conversation = transcript.conversations()[0].id
        transcript.path(conversation, transcript.latest_branch(conversation))


def _measure_screen(file: Path) -> dict[str, Any]:
    return asyncio.run(_on_screen(file))


async def _on_screen(file: Path) -> dict[str, Any]:
    before = psutil.Process().memory_info().rss
    with _app_over(file) as app:
        began = time.perf_counter()
        async with app.run_test(size=_SIZE) as pilot:
            while not (app.screen.query(Bubble) and app.screen.query(Bubble).last().region.height):
                await pilot.pause()
            shown = time.perf_counter() - began
            memory = (psutil.Process().memory_info().rss - before) / 2**20
            streamed = await _median_frame_ms(pilot, _one_more_word(app.screen.query(Bubble).last()))
            conversation = app.screen.query_one("#conversation", VerticalScroll)
            scrolled = await _median_frame_ms(pilot, lambda: conversation.scroll_page_up(animate=False))
            jumped = [await _jump_ms(pilot, step) for step in (-1, 1) * 3]
            hit, mounted = await _hit_ms(pilot)
    return {
        "screen_ms": round(shown * 1_000, 1),
        "stream_ms": round(streamed, 1),
        "scroll_ms": round(scrolled, 1),
        "jump_ms": round(median(jumped), 1),
        "hit_ms": round(hit, 1),
        "mounted": mounted,
        "memory_mib": round(memory, 1),
    }


async def _jump_ms(pilot: Pilot[Any], step: int) -> float:
    began = time.perf_counter()
    await pilot.app.screen.query_one(ConversationView).action_jump(step)
    await pilot.pause()
    return (time.perf_counter() - began) * 1_000


async def _hit_ms(pilot: Pilot[Any]) -> tuple[float, int]:
    """Milliseconds until a message in the middle is selected, and the number of mounted messages."""
    app = pilot.app
    assert isinstance(app, RoleApp)
    conversation = app.transcript.conversations()[0].id
    path = app.transcript.path(conversation)
    wanted = path[len(path) // 2].id
    began = time.perf_counter()
    app.go_on_with(conversation, wanted)
    while not (
        isinstance(app.focused, Bubble) and app.focused.message and app.focused.message.id == wanted
    ):
        await pilot.pause()
    return (time.perf_counter() - began) * 1_000, len(app.screen.query(Bubble))


@contextmanager
def _app_over(file: Path) -> Iterator[RoleApp]:
    with Transcript(file) as transcript:

        def open_session(
            persona: Persona,
            conversation: str | None,
            /,
            *,
            strategy: str | None = None,
            model: str | None = None,
        ) -> Session:
            return Session(persona, transcript, model=ScriptedChatModel(), conversation=conversation)

        yield RoleApp(open_session, transcript, first=load_persona(_PERSONA))


def _one_more_word(bubble: Bubble) -> Callable[[], None]:
    return lambda: bubble.say(f"{bubble.text} “elementary”, *he says*")


async def _median_frame_ms(pilot: Pilot[Any], act: Callable[[], object]) -> float:
    times = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        act()
        await pilot.pause()
        times.append(time.perf_counter() - began)
    return median(times) * 1_000


def _median_ms(act: Callable[[], object]) -> float:
    times = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        act()
        times.append(time.perf_counter() - began)
    return median(times) * 1_000
