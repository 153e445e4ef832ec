"""The loop in which a person reads answers and gives a verdict on each with a key."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, TypeVar

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
from rolellm_tui.cli.reading_keys import Step, ask_for_key, ask_for_letters, read_each
from rolellm_tui.output import print_text

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

_Item = TypeVar("_Item")


def compare_pairs(pairs: Sequence[AnswerPair], file: Path, reader: str) -> None:
    """Ask for each pair which answer is better, and append the verdicts to the file."""

    def ask(pair: AnswerPair) -> ReaderVerdict | Step:
        _show_conversation(pair.first.judged)
        print_text(f"\n1) {pair.first.judged.reply}\n\n2) {pair.second.judged.reply}\n")
        key = ask_for_key(_PAIR_HELP, "".join(_PREFERENCES) + "uq")
        if key in _PREFERENCES:
            return ReaderVerdict(item=pair.key, reader=reader, preferred=_PREFERENCES[key])
        return "undo" if key == "u" else "stop"

    _read({pair.key: pair for pair in pairs}, ask, file, reader)


def judge_answers(pairs: Sequence[AnswerPair], file: Path, reader: str) -> None:
    """Ask for each answer what is wrong with it, and append the verdicts to the file."""

    def ask(judged: Judged) -> ReaderVerdict | Step:
        _show_conversation(judged)
        print_text(f"\n{judged.persona.name}: {judged.reply}\n")
        typed = ask_for_letters(_ANSWER_HELP, _FAULTS)
        if typed in ("u", "q"):
            return "undo" if typed == "u" else "stop"
        qualities = {name: letter not in typed for name, letter in zip(QUALITIES, _FAULTS, strict=True)}
        return ReaderVerdict(item=judged.key, reader=reader, qualities=qualities)

    answers = {one.judged.key: one.judged for pair in pairs for one in (pair.first, pair.second)}
    _read(dict(sorted(answers.items())), ask, file, reader)


def _read(
    items: dict[str, _Item], ask: Callable[[_Item], ReaderVerdict | Step], file: Path, reader: str
) -> None:
    """Ask for each item without a verdict of this reader, and append the verdicts to the file."""
    done = [one.item for one in read_verdicts(file) if one.reader == reader and one.item in items]

    def save(key: str, verdict: ReaderVerdict | None) -> None:
        append_verdicts(file, [verdict or ReaderVerdict(item=key, reader=reader)])

    read_each(items, done, ask, save)


def _show_conversation(judged: Judged) -> None:
    name = judged.persona.name
    print_text(f"{name}: {one_line(judged.persona.description, _SHOWN)}\n")
    for turn in judged.turns:
        print_text(f"{name if turn.speaker == 'persona' else 'User'}: {turn.text}")
