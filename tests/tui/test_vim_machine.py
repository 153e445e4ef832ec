"""Vim's normal mode as a function: single rules, and thousands of random keys compared with Vim itself."""

import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from helpers.hypotheses import examples
from helpers.real_vim import Outcome, vim_outcomes
from hypothesis import given
from hypothesis import strategies as st

from rolellm_tui.widgets.vim.machine import Register, VimState, left_insert, pressed, state_of

ESCAPE, REDO = "\x1b", "\x12"
PIECES = ["foo", "bar_9", "a", "x,y", "...", "--", "héé", "福尔摩斯", "ab", " ", "  ", "\n", "\n\n", "q"]
MOTIONS = [*"hjklwbe0$^G;,", "gg", "fa", "tx", "Fa", "To"]
needs_vim = pytest.mark.skipif(shutil.which("vim") is None, reason="vim is not installed")


def state_after(text: str, keys: str) -> VimState:
    """Type into a text, as the text area does it."""
    seed = Register("seed", whole_lines=False)
    state = VimState(lines=tuple(text.split("\n")), mode="normal", register=seed)
    for key in keys:
        if state.mode == "normal":
            key = "ctrl+r" if key == REDO else key
            state = replace(state, typed="") if key == ESCAPE else pressed(state, key)
        elif key == ESCAPE:
            state = left_insert(state)
        else:
            row, column = state.cursor
            lines = list(state.lines)
            lines[row] = lines[row][:column] + key + lines[row][column:]
            state = state_of(state, "\n".join(lines), (row, column + 1))
    return state if state.mode == "normal" else left_insert(state)


def outcome(text: str, keys: str) -> Outcome:
    state = state_after(text, keys)
    return state.text, (state.cursor.row, state.cursor.column)


def a_text(chance: random.Random) -> str:
    return "".join(chance.choice(PIECES) + chance.choice(["", " "]) for _ in range(chance.randint(0, 12)))


def a_motion(chance: random.Random, *, others: Sequence[str] = ()) -> str:
    motion: str = chance.choice([*MOTIONS, *others])
    # In Vim, a failing `3$` changes the column that j and k try to return to; nobody would miss it.
    return motion if motion in "0$" else chance.choice(["", "", "2", "3"]) + motion


def a_command(chance: random.Random) -> str:
    match chance.choice(["motion", "operator", "operator", "short", "insert"]):
        case "motion":
            return a_motion(chance)
        case "operator":
            operator = chance.choice("dcy")
            motion = a_motion(chance, others=[operator])
            return f"{chance.choice(['', '', '2'] if motion != '$' else [''])}{operator}{motion}" + (
                f"z{ESCAPE}" if operator == "c" else ""
            )
        case "short":
            short = chance.choice(
                ["x", "X", "D", "Y", "p", "P", "rz", f"Cz{ESCAPE}", f"sz{ESCAPE}", f"Sz{ESCAPE}"]
            )
            return short if short[0] in "DC" else chance.choice(["", "", "2"]) + short
        case _:
            return chance.choice("iaIAoO") + chance.choice(["z", "zz", ""]) + ESCAPE


def compare_with_vim(
    cases: list[tuple[str, str]], seen: Callable[[Outcome], object] = lambda one: one
) -> None:
    different = [
        (text, keys, expected, ours)
        for (text, keys), expected in zip(cases, vim_outcomes(cases), strict=True)
        if seen(ours := outcome(text, keys)) != seen(expected)
    ]
    assert different[:5] == []


@needs_vim
@pytest.mark.parametrize("length", [1, 2, 5])
def test_random_commands_do_what_they_do_in_vim(length: int) -> None:
    chance = random.Random(length)
    cases = [(a_text(chance), "".join(a_command(chance) for _ in range(length))) for _ in range(2_000)]
    compare_with_vim(cases)


@needs_vim
def test_the_end_of_several_lines_is_that_of_vim() -> None:
    chance = random.Random(0)
    keys = [f"{count}{operator}$" for count in ("", "2", "3") for operator in ("", "d", "y")]
    compare_with_vim([(a_text(chance), chance.choice(keys)) for _ in range(500)])


@needs_vim
def test_changes_are_undone_and_made_again_as_in_vim() -> None:
    chance = random.Random(7)
    cases: list[tuple[str, str]] = []
    while len(cases) < 1_500:
        text, commands = a_text(chance).encode("ascii", "ignore").decode(), list[str]()
        for _ in range(chance.randint(1, 5)):
            command = a_command(chance)
            # A change that changes nothing can be undone in Vim, without an effect. Ours is left out.
            before = outcome(text, "".join(commands))[0]
            if outcome(text, "".join([*commands, command]))[0] != before:
                commands.append(command)
            commands += chance.choice([[], ["u"], ["u", REDO], ["u", "u", REDO]])
        cases.append((text, "".join(commands)))
    compare_with_vim(cases, seen=lambda one: one[0])


@pytest.mark.parametrize(
    ("text", "keys", "expected"),
    [
        ("one two three", "dw", "two three"),
        ("one two three", "2dw", "three"),
        ("one two", "wcwsix" + ESCAPE, "one six"),
        ("one two", "$D", "one tw"),
        ("one\ntwo\nthree", "jdd", "one\nthree"),
        ("one\ntwo", "ccsix" + ESCAPE, "six\ntwo"),
        ("one\ntwo", "yyjp", "one\ntwo\none"),
        ("one\ntwo", "ddp", "two\none"),
        ("one, two", "f,x", "one two"),
        ("one, two", "ct,six" + ESCAPE, "six, two"),
        ("one", "3rx", "xxx"),
        ("one", "4rx", "one"),
        ("one", "osix" + ESCAPE + "Oten" + ESCAPE, "one\nten\nsix"),
        ("one two", "dwdwuu", "one two"),
        ("one two", "dwdwuu" + REDO, "two"),
        ("one", "Asix" + ESCAPE + "u", "one"),
        ("one", "d" + ESCAPE + "x", "ne"),
        ("one", "dqx", "ne"),
        ("one", "99999999999x", ""),
        ("我是 福尔摩斯", "dw", "福尔摩斯"),
    ],
)
def test_commands(text: str, keys: str, expected: str) -> None:
    assert state_after(text, keys).text == expected


def test_what_others_change_is_undone_too() -> None:
    state = state_of(state_after("one", ""), "one and two", (0, 11))
    assert pressed(state, "u").text == "one"


@given(st.text(st.characters(exclude_characters="\r"), max_size=30), st.text(max_size=30))
@examples(3)
def test_no_key_breaks_anything(text: str, keys: str) -> None:
    state = state_after(text, keys.replace("\r", ""))
    row, column = state.cursor
    assert 0 <= row < len(state.lines)
    assert 0 <= column <= max(0, len(state.lines[row]) - 1)


@given(st.text("hjklwbe0$^GgdcyxDCYpPrufta;,23 ", max_size=30))
@examples(3)
def test_everything_can_be_undone(keys: str) -> None:
    text = "One, two.\n\n  three four\nfive"
    state = state_after(text, keys + ESCAPE)
    for _ in state.done:
        state = pressed(state, "u")
    assert state.text == text
