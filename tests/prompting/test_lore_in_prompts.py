"""Lore and a card's own prompts in the messages that a model is sent."""

from typing import Any, cast

import pytest
from helpers.cards import book, entry, v2
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from rolellm_agents.cards import Card, LoreSettings
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import persona_of, with_macros
from rolellm_agents.prompting.inserts import (
    PromptInsert,
    character_note,
    lore_insert,
    with_card_prompts,
)
from rolellm_agents.prompting.placement import place_inserts
from rolellm_agents.prompting.strategies import get_strategy
from rolellm_agents.recall import LoreRecall, RecalledLore, recalled_lore


def persona(*entries: dict[str, Any], **fields: Any) -> Persona:
    lore = {"character_book": book(*entries)} if entries else {}
    return with_macros(persona_of(Card(v2(**lore, **fields)), "ada"), "Tom")


def fired(one: Persona, line: str, *history: str) -> list[str]:
    said: list[BaseMessage] = [HumanMessage(text) for text in history]
    activation = LoreRecall(one, user="Tom").activate(said, line, {})
    return [item["text"] for item in recalled_lore(activation)]


def lore(text: str, **fields: Any) -> PromptInsert:
    recalled = RecalledLore(
        kind="lore",
        book="b",
        uid=text,
        name=text,
        text=text,
        position="before_char",
        depth=4,
        role="system",
        why="",
    )
    return lore_insert(cast(RecalledLore, {**recalled, **fields}))


def shown(messages: list[BaseMessage]) -> list[str]:
    return [f"{message.type}: {message.text}" for message in messages]


TALK: list[BaseMessage] = [
    SystemMessage("You are Ada."),
    HumanMessage("1"),
    AIMessage("2"),
    HumanMessage("3"),
]


def test_a_line_brings_its_lore_up_and_macros_are_filled() -> None:
    one = persona(entry(content="{{char}} trims it for {{user}}."), entry(keys=["gull"]))
    assert fired(one, "Is the LAMP lit?") == ["Ada trims it for Tom."]
    assert fired(one, "Good evening.") == []
    assert fired(one, "And now?", "The lamp, I meant.") == ["Ada trims it for Tom."]


def test_the_same_words_bring_up_the_same_lore() -> None:
    one = persona(*(entry(content=f"{n}", extensions={"probability": 50}) for n in range(20)))
    drawn = fired(one, "The lamp!")
    assert 0 < len(drawn) < 20
    assert fired(one, "The lamp!") == drawn
    assert any(fired(one, f"The lamp{'!' * n}") != drawn for n in range(2, 8))


def test_timed_effects_are_handed_on() -> None:
    one = persona(entry(extensions={"sticky": 4}))
    recall = LoreRecall(one, user="Tom")
    first = recall.activate([], "The lamp!", {})
    history = [HumanMessage("The lamp!"), AIMessage("Yes."), HumanMessage("So."), AIMessage("Yes.")]
    later = recall.activate(history[:2], "Good.", first.state.to_json())
    assert [item["text"] for item in recalled_lore(later)] == ["The lamp burns herring oil."]
    assert (
        recalled_lore(
            LoreRecall(one, user="Tom", settings=LoreSettings(scan_depth=1)).activate(history, "Good.", {})
        )
        == []
    )


def test_a_lorebook_beyond_measure_is_told() -> None:
    one = persona(entry()).model_copy(update={"lorebook": {"entries": [{}] * 20_001}})
    with pytest.raises(PersonaError, match=r"The lorebook of ada cannot be used: .*20,001 entries"):
        LoreRecall(one, user="Tom")


def test_places_of_lore() -> None:
    placed = place_inserts(
        TALK,
        [
            lore("before"),
            lore("after", position="after_char"),
            lore("depth 0", position="at_depth", depth=0),
            lore("depth 1", position="at_depth", depth=1, role="user"),
            lore("depth 1 too", position="at_depth", depth=1, role="user"),
            lore("deep", position="at_depth", depth=99, role="assistant"),
        ],
    )
    assert shown(placed) == [
        "system: before\nYou are Ada.\nafter",
        "ai: deep",
        "human: 1",
        "ai: 2",
        "human: depth 1\ndepth 1 too",
        "human: 3",
        "system: depth 0",
    ]
    assert place_inserts(TALK, []) == TALK


def test_depth_counts_no_examples() -> None:
    one = persona(entry())
    messages = get_strategy("few-shot-dialogue")(
        one, TALK[1:3], [{"kind": "demonstration", "index": 0, "score": 1.0, "why": ""}], "3"
    )
    placed = place_inserts(messages, [lore("deep", position="at_depth", depth=50)])
    assert [message.text for message in placed][3:5] == ["deep", "1"]


def test_what_a_provider_notes_on_an_answer_does_not_move_lore() -> None:
    """langchain-openai puts a key of its own on every answer."""
    noted = [
        message.model_copy(update={"additional_kwargs": {"refusal": None, "audio": "x"}})
        if isinstance(message, AIMessage)
        else message
        for message in TALK
    ]
    deep = [lore("depth 2", position="at_depth", depth=2)]
    assert shown(place_inserts(noted, deep)) == shown(place_inserts(TALK, deep))


def test_an_authors_prompts_replace_and_follow() -> None:
    one = persona(
        system_prompt="Be {{char}}. {{original}}", post_history_instructions="Stay dry, {{user}}."
    )
    assert shown(with_card_prompts(TALK, one, "Tom")) == [
        "system: Be Ada. You are Ada.",
        *shown(TALK)[1:],
        "system: Stay dry, Tom.",
    ]
    bare = persona(system_prompt="Write a novel.")
    assert with_card_prompts(TALK, bare, "Tom")[0].text == f"Write a novel.\n\n{bare.description}"
    assert with_card_prompts(TALK, persona(), "Tom") == TALK


def test_a_characters_note_stands_at_its_depth() -> None:
    note = {"depth_prompt": {"prompt": "{{char}} is tired.", "depth": 1, "role": "user"}}
    (item,) = character_note(persona(extensions=note), "Tom")
    assert (item.text, item.depth, item.role) == ("Ada is tired.", 1, "user")
    assert character_note(persona(), "Tom") == []
