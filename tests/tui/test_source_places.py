"""Parts of a shown message are copied as they were written."""

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.text import plain
from rolellm_tui.widgets.chat.code_blocks import code_blocks
from rolellm_tui.widgets.chat.prose import prose
from rolellm_tui.widgets.chat.source_places import source_of, source_places


def part(source: str, shown: str) -> str:
    """The source of a shown part."""
    whole = prose(source).plain
    start = whole.index(shown)
    return source_of(whole, source, start, start + len(shown))


@pytest.mark.parametrize(
    ("source", "shown", "copied"),
    [
        ("One two three.", "two", "two"),
        ("One **two** three.", "two", "two"),
        ("One **two** three.", "One two three", "One **two** three"),
        ("*He nods.* “Good.”", "He nods. “Good", "He nods.* “Good"),
        ("- tea\n- milk\n- bread", "tea\n• milk", "tea\n- milk"),
        ("1. tea\n2. milk", "tea\n2. milk", "tea\n2. milk"),
        ("> quoted\n> twice\n\nafter", "quoted\n▏ twice", "quoted\n> twice"),
        ("# Title\n\nText.", "Title\n\nText", "Title\n\nText"),
        (
            "See [the docs](https://a.example/b) now.",
            "docs (https://a.example/b) now",
            "docs](https://a.example/b) now",
        ),
        ("See [the docs](https://a.example/b) now.", "now", "now"),
        ("Fish &amp; chips today.", "chips today", "chips today"),
        ("Run `ls -l` now.", "ls -l", "ls -l"),
        ("```py\nprint(1)\n\nprint(2)\n```\nDone.", "print(1)\n\nprint(2)", "print(1)\n\nprint(2)"),
        ("```py\nprint(1)\n```\nDone.", "Done", "Done"),
        ("- Look:\n  ```py\n  print(1)\n  ```\n- Done.", "print(1)\n• Done", "print(1)\n  ```\n- Done"),
        ("他说 **好的**。", "好的", "好的"),
        ("| a | b |\n|---|---|\n| cell one | cell two |\n\nAfter it.", "After it", "After it"),
    ],
)
def test_a_part_is_copied_as_it_was_written(source: str, shown: str, copied: str) -> None:
    assert part(source, shown) == copied


@given(st.text(st.sampled_from("ab *_`#->[]()!\n12.|\\&“”福"), max_size=60))
@examples(5)
def test_all_of_a_message_is_all_of_its_source(source: str) -> None:
    shown = prose(source).plain
    assert source_of(shown, source, 0, len(shown)) == source


@given(st.text(max_size=60))
@examples(5)
def test_places_ascend_and_hold_the_shown_characters(source: str) -> None:
    source = plain(source)
    shown = prose(source).plain
    places = source_places(shown, source)
    found = [place for place in places if place is not None]
    assert found == sorted(set(found))
    assert all(source[place] == shown[index] for index, place in enumerate(places) if place is not None)


@given(st.lists(st.text("abc", min_size=1, max_size=8), max_size=8))
@examples(3)
def test_plain_words_are_copied_as_they_are(words: list[str]) -> None:
    source = " ".join(words)
    for start in range(len(source)):
        assert source_of(source, source, start, len(source)) == source[start:]


def test_blocks_of_code_are_found_with_their_rows() -> None:
    text = "Look:\n\n```py\nprint(1)\nprint(2)\n```\n\n    no block\n\n```\n```\n~~~\nls\n~~~"
    assert [tuple(block) for block in code_blocks(text)] == [("print(1)\nprint(2)", 3, 5), ("ls", 12, 13)]
    lines = text.split("\n")
    assert all("\n".join(lines[one.first : one.end]) == one.text for one in code_blocks(text))
