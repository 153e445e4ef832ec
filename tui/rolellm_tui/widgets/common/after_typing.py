"""Letters first: keys bound with priority overtake what was typed just before them."""

from collections.abc import Callable
from typing import Any

from textual.screen import Screen


def after_typing(screen: Screen[Any], act: Callable[[], object]) -> None:
    """Act once the widget that has the focus has taken every key that was pressed before.

    Textual runs a priority binding as soon as the app sees its key, while letters wait in the queue of the
    widget that they are for; who types fast would have the last of them left out.

    Args:
        screen: where the key was pressed; when it has been left meanwhile, nothing is done.
        act: what the key is for; done at once when nothing has the focus.
    """

    def act_here() -> None:
        if screen.is_current:
            act()

    focused = screen.focused
    if focused is None or not focused.call_later(act_here):
        act_here()
