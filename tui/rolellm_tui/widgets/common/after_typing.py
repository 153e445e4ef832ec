"""Keeps key presses in order: Textual runs priority bindings before letters that were typed earlier."""

from collections.abc import Callable
from typing import Any

from textual.screen import Screen


def after_typing(screen: Screen[Any], act: Callable[[], object]) -> None:
    """Run a function after the focused widget has processed all earlier keys.

    Textual runs priority bindings at once, while letters wait in the queue of their widget, so fast typing
    would lose the last letters.

    Args:
        screen: the screen that received the key; nothing happens if the user has left it meanwhile.
        act: the function; it is called at once when no widget has the focus.
    """

    def act_here() -> None:
        if screen.is_current:
            act()

    focused = screen.focused
    if focused is None or not focused.call_later(act_here):
        act_here()
