"""Keeps key presses in order: Textual runs priority bindings before letters that were typed earlier."""

import asyncio
from collections.abc import Callable
from typing import Any

from textual.screen import Screen


async def typed_before(screen: Screen[Any]) -> None:
    """Wait until the focused widget has processed all earlier keys, as `after_typing` does.

    For actions that are awaited, so that keys that follow wait for them.
    """
    done = asyncio.Event()
    focused = screen.focused
    if focused is not None and focused.call_later(done.set):
        await done.wait()


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
