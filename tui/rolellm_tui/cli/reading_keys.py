"""The loop in which a person reads items one by one and answers each with a key or a line."""

import sys
from collections.abc import Callable, Mapping
from typing import Literal, TypeVar

import click

from rolellm_tui.output import complain, print_text

_Item = TypeVar("_Item")
_Answer = TypeVar("_Answer")
Step = Literal["undo", "stop"]


def read_each(
    items: Mapping[str, _Item],
    done: list[str],
    ask: Callable[[_Item], _Answer | Step],
    save: Callable[[str, _Answer | None], None],
) -> None:
    """Ask for each item that is not done until none is left or the reader stops.

    Args:
        items: the items by key, in order.
        done: the keys of the items that were answered before; the last one can be undone.
        ask: shows an item, and returns the reader's answer, `undo` or `stop`.
        save: stores an answer; None withdraws the stored one.
    """
    while len(done) < len(items):
        key = next(key for key in items if key not in done)
        print_text(f"\n── {len(done) + 1} of {len(items)} " + "─" * 40)
        step = ask(items[key])
        if step == "stop":
            break
        if step != "undo":
            save(key, step)
            done.append(key)
        elif done:
            save(done.pop(), None)
        else:
            complain("There is nothing to undo.")
    print_text(f"{len(done)} of {len(items)} read.")


def ask_for_key(prompt: str, allowed: str) -> str:
    """One of the allowed keys; the end of the input is `q`."""
    print_text(prompt)
    while True:
        typed = (click.getchar() if sys.stdin.isatty() else sys.stdin.readline() or "q").strip().lower()
        if typed in ("\x03", "\x04"):
            return "q"
        if typed and typed in allowed:
            return typed


def ask_for_letters(prompt: str, allowed: str) -> str:
    """A line of allowed letters, which may be empty, or `u` or `q`; the end of the input is `q`."""
    print_text(prompt)
    while True:
        line = sys.stdin.readline()
        typed = line.strip().lower()
        if not line or typed in ("u", "q"):
            return typed or "q"
        if set(typed) <= set(allowed):
            return typed
        complain(f"Only the letters {', '.join(allowed)}, u and q mean something here.")
