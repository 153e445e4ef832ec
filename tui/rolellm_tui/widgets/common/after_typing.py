"""Priority bindings run before letters that were typed earlier; this module restores the order."""

from collections.abc import Callable
from typing import Any

from textual.screen import Screen


def after_typing(screen: Screen[Any], act: Callable[[], object]) -> None:
    """Run a function after the focused widget has processed all earlier keys.

    Textual runs priority bindings at once, while letters wait in the queue of their widget, so fast typing
    would lose the last letters.

    Args:
        screen: of the key; nothing happens if it was left meanwhile.
        act: the function; done at once when nothing has the focus.
    """

    def act_here() -> None:
        if screen.is_current:
            act()

    focused = screen.focused
    if focused is None or not focused.call_later(act_here):
        act_here()
