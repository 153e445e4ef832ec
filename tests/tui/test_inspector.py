"""The inspector, driven by its keys: the very prompt, what was recalled, the numbers, and a line to try."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import pytest
from helpers.cards import book, entry, v2
from helpers.hypotheses import examples
from helpers.reading_model import ReadingModel
from helpers.role_app import keys_offered, shown, until
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, messages_to_dict
from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input, Static, TabbedContent

from rolellm_agents.cards import Card
from rolellm_agents.errors import StorageError
from rolellm_agents.models.fitting import fit_messages
from rolellm_agents.models.message_marks import DEMONSTRATION_MARK
from rolellm_agents.models.scripted import ScriptedChatModel
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import persona_of
from rolellm_agents.transcript import Message, Transcript
from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.session import Session
from rolellm_graphs.chat.voice import Voice
from rolellm_graphs.events import Prompted, Recalled
from rolellm_graphs.role.prompt_parts import PromptPart, parts_of
from rolellm_tui.screens.inspector import InspectorScreen
from rolellm_tui.widgets.common.search_bar import SearchBar
from rolellm_tui.widgets.inspector.numbers_view import NumbersView, figures_of, tables_of
from rolellm_tui.widgets.inspector.prompt_tokens import counted, left_out
from rolellm_tui.widgets.inspector.prompt_view import PromptView
from rolellm_tui.widgets.inspector.provenance import AnswerProvenance
from rolellm_tui.widgets.inspector.recalled_view import RecalledView, recorded_items
from rolellm_tui.widgets.inspector.rows import rows_of, visible
from rolellm_tui.widgets.inspector.silent_lore import SilentLore, conversation_in, silent_lore
from rolellm_tui.widgets.inspector.token_chart import TokenChart

LAMP = entry(comment="Lamp")
LORE = (
    LAMP,
    entry(comment="Rock", keys=["rock"], content="The rock has no harbour."),
    entry(comment="Gulls", keys=["gull"], enabled=False),
    entry(comment="Fog", keys=["lit"], secondary_keys=["horn"], selective=True),
    entry(comment="Storm", keys=["storm"]),
    entry(comment="Wreck", keys=["wreck"]),
)
ROOM = "\n".join(f"Step {number} of the stair is worn." for number in range(1, 30))
WIDE = (1000, 200)
"""A terminal in which no row has to be broken."""


def ada(*lore: dict[str, Any], **fields: Any) -> Persona:
    """The keeper of a lighthouse."""
    return persona_of(Card(v2(character_book=book(*lore), **fields)), "ada")


@pytest.fixture
def transcript() -> Iterator[Transcript]:
    with Transcript() as opened:
        yield opened


@dataclass
class WrittenLine:
    """An answer, as a chat hears of it."""

    message: Message
    made: AnswerProvenance
    voice: Voice

    def screen(self) -> InspectorScreen:
        return InspectorScreen(self.message, self.made, self.voice)

    def later(self) -> InspectorScreen:
        """What another session, which did not see it being made, can show."""
        return InspectorScreen(self.message, AnswerProvenance(None, ()), self.voice)


async def answer(session: Session, *lines: str) -> WrittenLine:
    """The last answer to what is said."""
    made = AnswerProvenance(None, ())
    for line in lines:
        prompted: Prompted | None = None
        recalled: Recalled | None = None
        async for event in session.send(line):
            prompted = event if isinstance(event, Prompted) else prompted
            recalled = event if isinstance(event, Recalled) else recalled
        made = AnswerProvenance(prompted, recalled.items if recalled else ())
    return WrittenLine(session.messages[-1], made, session.voice)


class Host(App[None]):
    """An app that shows one screen."""

    def __init__(self, shown_first: InspectorScreen) -> None:
        super().__init__()
        self.animation_level = "none"
        self._shown_first = shown_first

    def on_mount(self) -> None:
        self.push_screen(self._shown_first)


def session_of(persona: Persona, transcript: Transcript, *replies: str, **options: Any) -> Session:
    model = options.pop("model", None) or ScriptedChatModel(replies=list(replies or ["It is lit."]))
    return Session(persona, transcript, model=model, model_name="script", **options)


@pytest.fixture
async def lamp(transcript: Transcript) -> WrittenLine:
    """An answer with a demonstration, with lore that was active and lore that was silent."""
    session = session_of(ada(*LORE), transcript, seed=7, strategy="few-shot-dialogue")
    return await answer(session, "Is the lamp lit tonight?")


def prompt_view(pilot: Pilot[Any]) -> PromptView:
    return pilot.app.screen.query_one(PromptView)


def rows(view: PromptView) -> list[str]:
    """The rows that are drawn now."""
    return [view.render_line(row).text.rstrip() for row in range(view.size.height)]


def parts_on_screen(view: PromptView) -> list[tuple[str, str]]:
    """Heading and text of each part, as drawn: each row behind its mark, and a gap between parts."""
    parts: list[list[str]] = [[]]
    for row in rows(view):
        if row[:1] in ("▌", "▎"):
            parts[-1].append(row[2:])
        else:
            parts.append([])
    return [(part[0], "\n".join(part[1:])) for part in parts if part]


def text_of(pilot: Pilot[Any], kind: type[Any] = Static) -> str:
    """All text of the tab that is open, as it is drawn."""
    tab = pilot.app.screen.query_one(TabbedContent).active_pane
    assert tab is not None
    return " ".join(" ".join(shown(widget).split()) for widget in tab.query(kind))


async def to_tab(pilot: Pilot[Any], name: str) -> None:
    """Walk to a tab by its key."""
    tabs = pilot.app.screen.query_one(TabbedContent)
    await until(pilot, lambda: tabs.active)
    while tabs.active != f"{name}-tab":
        before = tabs.active
        await pilot.press("right")
        await until(pilot, lambda: tabs.active != before)  # noqa: B023 - waited for at once
    await pilot.pause()


# The prompt


@pytest.mark.core
async def test_the_prompt_is_shown_byte_for_byte_as_the_model_was_sent_it(transcript: Transcript) -> None:
    model = ScriptedChatModel(replies=["I keep the lamp.", "So it is."])
    persona = ada(LAMP, post_history_instructions="[b]Stay[/b] dry.", description=f"{ROOM}\n\n  Alone.")
    session = session_of(persona, transcript, model=model, strategy="few-shot-dialogue")
    session.set_note("A storm comes up.")
    told = await answer(session, "Who are you?", "The lamp is lit.\n    今晚很冷。")
    sent = model.calls[-1]
    roles = {"system": "system", "human": "user", "ai": "assistant"}
    async with Host(told.screen()).run_test(size=WIDE) as pilot:
        pilot.app.screen.query_one("#why").styles.max_width = "100%"
        await until(pilot, lambda: prompt_view(pilot).size.width > 900)
        await pilot.press("u")
        drawn = parts_on_screen(prompt_view(pilot))
        assert [text for _, text in drawn] == [message.content for message in sent]
        assert [heading.split()[-3] for heading, _ in drawn] == [roles[message.type] for message in sent]

        await pilot.press("c")
        assert json.loads(pilot.app.clipboard) == [
            {"role": roles[message.type], "content": message.content} for message in sent
        ]
    assert {"instruction", "example", "author note", "card prompt", "history", "line"} == {
        heading.split("  ")[0] for heading, _ in drawn
    }


async def test_a_model_that_goes_on_is_shown_with_the_words_it_went_on_from(transcript: Transcript) -> None:
    session = session_of(ada(), transcript, "It is", "lit.")
    told = await answer(session, "The lamp?")
    events = [event async for event in session.continue_answer()]
    (prompted,) = [event for event in events if isinstance(event, Prompted)]
    told = replace(told, message=session.messages[-1], made=AnswerProvenance(prompted, ()))
    async with Host(told.screen()).run_test(size=(120, 60)) as pilot:
        heading, words = parts_on_screen(prompt_view(pilot))[-1]
        assert (heading.split("  ")[0], words) == ("begun answer", "It is")


async def test_a_long_part_is_folded_and_enter_unfolds_it(transcript: Transcript) -> None:
    told = await answer(session_of(ada(description=ROOM), transcript), "Who are you?")
    async with Host(told.screen()).run_test(size=(80, 60)) as pilot:
        _, folded = parts_on_screen(prompt_view(pilot))[0]
        assert folded.splitlines()[-1].endswith("more characters")
        assert len(folded.splitlines()) == 5
        await pilot.press("enter")
        await until(pilot, lambda: "Step 29 of the stair" in "\n".join(rows(prompt_view(pilot))))
        assert "more characters" not in parts_on_screen(prompt_view(pilot))[0][1]
        await pilot.press("enter")
        await until(pilot, lambda: parts_on_screen(prompt_view(pilot))[0][1] == folded)


async def test_the_fold_tells_how_many_characters_it_hides(lamp: WrittenLine) -> None:
    async with Host(lamp.screen()).run_test(size=(80, 60)) as pilot:
        first, *_ = lamp.made.prompted.parts if lamp.made.prompted else ()
        *seen, more = parts_on_screen(prompt_view(pilot))[0][1].splitlines()
        hidden = int(more.split()[1].replace(",", ""))
        assert first.text[: len(first.text) - hidden].split() == " ".join(seen).split()


async def test_the_arrow_keys_walk_through_the_parts_and_through_a_large_part_row_by_row(
    transcript: Transcript,
) -> None:
    told = await answer(session_of(ada(description=ROOM), transcript), "Who are you?")
    count = len(told.made.prompted.parts) if told.made.prompted else 0
    async with Host(told.screen()).run_test(size=(80, 24)) as pilot:
        view = prompt_view(pilot)
        await pilot.press("enter", "down")
        assert (view.current, view.scroll_offset.y) == (0, 1)
        await pilot.press("end")
        assert view.current == count - 1
        assert "Who are you?" in rows(view)[-1] + rows(view)[-2]
        await pilot.press("down")
        assert view.current == count - 1
        await pilot.press("up")
        assert view.current == count - 2
        above = view.scroll_offset.y
        await pilot.press(*["up"] * count)
        assert (view.current, view.scroll_offset.y < above) == (0, True)
        await pilot.press(*["pageup"] * 9)
        await pilot.press("up", "home")
        assert (view.current, view.scroll_offset.y) == (0, 0)


async def test_a_click_chooses_a_part_and_another_unfolds_it(transcript: Transcript) -> None:
    told = await answer(session_of(ada(description=ROOM), transcript), "Who are you?")
    async with Host(told.screen()).run_test(size=(80, 60)) as pilot:
        view = prompt_view(pilot)
        await pilot.press("end")
        await pilot.click(view, offset=(4, 1))
        assert view.current == 0
        assert "more characters" in "".join(rows(view))
        await pilot.click(view, offset=(4, 1))
        assert "more characters" not in "".join(rows(view))


async def test_the_part_at_the_top_stays_there_when_the_terminal_changes(transcript: Transcript) -> None:
    session = session_of(ada(), transcript, "The wick wants trimming, and the oil is low. " * 9)
    told = await answer(session, *(f"Line {number}." for number in range(20)))
    async with Host(told.screen()).run_test(size=(120, 30)) as pilot:
        view = prompt_view(pilot)
        await until(pilot, lambda: view.virtual_size.height)
        heading = next(
            row for row in range(60, 99) if view.render_line(row).text.startswith("▎ history  user")
        )
        view.scroll_to(y=heading, animate=False)
        line = rows(view)[1]
        await pilot.resize_terminal(70, 30)
        await until(pilot, lambda: view.size.width < 70)
        assert rows(view)[1] == line
        assert "Line" in line


# Searching


async def test_words_are_found_in_folded_parts_too_and_the_keys_go_from_hit_to_hit(
    transcript: Transcript,
) -> None:
    told = await answer(session_of(ada(description=ROOM), transcript), "Is STEP 29 worn too?")
    async with Host(told.screen()).run_test(size=(80, 24)) as pilot:
        view, bar = prompt_view(pilot), pilot.app.screen.query_one(SearchBar)
        assert "Step 29" not in "".join(rows(view))
        await pilot.press("slash", *"step 29")
        await until(pilot, lambda: shown(bar.query_one(".count")) == "1 of 2")
        assert view.current == 0
        assert any("Step 29" in row for row in rows(view))
        await pilot.press("enter")
        await until(pilot, lambda: shown(bar.query_one(".count")) == "2 of 2")
        assert told.made.prompted is not None
        assert told.made.prompted.parts[view.current].part == "line"
        await pilot.press("escape")
        await until(pilot, lambda: view.has_focus)
        assert {"Next", "Search", "Copy", "Fold", "Unfold", "Tab", "Back"} <= keys_offered(pilot)
        await pilot.press("n")
        assert view.current == 0
        await pilot.press("N")
        assert view.current != 0


async def test_words_that_are_nowhere_are_not_found(lamp: WrittenLine) -> None:
    async with Host(lamp.screen()).run_test() as pilot:
        bar = pilot.app.screen.query_one(SearchBar)
        await pilot.press("slash", *"c n", "left", "right")
        await until(pilot, lambda: shown(bar.query_one(".count")) == "not found")
        assert pilot.app.screen.query_one(TabbedContent).active == "prompt-tab"
        await pilot.press("backspace", "backspace", "backspace")
        await until(pilot, lambda: shown(bar.query_one(".count")) == "")
        await pilot.press("escape", "n")
        assert "Next" not in keys_offered(pilot)
        assert isinstance(pilot.app.screen, InspectorScreen)


# Tokens


class Counting(ReadingModel):
    """A local model whose tokens are words, with a context of 400."""

    n_ctx: int = 400

    def get_token_ids(self, text: str) -> list[int]:
        return [len(word) for word in text.split()]


async def test_a_local_model_counts_and_what_its_template_adds_is_told(transcript: Transcript) -> None:
    session = session_of(ada(LAMP), transcript, model=Counting(replies=["Yes."]), strategy="system")
    told = await answer(session, "Is the lamp lit?")
    assert told.message.usage is not None
    words = told.message.usage["input_tokens"]  # the scripted model counts words too
    usage = {**told.message.usage, "input_tokens": words + 12}
    told = replace(told, message=replace(told.message, usage=usage))
    async with Host(told.screen()).run_test(size=(100, 40)) as pilot:
        chart = pilot.app.screen.query_one(TokenChart)
        await until(pilot, lambda: "counting" not in shown(chart.query_one(".total")))
        share = f"{100 * (words + 12) / 400:.0f} %"
        assert shown(chart.query_one(".total")) == f"{words + 12} of 400 tokens  ·  {share} of the context"
        legend = text_of(pilot, type(chart.query_one("_Legend")))
        assert legend.endswith("■ line 4 1 % ■ turn marks 12 3 %")
        assert rows(prompt_view(pilot))[0].endswith(f"{words - 4} tokens")
        bar = shown(chart.query_one("_Bar"))
        assert set(bar) == {"▀", "▔"}
        assert abs(bar.count("▀") / len(bar) - (words + 12) / 400) < 0.03


async def test_of_a_model_that_cannot_count_tokens_are_estimated(lamp: WrittenLine) -> None:
    assert lamp.made.prompted is not None
    (*_, line) = lamp.made.prompted.parts
    async with Host(lamp.screen()).run_test(size=(100, 60)) as pilot:
        total = pilot.app.screen.query_one(".total", Static)
        await until(pilot, lambda: shown(total).startswith("about "))
        assert parts_on_screen(prompt_view(pilot))[-1][0].endswith(f"{(len(line.text) + 3) // 4} tokens")


async def test_of_an_answer_of_another_model_tokens_are_estimated(transcript: Transcript) -> None:
    told = await answer(session_of(ada(), transcript, model=Counting(replies=["Yes."])), "Is it lit?")
    told = replace(told, message=replace(told.message, made_by={**told.message.made_by, "model": "x"}))
    async with Host(told.screen()).run_test() as pilot:
        total = pilot.app.screen.query_one(".total", Static)
        await until(pilot, lambda: shown(total).startswith("about "))
        assert " of " not in shown(total)


async def test_messages_that_were_left_out_are_told_apart_and_not_counted(transcript: Transcript) -> None:
    session = session_of(ada(), transcript, model=Counting(replies=["Yes."]), strategy="system")
    told = await answer(session, "One.", "Two.", "Three.")
    made_by = {**told.message.made_by, "dropped_messages": 2}
    told = replace(told, message=replace(told.message, made_by=made_by))
    async with Host(told.screen()).run_test(size=(100, 60)) as pilot:
        await until(pilot, lambda: "tokens" in rows(prompt_view(pilot))[0])
        headings = [
            heading.rpartition("  ")[2].strip() for heading, _ in parts_on_screen(prompt_view(pilot))
        ]
        assert headings[1:] == [*["dropped, context full"] * 2, *["1 token"] * 3]
        legend = text_of(pilot, type(pilot.app.screen.query_one("_Legend")))
        assert "history 2" in legend
        await to_tab(pilot, "numbers")
        assert "2 oldest messages were dropped because the context was full" in text_of(pilot)


TURNS = st.lists(
    st.tuples(st.sampled_from(["system", "user", "ai", "example"]), st.integers(1, 40)), max_size=12
)


@given(TURNS, st.integers(0, 300))
def test_the_messages_that_a_local_model_drops_are_those_that_are_shown_as_left_out(
    turns: list[tuple[str, int]], spare: int
) -> None:
    mark = {DEMONSTRATION_MARK: True}
    made: list[BaseMessage] = [SystemMessage("You are Ada.")]
    for kind, words in turns:
        text = "w " * words
        match kind:
            case "system":
                made.append(SystemMessage(text, additional_kwargs={"lore": True}))
            case "user":
                made.append(HumanMessage(text))
            case "ai":
                made.append(AIMessage(text))
            case "example":
                made += [
                    HumanMessage(text, additional_kwargs=mark),
                    AIMessage(text, additional_kwargs=mark),
                ]
    made.append(HumanMessage("Who are you?"))

    def count(messages: Any) -> int:
        return sum(len(str(message.content).split()) + 1 for message in messages)

    stays = count([message for message in made[:-1] if message.type == "system"]) + count(made[-1:])
    kept, dropped = fit_messages(made, stays + spare, count)
    kept_ids = {id(message) for message in kept}
    gone = {place for place, message in enumerate(made) if id(message) not in kept_ids}
    assert left_out(parts_of(messages_to_dict(made)), dropped) == gone


@given(
    st.lists(st.tuples(st.sampled_from(["instruction", "lore", "history"]), st.text()), max_size=6),
    st.integers(0, 500),
)
def test_counts_by_kind_are_those_of_the_parts(texts: list[tuple[Any, str]], read: int) -> None:
    parts = [PromptPart(kind, "system", text) for kind, text in texts]
    counts = counted(parts, {0}, Counting(), read=read)
    assert counts.by_part == tuple(len(text.split()) for _, text in texts)
    assert counts.total == max(read, sum(counts.by_part[1:]))
    assert all(counts.by_kind.values())


# What was recalled


@pytest.mark.core
async def test_what_was_recalled_is_told_with_its_words_and_what_brought_it_up(lamp: WrittenLine) -> None:
    async with Host(lamp.screen()).run_test(size=(120, 60)) as pilot:
        await to_tab(pilot, "recalled")
        await until(pilot, lambda: "Inactive lore" in text_of(pilot))
        told = text_of(pilot)
        (demonstration,) = [item for item in lamp.made.recalled if item["kind"] == "demonstration"]
        assert "Demonstrations 1" in told
        assert f"{demonstration['score']:.2f} · {demonstration['why']} · demonstration 1" in told
        assert "User Who are you? Ada I keep the lamp." in told
        assert "“Lamp” is active: its key “lamp” was found in message 1. · The rock" in told
        assert "The lamp burns herring oil." in told


async def test_lore_that_stayed_silent_is_told_with_its_reasons_the_nearest_first(
    lamp: WrittenLine,
) -> None:
    async with Host(lamp.screen()).run_test(size=(120, 60)) as pilot:
        await to_tab(pilot, "recalled")
        await until(pilot, lambda: "Inactive lore" in text_of(pilot))
        _, _, after = text_of(pilot).partition("Inactive lore")
        assert after.partition(" Demonstrations")[0] == (
            " 5 “Fog” is not active: its key “lit” was found, but its secondary keys decide against it."
            " “Gulls” is not active: it is switched off."
            " No key matched for “Rock”, “Storm”, “Wreck”."
        )


async def test_of_silent_lore_nothing_is_told_that_may_be_wrong(transcript: Transcript) -> None:
    sticky = entry(comment="Lamp", extensions={"sticky": 5})
    told = await answer(session_of(ada(sticky, *LORE[1:]), transcript), "The lamp!", "And now?")
    assert [item["kind"] for item in told.made.recalled].count("lore") == 1
    async with Host(told.screen()).run_test(size=(120, 60)) as pilot:
        await to_tab(pilot, "recalled")
        await until(pilot, lambda: "is unknown why the other" in text_of(pilot))
        assert "No key matched" not in text_of(pilot)


async def test_of_a_lorebook_without_entries_nothing_is_told(transcript: Transcript) -> None:
    persona = ada().model_copy(update={"lorebook": {"name": "Empty"}})
    told = await answer(session_of(persona, transcript, strategy="system"), "Good evening.")
    assert told.made.prompted is not None
    said = conversation_in(told.made.prompted)
    silent = silent_lore(told.voice.persona, said, (), user="User", state={}, seed=None)
    assert silent == SilentLore((), ())


async def test_of_many_silent_entries_the_rest_is_counted(transcript: Transcript) -> None:
    many = [entry(comment=f"Entry {number}", keys=[f"key{number}"]) for number in range(450)]
    off = [entry(comment=f"Off {number}", keys=["x"], enabled=False) for number in range(230)]
    told = await answer(session_of(ada(*many, *off), transcript), "Good evening.")
    async with Host(told.screen()).run_test(size=(120, 60)) as pilot:
        await to_tab(pilot, "recalled")
        await until(pilot, lambda: "Inactive lore 680" in text_of(pilot))
        assert "… and 30 more" in text_of(pilot)
        assert "“Entry 199” and 250 more." in text_of(pilot)
        assert "“Entry 200”" not in text_of(pilot)


async def test_recalled_passages_are_told_with_their_source(transcript: Transcript) -> None:
    told = await answer(
        session_of(ada(LAMP), transcript, strategy="retrieval"), "What does herring oil do?"
    )
    (passage,) = [item for item in told.made.recalled if item["kind"] == "passage"]
    async with Host(told.screen()).run_test(size=(120, 60)) as pilot:
        await to_tab(pilot, "recalled")
        assert "Recalled lore 1" in text_of(pilot)
        assert f"{passage['score']:.2f} · {passage['why']} · {passage['source']}" in text_of(pilot)
        assert "The lamp burns herring oil." in text_of(pilot)


async def test_when_nothing_was_recalled_that_is_said(transcript: Transcript) -> None:
    told = await answer(session_of(ada(), transcript, strategy="system"), "Good evening.")
    async with Host(told.screen()).run_test() as pilot:
        await to_tab(pilot, "recalled")
        assert "Nothing was recalled" in text_of(pilot)


# Trying a line


async def test_a_line_that_is_typed_shows_what_the_next_prompt_would_bring_up(
    transcript: Transcript,
) -> None:
    sticky = entry(comment="Lamp", extensions={"sticky": 5})
    session = session_of(ada(sticky, *LORE[1:]), transcript, strategy="few-shot-dialogue")
    told = await answer(session, "Is the lamp lit?")
    said = len(session.messages)
    async with Host(told.screen()).run_test(size=(120, 60)) as pilot:
        await to_tab(pilot, "try")
        assert "It is not sent." in text_of(pilot)
        await pilot.press(*"A wreck")
        await until(pilot, lambda: "Inactive lore" in text_of(pilot))
        now = text_of(pilot)
        assert "Active lore 2" in now
        assert "“Lamp” is active: it stays so for some messages." in now
        assert "“Wreck” is active: its key “wreck” was found in message 3." in now
        assert "No key matched for “Rock”, “Storm”." in now
        assert "Demonstrations 1" in now

        await pilot.press("left", "s")
        typed = pilot.app.screen.query_one("#try", Input)
        assert typed.value == "A wrecsk"
        typed.value = ""
        await until(pilot, lambda: "It is not sent." in text_of(pilot))
    assert len(session.messages) == said
    next_told = await answer(session, "A wreck")
    assert [item["name"] for item in next_told.made.recalled if item["kind"] == "lore"] == ["Lamp", "Wreck"]


async def test_what_was_found_scrolls_while_one_types(transcript: Transcript) -> None:
    examples = "\n".join(
        f"<START>\n{{{{user}}}}: Step {n}?\n{{{{char}}}}: Worn.\nAnd cold." for n in range(9)
    )
    told = await answer(session_of(ada(mes_example=examples), transcript), "Who are you?")
    async with Host(told.screen()).run_test(size=(80, 24)) as pilot:
        await to_tab(pilot, "try")
        await pilot.press(*"step")
        await until(pilot, lambda: "Demonstrations 5" in text_of(pilot))
        tried = pilot.app.screen.query_one("#tried RecalledView", RecalledView)
        await pilot.press("down", "down", "up")
        assert tried.scroll_offset.y == 1
        assert pilot.app.screen.query_one("#try", Input).value == "step"


async def test_what_keeps_a_line_from_being_looked_up_is_told(
    lamp: WrittenLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise StorageError("The store is [b]gone[/b].")

    monkeypatch.setattr(lamp.voice.prompting, "look_up", fail)
    async with Host(lamp.screen()).run_test() as pilot:
        await to_tab(pilot, "try")
        await pilot.press("x")
        await until(pilot, lambda: "The store is [b]gone[/b]." in text_of(pilot))


# Numbers


def measured(told: WrittenLine, **usage: Any) -> WrittenLine:
    """The same answer, as a slower model would have given it."""
    message = replace(
        told.message,
        id="0123456789abcdef",
        conversation="01234567",
        created="2026-01-02T03:04:05.678Z",
        text="The lamp is lit, as on every night.",
        made_by={
            **told.message.made_by,
            "prompt": "fedcba9876543210",
            "first_token_s": 0.424,
            "seconds": 1.924,
            "finish_reason": "stop",
        },
        usage={
            "input_tokens": 1200,
            "output_tokens": 11,
            "total_tokens": 1211,
            "input_token_details": {"cache_read": 900},
            **usage,
        },
    )
    return replace(told, message=message)


@pytest.mark.core
async def test_the_numbers_are_told(lamp: WrittenLine) -> None:
    assert lamp.made.prompted is not None
    sampling = {"temperature": 0.7, "top_k": 40, "seed": 7}
    told = measured(
        replace(lamp, made=replace(lamp.made, prompted=replace(lamp.made.prompted, sampling=sampling)))
    )
    async with Host(told.screen()).run_test(size=(120, 60)) as pilot:
        await to_tab(pilot, "numbers")
        numbers = text_of(pilot)
        for expected in (
            "0.42",
            "seconds to first word",
            "model script",
            "strategy few-shot-dialogue",
            "temperature 0.7 top k 40 seed 7",
            "prompt 1,200 tokens",
            "from the cache 900 tokens, 75 % of the prompt",
            "words 8 tokens 11",
            "first word after 0.42 seconds ready after 1.92 seconds pace 4.7 words a second",
            "ended by itself",
            "when 2026-01-02 03:04:05 UTC prompt's hash fedcba9876543210",
        ):
            assert expected in numbers
        assert figures_of(told.message) == [
            ("0.42", "seconds to first word"),
            ("4.7", "words a second"),
            ("75", "% read from the cache"),
        ]


@pytest.mark.parametrize(
    ("status", "reason", "ended"),
    [
        ("complete", "stop", "by itself"),
        ("complete", "length", "reached its token limit"),
        ("stopped", None, "cut off"),
        ("failed", None, "cut off by an error"),
    ],
)
async def test_how_it_ended_is_told(lamp: WrittenLine, status: Any, reason: str | None, ended: str) -> None:
    message = replace(
        lamp.message, status=status, made_by={**lamp.message.made_by, "finish_reason": reason}
    )
    rows_told = dict(row for table in tables_of(message, None, None) for row in table.rows)
    assert rows_told["ended"] == ended


@pytest.mark.parametrize(("used", "said"), [(1, "1 of 2: the machine is busy"), (2, "2")])
async def test_a_busy_machine_is_told_where_the_threads_are(
    lamp: WrittenLine, used: int, said: str
) -> None:
    threads = {"threads": used, "most": 2}
    message = replace(lamp.message, made_by={**lamp.message.made_by, "threads": threads})
    assert dict(row for table in tables_of(message, None, None) for row in table.rows)["threads"] == said


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
KEYS = (
    "model",
    "strategy",
    "seed",
    "seconds",
    "first_token_s",
    "dropped_messages",
    "threads",
    "prompt",
    "finish_reason",
)
TOKENS = ("input_tokens", "output_tokens", "total_tokens", "input_token_details")


@given(
    st.dictionaries(st.sampled_from([*KEYS, "recalled", "lore_fired"]), JSON),
    st.dictionaries(st.sampled_from(TOKENS), JSON),
    st.text(),
)
def test_a_record_that_came_in_a_strangers_file_is_told_as_far_as_it_makes_sense(
    made_by: dict[str, Any], usage: dict[str, Any], created: str
) -> None:
    message = Message(
        id="1",
        conversation="1",
        parent=None,
        speaker="ada",
        audience=("ada",),
        kind="say",
        text="Yes.",
        status="complete",
        made_by=made_by,
        usage=usage,
        created=created,
    )
    assert all(isinstance(value, str) for value, _ in figures_of(message))
    for table in tables_of(message, None, None):
        assert all(value == visible(value) for _, value in table.rows)
    assert all(isinstance(item, dict) for item in recorded_items(made_by))


# What is known without a prompt


async def test_of_an_earlier_session_it_shows_what_the_transcript_keeps(lamp: WrittenLine) -> None:
    async with Host(lamp.later()).run_test(size=(120, 60)) as pilot:
        await to_tab(pilot, "recalled")
        note = shown(pilot.app.screen.query_one("#why-note"))
        assert note == "This answer is from an earlier session; its prompt was not saved."
        assert not pilot.app.screen.query(PromptView)
        assert "User Who are you? Ada I keep the lamp." in text_of(pilot)
        assert "“Lamp” is active: its key “lamp” was found in message 1. · The rock" in text_of(pilot)
        assert "from the present persona file" in text_of(pilot)
        await to_tab(pilot, "numbers")
        assert "model script strategy few-shot-dialogue seed 7" in text_of(pilot)
        assert not {"Search", "Copy"} & keys_offered(pilot)


async def test_a_demonstration_that_is_gone_since_is_told(lamp: WrittenLine) -> None:
    bare = session_of(lamp.voice.persona.model_copy(update={"demonstrations": ()}), Transcript())
    async with Host(replace(lamp, voice=bare.voice).later()).run_test(size=(120, 60)) as pilot:
        await to_tab(pilot, "recalled")
        assert "This is no longer in the persona file." in text_of(pilot)


@pytest.mark.parametrize(
    ("speaker", "made_by", "sentence"),
    [
        ("ada", {"greeting": True}, "This is the persona's greeting, not a model's answer."),
        (
            "ada",
            {"edited": "1"},
            "This text was edited by hand.",
        ),
        (
            "ada",
            {"sillytavern": {"extra": {}}},
            "This message was imported; its model is unknown.",
        ),
        (USER, {}, "You wrote this message."),
    ],
)
async def test_what_no_model_is_known_to_have_written_says_what_it_is(
    lamp: WrittenLine, speaker: str, made_by: dict[str, Any], sentence: str
) -> None:
    told = replace(lamp, message=replace(lamp.message, speaker=speaker, made_by=made_by, usage=None))
    async with Host(told.later()).run_test() as pilot:
        await to_tab(pilot, "numbers")
        assert shown(pilot.app.screen.query_one("#why-note")) == sentence
        assert "Tab" not in keys_offered(pilot)
        assert "model" not in text_of(pilot)


async def test_a_strangers_record_does_not_end_the_app(lamp: WrittenLine) -> None:
    strange = {
        "model": ["x"],
        "recalled": [{"kind": "demonstration", "index": "no", "why": "[red]\x1b[31m"}, "x", {"kind": 5}],
        "lore_fired": {"a": {"name": "[b]Lamp[/b]"}},
    }
    told = replace(lamp, message=replace(lamp.message, made_by=strange))
    async with Host(told.later()).run_test(size=(120, 60)) as pilot:
        await to_tab(pilot, "recalled")
        assert "[red] · demonstration 1" in text_of(pilot)
        assert "“[b]Lamp[/b]” is active." in text_of(pilot)
        await to_tab(pilot, "numbers")


async def test_a_defect_in_counting_is_told_and_does_not_end_the_app(transcript: Transcript) -> None:
    class Broken(Counting):
        def get_token_ids(self, text: str) -> list[int]:
            raise KeyError("[b]x[/b]")

    told = await answer(session_of(ada(), transcript, model=Broken(replies=["Yes."])), "Is it lit?")
    async with Host(told.screen()).run_test(notifications=True) as pilot:
        await until(
            pilot,
            lambda: [note for note in pilot.app._notifications if "KeyError: '[b]x[/b]'" in note.message],
        )
        assert rows(prompt_view(pilot))[0].startswith("▌ instruction")


# Leaving


@pytest.mark.parametrize("key", ["escape", "ctrl+o"])
async def test_a_key_leaves(lamp: WrittenLine, key: str) -> None:
    async with Host(lamp.screen()).run_test() as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, InspectorScreen))
        await pilot.press(key)
        await until(pilot, lambda: not isinstance(pilot.app.screen, InspectorScreen))


async def test_the_arrow_keys_stay_within_the_tabs_and_the_keys_go_to_what_is_shown(
    lamp: WrittenLine,
) -> None:
    async with Host(lamp.screen()).run_test() as pilot:
        await to_tab(pilot, "prompt")
        await pilot.press("left")
        assert prompt_view(pilot).has_focus
        for name, view in (("recalled", RecalledView), ("numbers", NumbersView)):
            await to_tab(pilot, name)
            await until(pilot, pilot.app.screen.query_one(view).has_focus.__bool__)
        await to_tab(pilot, "try")
        await pilot.press("right", "left")
        assert pilot.app.screen.query_one(TabbedContent).active == "numbers-tab"


# Rows

TEXTS = st.text(
    st.sampled_from("ab \n\t\x1b今晚。\u3000é\u0301👩\u200d🚀\u200b\ud800\u202e-") | st.characters(),
    max_size=80,
)


@examples(1.5)
@given(TEXTS, st.integers(1, 30))
def test_rows_are_the_text_without_its_newlines_and_nothing_else(text: str, width: int) -> None:
    safe = visible(text)
    spans = list(rows_of(safe, width))
    assert "".join(safe[span] for span in spans) == safe.replace("\n", "")
    assert all(before.stop <= after.start for before, after in pairwise(spans))
    assert all("\n" not in safe[span] for span in spans)


@given(st.text(st.sampled_from("abc 今晚。，"), max_size=80), st.integers(2, 30))
def test_no_row_is_wider_than_there_is_room(text: str, width: int) -> None:
    for span in rows_of(text, width):
        words = text[span].rstrip()
        assert sum(2 if character > "\xff" else 1 for character in words) <= max(width, 2)


@given(st.text(max_size=60))
def test_visible_text_has_no_control_characters_and_is_as_long_as_before(text: str) -> None:
    safe = visible(text)
    assert len(safe) == len(text)
    assert not any(ord(character) < 32 and character != "\n" for character in safe)
    assert all(
        shown_as == character or not character.isprintable() or character == "\ufffd"
        for character, shown_as in zip(text, safe, strict=True)
    )


def test_words_break_between_rows_and_chinese_stops_stay_with_what_they_end() -> None:
    text = "The lamp is lit.今晚，很冷。\n\n  So it is"
    assert [text[span] for span in rows_of(text, 9)] == [
        "The lamp ",
        "is lit.今",
        "晚，很",
        "冷。",
        "",
        "  So it ",
        "is",
    ]


# Pictures

SnapCompare = Callable[..., bool]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["small", "large"])
def test_the_prompt_looks_as_it_did(
    lamp: WrittenLine, snap_compare: SnapCompare, size: tuple[int, int]
) -> None:
    async def fill(pilot: Pilot[Any]) -> None:
        total = pilot.app.screen.query_one(".total", Static)
        await until(pilot, lambda: shown(total).startswith("about "))

    assert snap_compare(Host(lamp.screen()), terminal_size=size, run_before=fill)


def test_what_was_recalled_looks_as_it_did(lamp: WrittenLine, snap_compare: SnapCompare) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await to_tab(pilot, "recalled")
        await until(pilot, lambda: "Inactive lore" in text_of(pilot))

    assert snap_compare(Host(lamp.screen()), terminal_size=(120, 40), run_before=look)


def test_the_numbers_look_as_they_did(lamp: WrittenLine, snap_compare: SnapCompare) -> None:
    async def look(pilot: Pilot[Any]) -> None:
        await to_tab(pilot, "numbers")

    assert snap_compare(Host(measured(lamp).screen()), terminal_size=(80, 24), run_before=look)
