"""The part of a conversation that is mounted, which is limited whatever its length."""

from typing import NamedTuple

MOST_MOUNTED = 60
"""The most messages that are mounted at a time."""
_STEP = 20
"""Messages that are loaded at one end of the window, while as many are unloaded at the other."""


class MessageWindow(NamedTuple):
    """The places of the mounted messages in their branch."""

    first: int
    end: int
    """The place after the last one."""

    def __contains__(self, place: object) -> bool:
        """Whether the message at this place is mounted."""
        return isinstance(place, int) and self.first <= place < self.end


def newest(total: int) -> MessageWindow:
    """The last messages of `total`."""
    return MessageWindow(max(0, total - MOST_MOUNTED), total)


def around(place: int, total: int) -> MessageWindow:
    """The messages before and after the one at `place`, of `total`."""
    first = max(0, min(place - MOST_MOUNTED // 2, total - MOST_MOUNTED))
    return MessageWindow(first, min(total, first + MOST_MOUNTED))


def moved(window: MessageWindow, step: int, total: int) -> MessageWindow:
    """The window moved towards the start (-1) or the end (1) of `total` messages."""
    if step < 0:
        first = max(0, window.first - _STEP)
        return MessageWindow(first, min(window.end, first + MOST_MOUNTED))
    end = min(total, window.end + _STEP)
    return MessageWindow(max(window.first, end - MOST_MOUNTED), end)


def resized(window: MessageWindow, before: int, total: int) -> MessageWindow:
    """The window after a change of the branch, whose length was `before` and is `total` now.

    A window at the end stays at the end, any other one stays where it is.
    """
    if window.end >= min(before, total):
        return newest(total)
    return window
