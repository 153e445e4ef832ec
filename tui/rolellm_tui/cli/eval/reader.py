"""The loop in which a person reads answers and gives a verdict on each with a key."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Literal, TypeVar

import click

from rolellm_agents.evaluation.blind.pairs import AnswerPair
from rolellm_agents.evaluation.blind.verdicts import (
    QUALITIES,
    Preference,
    ReaderVerdict,
    append_verdicts,
    read_verdicts,
)
from rolellm_agents.judging import Judged
from rolellm_agents.text import one_line
from rolellm_tui.output import complain, print_text

_SHOWN: Final = 700
"""Characters of a persona's description that a reader sees."""
_PREFERENCES: Final[dict[str, Preference]] = {"1": "first", "2": "second", "t": "tie", "n": "neither"}
_PAIR_HELP: Final = "1 or 2: the better one   t: tie   n: neither is good   u: undo   q: stop"
_ANSWER_HELP: Final = (
    "Type all that apply, then Enter:   a: does not answer   s: makes no sense   v: not this voice\n"
    "Enter alone: the answer is good   u: undo   q: stop"
)
_FAULTS: Final = "asv"
"""One letter for each of `QUALITIES`."""

Step = ReaderVerdict | Literal["undo", "stop"]
_Item = TypeVar("_Item")


def compare_pairs(pairs: Sequence[AnswerPair], file: Path, reader: str) -> None:
    """Ask for each pair which answer is better, and append the verdicts to the file."""

    def ask(pair: AnswerPair) -> Step:
        _show_conversation(pair.first.judged)
        print_text(f"\n1) {pair.first.judged.reply}\n\n2) {pair.second.judged.reply}\n")
        key = _key(_PAIR_HELP, "".join(_PREFERENCES) + "uq")
        if key in _PREFERENCES:
            return ReaderVerdict(item=pair.key, reader=reader, preferred=_PREFERENCES[key])
        return "undo" if key == "u" else "stop"

    _read({pair.key: pair for pair in pairs}, ask, file, reader)


def judge_answers(pairs: Sequence[AnswerPair], file: Path, reader: str) -> None:
    """Ask for each answer what is wrong with it, and append the verdicts to the file."""

    def ask(judged: Judged) -> Step:
        _show_conversation(judged)
        print_text(f"\n{judged.persona.name}: {judged.reply}\n")
        typed = _letters(_ANSWER_HELP, _FAULTS)
        if typed in ("u", "q"):
            return "undo" if typed == "u" else "stop"
        qualities = {name: letter not in typed for name, letter in zip(QUALITIES, _FAULTS, strict=True)}
        return ReaderVerdict(item=judged.key, reader=reader, qualities=qualities)

    answers = {one.judged.key: one.judged for pair in pairs for one in (pair.first, pair.second)}
    _read(dict(sorted(answers.items())), ask, file, reader)


def _read(items: dict[str, _Item], ask: Callable[[_Item], Step], file: Path, reader: str) -> None:
    """Ask for each item without a verdict until none is left or the reader stops."""
    done = [one.item for one in read_verdicts(file) if one.reader == reader and one.item in items]
    while len(done) < len(items):
        key = next(key for key in items if key not in done)
        print_text(f"\n── {len(done) + 1} of {len(items)} " + "─" * 40)
        step = ask(items[key])
        if step == "stop":
            break
        if step != "undo":
            append_verdicts(file, [step])
            done.append(key)
        elif done:
            append_verdicts(file, [ReaderVerdict(item=done.pop(), reader=reader)])
        else:
            complain("There is nothing to undo.")
    print_text(f"{len(done)} of {len(items)} read.")


def _show_conversation(judged: Judged) -> None:
    name = judged.persona.name
    print_text(f"{name}: {one_line(judged.persona.description, _SHOWN)}\n")
    for turn in judged.turns:
        print_text(f"{name if turn.speaker == 'persona' else 'User'}: {turn.text}")


def _key(prompt: str, allowed: str) -> str:
    """One of the allowed keys; the end of the input stops."""
    print_text(prompt)
    while True:
        typed = (click.getchar() if sys.stdin.isatty() else sys.stdin.readline() or "q").strip().lower()
        if typed in ("\x03", "\x04"):
            return "q"
        if typed and typed in allowed:
            return typed


def _letters(prompt: str, allowed: str) -> str:
    """A line of allowed letters, which may be empty, or `u` or `q`; the end of the input stops."""
    print_text(prompt)
    while True:
        line = sys.stdin.readline()
        typed = line.strip().lower()
        if not line or typed in ("u", "q"):
            return typed or "q"
        if set(typed) <= set(allowed):
            return typed
        complain(f"Only the letters {', '.join(allowed)}, u and q mean something here.")
