"""Whom a search means."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.persona import FoundPersona, Persona, Source
from rolellm_tui.widgets.library.filtering import (
    PersonaQuery,
    indexed,
    matching_personas,
    ordered,
    words_of,
)


def found(persona_id: str, name: str, description: str = "Somebody.", **fields: object) -> FoundPersona:
    persona = Persona.model_validate({"id": persona_id, "name": name, "description": description, **fields})
    return FoundPersona(persona, Path(f"{persona_id}.yaml"), "user")


CAST = (
    found("anna", "Anna", "She keeps a harp.", category="artist", tags=("harbour",)),
    found("zoe", "Zoé Hart", "She counts.", source=Source(work="Über Harz", year=1999), category="thinker"),
    found("lehar", "Lehár", "He sings.", catchphrases=("Harmony!",), category="artist"),
    found("harry", "Harry", "He waits.", tags=("zebra", "sea side")),
    found("sun-wukong", "孙悟空", "他偷吃仙桃。", language="zh", category="hero"),
)


def ids(search: str, **filters: str) -> list[str]:
    wanted = PersonaQuery(words_of(search), **filters)
    return [one.persona.id for one in matching_personas(indexed(CAST), wanted)]


def test_who_is_called_so_comes_before_who_is_only_told_of_it() -> None:
    # His name begins so; a word of hers does; within his name; in the tags; then in none.
    assert ids("har") == ["harry", "zoe", "lehar", "anna"]


def test_a_work_comes_before_a_tag_and_a_tag_before_a_description() -> None:
    cast = indexed(
        [
            found("a", "A", "A lighthouse."),
            found("b", "B", tags=("lighthouse",)),
            found("c", "C", source=Source(work="The Lighthouse", year=2019)),
        ]
    )
    assert [one.persona.id for one in matching_personas(cast, PersonaQuery(("lighthouse",)))] == [
        "c",
        "b",
        "a",
    ]


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("zoe", ["zoe"]),  # accents need not be typed
        ("ZOÉ", ["zoe"]),
        ("uber", ["zoe"]),
        ("1999", ["zoe"]),
        ("art", ["zoe", "anna", "lehar"]),  # within a name, or where a word begins
        ("eeps", []),
        ("artist harp", ["anna"]),
        ("harp artist", ["anna"]),
        ("harp hero", []),
        ("sea-side", ["harry"]),
        ("wukong", ["sun-wukong"]),
        ("悟", ["sun-wukong"]),
        ("仙桃", ["sun-wukong"]),
        ("zh", ["sun-wukong"]),
        ("中文", ["sun-wukong"]),
        ("english artist", ["anna", "lehar"]),
        ("- …", ["anna", "zoe", "lehar", "harry", "sun-wukong"]),
    ],
)
def test_every_word_must_be_found_somewhere(search: str, expected: list[str]) -> None:
    assert ids(search) == expected


def test_filters_keep_out_and_the_search_goes_on_within_them() -> None:
    assert ids("", language="zh") == ["sun-wukong"]
    assert ids("", category="artist") == ["anna", "lehar"]
    assert ids("", tag="sea side") == ["harry"]
    assert ids("", tag="sea") == []
    assert ids("sings", category="artist") == ["lehar"]
    assert ids("", category="artist", language="zh") == []


def test_the_last_talked_with_come_first_in_their_order() -> None:
    cast = indexed(CAST)
    recent = ["harry", "nobody", "anna", "harry"]
    assert [one.found.persona.id for one in ordered(cast, "recent", recent)] == [
        "harry",
        "anna",
        "zoe",
        "lehar",
        "sun-wukong",
    ]
    assert ordered(cast, "name", recent) == cast


letters = st.text("abázé 孙悟_-'", min_size=1, max_size=8).filter(str.strip)
casts = st.lists(
    st.builds(
        lambda number, name, text, tags: found(f"p{number}", name, text, tags=tuple(tags)),
        st.integers(0, 10**6),
        letters,
        letters,
        st.lists(letters, max_size=2),
    ),
    max_size=6,
    unique_by=lambda one: one.persona.id,
)


@given(casts, letters)
def test_each_is_found_by_their_own_whole_name(cast: list[FoundPersona], search: str) -> None:
    for one in cast:
        assert one in matching_personas(indexed(cast), PersonaQuery(words_of(one.persona.name)))


@given(casts, letters, letters)
def test_another_word_never_lets_anybody_in(cast: list[FoundPersona], first: str, second: str) -> None:
    every = indexed(cast)
    both = matching_personas(every, PersonaQuery(words_of(f"{first} {second}")))
    assert all(one in matching_personas(every, PersonaQuery(words_of(first))) for one in both)
    assert all(one in matching_personas(every, PersonaQuery(words_of(second))) for one in both)


@given(casts)
def test_without_a_search_everybody_is_there_in_the_order_of_the_cast(cast: list[FoundPersona]) -> None:
    assert matching_personas(indexed(cast), PersonaQuery()) == cast


@given(casts, letters)
def test_among_equals_the_order_of_the_cast_stays(cast: list[FoundPersona], search: str) -> None:
    twins = [
        FoundPersona(
            one.persona.model_copy(update={"id": f"{one.persona.id}-{number}"}), one.path, one.origin
        )
        for one in cast[:1]
        for number in range(3)
    ]
    left = matching_personas(
        indexed([*twins, *cast[1:]]), PersonaQuery(words_of(twins[0].persona.name) if twins else ())
    )
    places = [left.index(one) for one in twins]
    assert all(before < after for before, after in pairwise(places))
