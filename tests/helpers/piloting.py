"""What every test of a screen needs: to wait, and to see what stands there."""

import time
from collections.abc import Callable
from typing import Any

from textual import events
from textual.pilot import Pilot
from textual.widget import Widget

_PATIENCE = 60.0


async def until(pilot: Pilot[Any], holds: Callable[[], object]) -> None:
    """Wait until something holds, which it does soon."""
    deadline = time.monotonic() + _PATIENCE
    while not holds():
        assert pilot.app.is_running, "the app has ended"
        assert time.monotonic() < deadline, (
            f"it never came to that on the {type(pilot.app.screen).__name__}"
        )
        await pilot.pause(0.01)
    await pilot.pause()


async def type_fast(pilot: Pilot[Any], *keys: str) -> None:
    """Press keys so that all are there before the first is handled, where `press` waits for each.

    Args:
        pilot: whose app gets them.
        keys: letters as they are, others by Textual's names.
    """
    for key in keys:
        letter = key if len(key) == 1 else None
        pilot.app.post_message(events.Key("space" if key == " " else key, letter))
    await pilot.pause()


def shown(widget: Widget) -> str:
    """The text that a widget draws now."""
    rows = (widget.render_line(row).text.rstrip() for row in range(widget.size.height))
    return "\n".join(rows).strip()


def keys_offered(pilot: Pilot[Any]) -> set[str]:
    """The actions that the footer offers."""
    return {
        binding.binding.description
        for binding in pilot.app.screen.active_bindings.values()
        if binding.enabled and binding.binding.show
    }
