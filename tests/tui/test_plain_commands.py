"""What a line typed in plain mode asks for."""

import re

import pytest
from helpers.hypotheses import examples
from hypothesis import given
from hypothesis import strategies as st

from rolellm_agents.errors import MessageError
from rolellm_agents.text import replace_surrogates
from rolellm_tui.slash.commands import Command, Name, help_lines, parse

LINES = st.one_of(st.text(), st.text().map(lambda text: f"/{text}"), st.from_regex(r"/\w+ +[-\w ]*"))
NUMBERS = st.integers(min_value=1, max_value=10**12)
WORDS = st.text(min_size=1).map(lambda text: replace_surrogates(text).strip()).filter(bool)
SPACE = st.text("  \t", min_size=1, max_size=3)
LONE: list[Name] = [
    "again",
    "continue",
    "undo",
    "redo",
    "branches",
    "history",
    "note",
    "why",
    "help",
    "quit",
]


@given(LINES)
@examples(2.5)
def test_every_line_is_a_command_or_a_mistake_told_in_one_sentence(line: str) -> None:
    try:
        command = parse(line)
    except MessageError as error:
        told = str(error)
        assert line.lstrip().startswith("/")
        assert told.endswith(".")
        assert len(told) < 250
        assert "\n" not in told
    else:
        assert command.number >= 0
        assert command.text == command.text.strip()


@given(st.text())
@examples(1.5)
def test_whatever_does_not_begin_with_a_slash_is_said_as_it_is(line: str) -> None:
    line = line.lstrip().lstrip("/")

    assert parse(line) == Command("say", replace_surrogates(line).strip())


@given(st.text())
@examples(1.5)
def test_two_slashes_stand_for_one_that_is_said(text: str) -> None:
    assert parse(f"//{text}") == Command("say", f"/{replace_surrogates(text)}".strip())


@given(NUMBERS, WORDS, SPACE, SPACE)
@examples(1.5)
def test_an_edit_is_read_with_its_number_and_all_its_words(
    number: int, words: str, before: str, between: str
) -> None:
    assert parse(f"/edit{before}{number}{between}{words}") == Command("edit", words, number)


@given(st.sampled_from(["swipe", "branch", "branches"]), NUMBERS, SPACE)
def test_a_number_is_read(name: Name, number: int, space: str) -> None:
    assert parse(f"/{name}{space}{number}{space}") == Command(name, number=number)


@given(WORDS, SPACE)
def test_a_note_is_read_whole(words: str, space: str) -> None:
    assert parse(f"/note{space}{words}") == Command("note", words)


@pytest.mark.parametrize("name", LONE)
def test_a_command_alone_in_any_case_and_between_spaces(name: Name) -> None:
    assert parse(f"/{name}") == parse(f"  /{name.upper()} \t") == Command(name)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("/swipe left", Command("swipe", "left")),
        ("/swipe RIGHT", Command("swipe", "right")),
        ("/swipe ３", Command("swipe", number=3)),
        ("/why all", Command("why", "all")),
        ("/note clear", Command("note", "clear")),
        ("/edit 3 /quit", Command("edit", "/quit", 3)),
        ("/edit 2 2", Command("edit", "2", 2)),
        ("", Command("say")),
        (" \t", Command("say")),
        ("//", Command("say", "/")),
        ("and/or", Command("say", "and/or")),
        ("Half a\ud83d", Command("say", "Half a\ufffd")),
    ],
)
def test_other_ways_to_write_them(line: str, command: Command) -> None:
    assert parse(line) == command


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("/swipe", "Usage: /swipe left, right or N. See /help."),
        ("/swipe up", "Usage: /swipe left, right or N. See /help."),
        ("/swipe 0", "Usage: /swipe left, right or N. See /help."),
        ("/edit 3", "Usage: /edit N TEXT. See /help."),
        ("/edit three words", "Usage: /edit N TEXT. See /help."),
        ("/edit -1 words", "Usage: /edit N TEXT. See /help."),
        (f"/edit {'9' * 5000} words", "Usage: /edit N TEXT. See /help."),
        ("/branch", "Usage: /branch N. See /help."),
        ("/branch ²", "Usage: /branch N. See /help."),
        ("/branches main", "Usage: /branches [N]. See /help."),
        ("/undo 2", "Usage: /undo. See /help."),
        ("/why not", "Usage: /why [all]. See /help."),
        (
            "/agian",
            "There is no command /agian (did you mean again?); see /help. To say a line that "
            "starts with a slash, type //.",
        ),
        ("/", "There is no command /; see /help. To say a line that starts with a slash, type //."),
        (
            "/say hello",
            "There is no command /say (did you mean summary or strategy?); see /help. To say a line that "
            "starts with a slash, type //.",
        ),
    ],
)
def test_a_mistake_is_told_with_the_way_out(line: str, told: str) -> None:
    with pytest.raises(MessageError) as error:
        parse(line)

    assert str(error.value) == told


def test_the_help_has_a_sentence_for_each_command() -> None:
    told = [re.fullmatch(r"/(\w+)[^:]*: .+\.", line) for line in help_lines()]

    assert [found and found[1] for found in told] == [
        *("again", "continue", "swipe", "edit", "delete", "undo", "redo", "branch", "branches"),
        *("history", "note", "summary", "why", "find", "write", "new"),
        *("strategy", "model", "talk", "thoughts", "greeting", "compare", "conversations"),
        *("export", "set", "you", "rest", "help", "quit"),
    ]
