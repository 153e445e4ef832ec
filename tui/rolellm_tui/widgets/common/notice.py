"""A message for people who look at another window."""

from dataclasses import dataclass

from textual.message import Message


@dataclass
class Notice(Message):
    """Something that the user waits for has happened; the app tells it outside if nobody looks."""

    text: str
    """One sentence, without what was said."""
