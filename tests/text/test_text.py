"""Text from outside on its way to a terminal, and the nearest of what somebody may have meant."""

import re
import unicodedata

import pytest
from helpers.hypotheses import examples
from hypothesis import example, given
from hypothesis import strategies as st

from rolellm_agents.text import did_you_mean, one_line, plain, replace_surrogates

BIDI_MARKS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
UNWANTED = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{BIDI_MARKS}]")

SELECTORS = "".join(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
# `test_invisible.py` has the characters that are removed or stay with others.
ORDINARY = st.text(
    st.characters(exclude_categories=["Cc", "Cs", "Cf", "Cn"], exclude_characters=BIDI_MARKS + SELECTORS)
    | st.sampled_from("\t\n")
)
# Whole sequences and pieces of them, with ordinary text between.
HOSTILE = st.lists(
    st.sampled_from(
        [
            *(
                "\x1b",
                "\x1b[",
                "\x1b]",
                "\x1bP",
                "\x1b\\",
                "\x07",
                "\x9b",
                "\x9d",
                "31",
                ";",
                "m",
                "0;t",
                "?25l",
            ),
            *("\r", "\n", "\r\n", "\t", "\x00", "\x7f", "\x85", "a", " ", "你"),
            *BIDI_MARKS,
        ]
    )
    | st.characters()
).map("".join)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("\x1b[31mred\x1b[0m", "red", id="colour"),
        pytest.param("\x1b[38;2;1;2;3mred", "red", id="true-colour"),
        pytest.param("a\x1b[2J\x1b[1;1Hb", "ab", id="clear-screen"),
        pytest.param("\x1b[?25lhidden\x1b[?1049h", "hidden", id="private-modes"),
        pytest.param("a\x1b[1 qb", "ab", id="cursor-shape"),
        pytest.param("\x1b]0;owned\x07text", "text", id="title-ended-by-bell"),
        pytest.param("\x1b]0;owned\x1b\\text", "text", id="title-ended-by-st"),
        pytest.param("\x1b]52;c;cm0gLXJm\x07text", "text", id="clipboard"),
        pytest.param(
            "\x1b]8;;http://a.b\x1b\\link\x1b]8;;\x1b\\ and \x1b]8;;\x07more",
            "link and more",
            id="hyperlink",
        ),
        pytest.param("\x1bP1$r0m\x1b\\text", "text", id="device-control"),
        pytest.param("\x1b_Gpicture\nof two lines\x1b\\text", "text", id="payload-over-lines"),
        pytest.param("a\x1bMb\x1b", "ab", id="short-sequence-and-lone-escape"),
        pytest.param("secret\b\b\b\b\b\bpublic", "secretpublic", id="backspace"),
        pytest.param("you see this\rbut not that", "you see thisbut not that", id="overwriting-return"),
        pytest.param("one\r\ntwo\n\tthree", "one\ntwo\n\tthree", id="lines-and-tabs"),
        pytest.param("a\x00b\x7fc\x9dd\x0ce", "abcde", id="control-characters"),
        pytest.param("abc\u202edcba\u202c \u2066x\u2069", "abcdcba x", id="reading-direction"),
        pytest.param("[31m is only text", "[31m is only text", id="no-escape"),
    ],
)
def test_only_what_is_text_is_shown(text: str, shown: str) -> None:
    assert plain(text) == shown


@examples(1.5)
@given(HOSTILE)
def test_no_control_character_and_no_turning_mark_survives(text: str) -> None:
    assert UNWANTED.search(plain(text)) is None


@given(HOSTILE)
@example("\r\r\n")
@example("\x1b\x07[31m")
def test_making_plain_twice_changes_nothing_more(text: str) -> None:
    assert plain(plain(text)) == plain(text)


@given(ORDINARY)
@example("孙悟空：“俺老孙来也！”\n\t第二行")
@example("👩‍👩‍👧‍👦 🏳️‍🌈 👍🏽 🇨🇿")
@example("e\u0301 ज़्ज نَصّ שָׁלוֹם a\u00adb")
@example("[bold]not markup[/bold] {braces} \\x1b")
def test_ordinary_text_is_left_as_it_is(text: str) -> None:
    assert plain(text) == text


@given(HOSTILE)
@example("\ud800")
@example("a\ud83d\udc4db\udc4d")
def test_what_goes_was_never_a_letter_outside_of_a_sequence(text: str) -> None:
    """With every escape taken out first nothing is a sequence: then no visible character may be lost."""
    harmless = replace_surrogates(text).replace("\x1b", "")
    assert visible(plain(harmless)) == visible(harmless)


def visible(text: str) -> list[str]:
    """The characters that are neither control characters nor invisible."""
    invisible = ("Cc", "Cf", "Cn")
    return [mark for mark in text if unicodedata.category(mark) not in invisible and mark not in SELECTORS]


@pytest.mark.timeout(20)
def test_a_great_many_sequences_without_an_end_are_read_once() -> None:
    """A stranger's file may be that long; where each start searches to the end, it takes minutes."""
    assert UNWANTED.search(plain("\x1b]" * 100_000 + "\x1bP" * 100_000)) is None


@pytest.mark.parametrize(
    ("text", "width", "line"),
    [
        ("  a \n\n b\tc  ", 0, "a b c"),
        ("a\x1b[31mb\r\nc", 0, "ab c"),
        ("全角\u3000空格", 0, "全角 空格"),
        ("12345", 5, "12345"),
        ("123456", 5, "1234…"),
        ("123 456", 5, "123…"),
        ("abc", 1, "…"),
        ("", 5, ""),
    ],
)
def test_a_text_is_folded_into_one_line_and_cut(text: str, width: int, line: str) -> None:
    assert one_line(text, width) == line


@given(HOSTILE, st.integers(1, 20))
def test_a_folded_line_fits_and_has_no_white_space_but_single_spaces(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line) <= width
    assert line == " ".join(line.split())


KNOWN = ("sherlock-holmes", "Jane Eyre", "The Goblin King of the North", "孙悟空")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sherlok-homes", " (did you mean sherlock-holmes?)"),
        ("JANE EYRE", " (did you mean Jane Eyre?)"),
        ("janeeyr", " (did you mean Jane Eyre?)"),
        ("goblin", " (did you mean The Goblin King of the North?)"),
        ("悟空", " (did you mean 孙悟空?)"),
        ("xyz", ""),
        ("", ""),
    ],
)
def test_the_nearest_names_are_suggested_as_they_are_written(name: str, hint: str) -> None:
    assert did_you_mean(name, KNOWN) == hint


def test_at_most_three_names_are_suggested_the_nearest_first() -> None:
    assert did_you_mean("holmes", ["xholmesx", "holmesxxx", "holmes1", "holmes"]) == (
        " (did you mean holmes or holmes1 or xholmesx?)"
    )
    assert did_you_mean("bc", [f"aaaaaaaaabc{n}" for n in range(9)]).count(" or ") == 2


def test_a_single_letter_suggests_nothing_that_merely_holds_it() -> None:
    assert did_you_mean("C", ["llamacpp", "huggingface"]) == ""


def test_nothing_known_suggests_nothing() -> None:
    assert did_you_mean("holmes", []) == ""
