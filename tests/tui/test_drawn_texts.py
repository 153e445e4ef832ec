"""What views draw, by the functions that return it: no app runs here."""

from collections.abc import Sequence
from typing import Any

import pytest
from helpers.own_kinds import SHOUT, SIGN
from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from rolellm_agents.transcript import Message
from rolellm_tui.widgets.chat.answer_column import numbers_of
from rolellm_tui.widgets.chat.meter import context_share, rate
from rolellm_tui.widgets.chat.prose import prose
from rolellm_tui.widgets.inspector.token_chart import in_columns, percent
from rolellm_tui.widgets.scene.texts import SeatStyles, line_content
from rolellm_tui.widgets.tree.line import TreeStyle, draw_line
from rolellm_tui.widgets.tree.rows import ConversationTree

SEATS = SeatStyles({"ada": "Ada", "ben": "Ben"}, {})


def message(
    text: str,
    *,
    parent: str | None = None,
    speaker: str = "ada",
    **fields: Any,
) -> Message:
    values: dict[str, Any] = {
        "id": "0",
        "conversation": "c",
        "parent": parent,
        "speaker": speaker,
        "audience": ("ada", "ben"),
        "kind": "say",
        "text": text,
        "status": "complete",
        "created": "2026-01-01T00:00:00.000Z",
    }
    return Message(**values | fields)


def styled(content: Content, style: str) -> list[str]:
    """The pieces of a text that have a style."""
    return [content.plain[span.start : span.end] for span in content.spans if style in str(span.style)]


# A message's text


def test_actions_are_emphasized_without_their_asterisks_and_speech_stands_out() -> None:
    content = prose("*smiles* “Come in,” she said. **Now.**")
    assert content.plain == "smiles “Come in,” she said. Now."
    assert styled(content, "italic") == ["smiles"]
    assert styled(content, "bold") == ["Now."]
    assert any("“Come in,”" in content.plain[span.start : span.end] for span in content.spans)


def test_a_single_line_break_is_kept_and_markup_is_plain_text() -> None:
    assert prose("One.\nTwo.\n\nThree.").plain == "One.\nTwo.\n\nThree."
    assert prose("[bold]x[/bold] <b>y</b>").plain == "[bold]x[/bold] <b>y</b>"


def test_tables_are_drawn_with_their_columns_in_line() -> None:
    table = "| Name | Age |\n| --- | ---: |\n| Ada | 36 |\n| *Holmes* the 2nd | 6 |\n| 貓 |"
    content = prose(f"Look:\n\n{table}")
    assert content.plain.split("\n") == [
        *("Look:", "", "Name           │ Age", "───────────────┼────"),
        *("Ada            │  36", "Holmes the 2nd │   6", "貓             │    "),
    ]
    assert styled(content, "bold") == ["Name", "Age"]
    assert styled(content, "italic") == ["Holmes"]


def test_what_is_struck_through_is_drawn_so() -> None:
    content = prose("I ~~hate~~ love it.")
    assert content.plain == "I hate love it."
    assert styled(content, "strike") == ["hate"]


def test_the_target_of_a_link_is_told() -> None:
    assert prose("See [the docs](https://example.org/x).").plain == "See the docs (https://example.org/x)."
    assert (
        prose("<https://example.org> and <ada@example.org>").plain
        == "https://example.org and ada@example.org"
    )


def test_code_is_highlighted_if_it_names_its_language() -> None:
    code = "def f(x):\n\n    return x"
    content = prose(f"```python\n{code}\n```")
    assert content.plain == code
    assert len({str(span.style) for span in content.spans}) > 2
    assert prose(f"```\n{code}\n```").plain == code
    assert prose(f"```no-language\n{code}\n```").plain == code


# A scene's line


@pytest.mark.parametrize(
    ("kind", "begins"),
    [
        ("say", "Ada"),
        ("whisper", "Ada"),
        ("think", "Ada"),
        ("narrate", "The"),
        ("join", "→ "),
        ("leave", "← "),
    ],
)
def test_each_kind_of_line_begins_in_its_way(kind: str, begins: str) -> None:
    content = line_content(message("The lamp is out.", kind=kind), "The lamp is out.", SEATS)
    assert content.plain.startswith(begins)
    assert "The lamp is out." in content.plain


def test_kinds_of_lines_are_told_apart() -> None:
    kinds = ("say", "whisper", "think", "act", "narrate", "join", "leave")
    texts = {str(line_content(message("Oh.", kind=kind), "Oh.", SEATS).markup) for kind in kinds}
    assert len(texts) == len(kinds)


def test_a_kind_of_a_users_is_shown_with_what_it_is_called() -> None:
    seats = SeatStyles({"ada": "Ada", "ben": "Ben"}, {}, (SIGN, SHOUT))
    signed, shouted = (line_content(message("Oh.", kind=kind), "Oh.", seats) for kind in ("sign", "shout"))
    assert signed.plain == "Ada  signs to Ben\nOh."
    assert shouted.plain == "Ada  shouts\nOh."
    # Where nothing is known of the kind, its name is shown.
    assert line_content(message("Oh.", kind="sign"), "Oh.", SEATS).plain == "Ada  sign\nOh."


def test_swipes_and_an_early_end_stand_with_the_line() -> None:
    whole = line_content(message("Oh."), "Oh.", SEATS, "‹ 2/3 ›")
    broken = line_content(message("Oh.", status="stopped"), "Oh.", SEATS)
    assert "‹ 2/3 ›" in whole.plain
    assert "cut off" in broken.plain


def test_control_characters_of_a_name_are_not_drawn() -> None:
    content = line_content(message("Oh."), "Oh.", SeatStyles({"ada": "A\x1b[31mda\n"}, {}))
    assert "\x1b" not in content.plain
    assert "\n" not in content.plain.splitlines()[0]


# A row of the tree


def drawn(texts: Sequence[str], width: int = 60, **style: Any) -> list[str]:
    """A chain of messages, then a second answer to the first line, as rows."""
    chain = [
        message(text, id=str(n), parent=str(n - 1) if n else None, speaker="ada" if n % 2 else "user")
        for n, text in enumerate(texts)
    ]
    tree = ConversationTree([*chain, message("Other.", id="x", parent="0")], here=chain[-1].id, branches=())
    drawing = TreeStyle(tree=tree, names={"ada": "Ada", "user": "You"}, branches={0: ["main"]}, **style)
    return [draw_line(drawing, row, width).plain for row in tree.rows()]


def test_a_row_has_name_words_branches_and_the_place_where_the_chat_stands() -> None:
    rows = drawn(["Who are you?", "Ada."])
    assert "You" in rows[0]
    assert "Who are you?" in rows[0]
    assert "main" in rows[0]
    assert [row for row in rows if "◉" in row] == [row for row in rows if "Ada." in row]
    assert all("/2" in row for row in rows[1:]), "siblings are numbered"


def test_marks_replace_the_place_and_hits_come_into_view() -> None:
    rows = drawn(["Who?", "word " * 60 + "lantern"], sought="LANTERN", marks=[0])
    assert "◆" in rows[0]
    assert sum("lantern" in row for row in rows) == 1


@given(st.lists(st.text(max_size=60), min_size=1, max_size=5), st.integers(12, 120))
def test_every_row_is_exactly_as_wide_as_it_may_be(texts: list[str], width: int) -> None:
    assert {Content(row).cell_length for row in drawn(texts, width)} == {width}


# Numbers


def test_an_answers_numbers_are_those_that_are_known() -> None:
    assert numbers_of(message("One two three.")) == "3 words"
    measured = message(
        "One.", made_by={"seconds": 2.04, "first_token_s": 0.31}, usage={"input_tokens": 1234}
    )
    assert numbers_of(measured) == "1 word · 2.0 s · first 0.3 s\nprompt of 1,234 tokens"


@pytest.mark.parametrize(
    ("usage", "size", "share"),
    [
        (None, 100, None),
        ({"total_tokens": 50}, None, None),
        ({"total_tokens": 50}, 100, 0.5),
        ({"total_tokens": 300}, 100, 1),
    ],
)
def test_the_context_is_full_by_its_share(usage: Any, size: int | None, share: float | None) -> None:
    assert context_share(usage, size) == share


def test_rates_and_shares_are_as_exact_as_people_want_them() -> None:
    assert [rate(value) for value in (3.14, 9.96, 10, 1234.5)] == ["3.1", "10.0", "10", "1,234"]
    assert [percent(count, 1000) for count in (0, 1, 5, 250)] == ["0 %", "<1 %", "0 %", "25 %"]


def test_entries_stand_in_as_many_columns_as_fit() -> None:
    entries = [Content(word) for word in ("one", "two", "three", "four")]
    assert len(in_columns(entries, 200)) == 1
    assert [row.plain.strip() for row in in_columns(entries, 5)] == ["one", "two", "three", "four"]
    assert in_columns([], 10) == []


@given(st.lists(st.text("ab", min_size=1, max_size=9).map(Content), min_size=1), st.integers(9, 80))
def test_no_row_of_columns_is_too_wide(entries: list[Content], width: int) -> None:
    rows = in_columns(entries, width)
    assert all(row.cell_length <= width for row in rows)
    words = " ".join(row.plain for row in rows).split()
    assert sorted(words) == sorted(entry.plain for entry in entries)
