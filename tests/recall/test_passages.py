"""The pieces that a persona is made of, and where each comes from."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.cards import Lorebook, LoreEntry
from rolellm_agents.persona import Demonstration, Knowledge, Persona
from rolellm_agents.recall import Passage, demonstrations_of, knowledge_of, lore_of
from rolellm_agents.recall.passages import KINDS

ADA = Persona(
    id="ada",
    name="Ada",
    description="Ada bakes.",
    demonstrations=(
        Demonstration(user="Who are you?", reply="Ada, of the oven."),
        Demonstration(user="Why bake?", reply="Hunger.", place="Act 2, scene 1"),
    ),
    knowledge=(
        Knowledge(title="The flood", text="I saved the flour.", place="chapter 3"),
        Knowledge(title="Rye", text="It rises slowly."),
    ),
)


def test_demonstrations_are_found_by_both_lines_and_tell_where_they_stand() -> None:
    assert demonstrations_of(ADA) == [
        Passage("demonstration", "Who are you?\nAda, of the oven.", "ada, demonstration 1", 0),
        Passage("demonstration", "Why bake?\nHunger.", "ada, demonstration 2 (Act 2, scene 1)", 1),
    ]


def test_knowledge_is_found_by_title_and_text() -> None:
    assert knowledge_of(ADA) == [
        Passage("knowledge", "The flood\nI saved the flour.", "ada, knowledge 1 (chapter 3)", 0),
        Passage("knowledge", "Rye\nIt rises slowly.", "ada, knowledge 2", 1),
    ]


def test_who_has_nothing_gives_nothing() -> None:
    bare = Persona(id="ada", name="Ada", description="Ada.")
    assert demonstrations_of(bare) == knowledge_of(bare) == lore_of([], bare, "You") == []


# Ids


def test_an_id_is_the_same_for_the_same_words_wherever_they_stand() -> None:
    assert Passage("lore", "a wolf", "one book", 3).id == Passage("lore", "a wolf", "another", 0).id
    assert Passage("lore", "a wolf", "x").id != Passage("memory", "a wolf", "x").id


def test_ids_are_those_that_are_in_everybodys_collections() -> None:
    """In every process: whoever changes them has all that anybody keeps embedded anew."""
    assert Passage("lore", "狼\nwolf", "y", 5).id == "5da843dc27426a441bfce5c99e7c6352"


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.text("ab\n ", max_size=3)), min_size=2, max_size=6))
def test_two_passages_have_one_id_only_when_they_are_of_one_kind_and_say_the_same(
    told: list[tuple[Any, str]],
) -> None:
    assert len({Passage(kind, text, "x").id for kind, text in told}) == len(set(told))


# Lore


def lore(*entries: LoreEntry, name: str = "Town") -> list[Passage]:
    return lore_of([Lorebook(entries=entries, name=name)], ADA, "Ben")


FREE = LoreEntry(uid="7", content="The mill burnt down.", keys=("mill",), name="Mill")


def test_lore_is_found_by_what_it_says_and_tells_its_book_and_entry() -> None:
    books = [
        Lorebook(
            entries=(FREE, replace(FREE, uid="8", name="", content="  It was rebuilt. \n")), name="Town"
        ),
        Lorebook(entries=(replace(FREE, uid="9", content="Rain."),)),
    ]
    assert lore_of(books, ADA, "Ben") == [
        Passage("lore", "The mill burnt down.", "lore of Town, Mill", 0),
        Passage("lore", "It was rebuilt.", "lore of Town, 8", 1),
        Passage("lore", "Rain.", "lore of Ada, Mill", 2),
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"enabled": False},
        {"constant": True},
        {"character_names": ("Ada",)},
        {"character_tags": ("baker",)},
        {"triggers": ("continue",)},
        {"delay": 3},
        {"delay_until_recursion": 1},
        {"cooldown": 2},
        {"groups": ("weather",)},
        {"probability": 50.0},
        {"probability": 0.0},
        {"position": "outlet"},
        {"content": ""},
        {"content": " \n"},
        {"content": "@@activate_only_after 3\nThe mill burnt down."},
        {"content": "@@dont_activate\nThe mill burnt down."},
        {"content": "@@depth 2\nThe mill burnt down."},
        {"content": "@@additional_keys fire\nThe mill burnt down."},
    ],
    ids=str,
)
def test_what_more_than_its_keys_keeps_out_is_not_brought_up(change: dict[str, Any]) -> None:
    assert [one.text for one in lore(FREE, replace(FREE, **change))] == ["The mill burnt down."]


@pytest.mark.parametrize(
    "change",
    [
        {"keys": ()},
        {"secondary_keys": ("fire",)},
        {"logic": "not_any"},
        {"position": "at_depth", "depth": 2},
        {"sticky": 3},
        {"order": 1.0, "priority": 0.0},
        {"prevent_recursion": True},
        {"exclude_recursion": True},
        {"scan_depth": 0},
    ],
    ids=str,
)
def test_what_only_its_keys_keep_out_is_brought_up(change: dict[str, Any]) -> None:
    assert [one.text for one in lore(replace(FREE, **change))] == ["The mill burnt down."]


def test_macros_in_lore_are_filled_with_the_character_and_the_person() -> None:
    (passage,) = lore(replace(FREE, content="{{char}} baked for {{user}}, <USER> and {{description}}"))
    assert passage.text == "Ada baked for Ben, Ben and Ada bakes."


def test_a_macro_that_draws_draws_the_same_each_time() -> None:
    """Or the passage would be embedded anew in every chat."""
    entry = replace(FREE, content="{{random:one,two,three,four,five,six}} mills, {{roll:1d100}}")
    assert {lore(entry)[0].text for _ in range(20)} == {lore(entry)[0].text}


def test_half_a_character_in_a_book_from_outside_is_no_reason_to_fail() -> None:
    (passage,) = lore(replace(FREE, content="A mill \ud83d burnt.", name="\udcff"), name="T\ud83d")
    assert passage.text == "A mill \ufffd burnt."
    assert passage.source == "lore of T\ufffd, \ufffd"
    assert len(passage.id) == 32
