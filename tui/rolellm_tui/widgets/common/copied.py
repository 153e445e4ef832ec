"""The sentence about a copy."""

from rolellm_agents.text import one_line
from rolellm_tui.widgets.common.formatting import counted

_SHORT = 40


def copied(text: str) -> str:
    """Say what was copied: a short text itself, or else its length."""
    line = one_line(text)
    if len(line) <= _SHORT and "\n" not in text:
        return f"Copied “{line}”."
    lines = f" in {counted(text.count(chr(10)) + 1, 'line')}" if "\n" in text else ""
    return f"Copied {counted(len(text), 'character')}{lines}."
