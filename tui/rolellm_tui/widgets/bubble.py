"""One message on the screen."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from rolellm_agents.text import plain
from rolellm_agents.transcript import Message
from rolellm_agents.transcript.message import USER


class Bubble(Vertical):
    """Who said it, what was said, and whether it was cut off. Words from outside stay plain text."""

    DEFAULT_CSS = """
    Bubble { height: auto; }
    Bubble .speaker, Bubble .words, Bubble .note { height: auto; }
    """

    def __init__(self, speaker: str, text: str = "", *, mine: bool = False) -> None:
        """A message of `speaker`'s, to be continued or not."""
        super().__init__(classes="mine" if mine else "theirs")
        self._speaker = speaker
        self._text = text

    @classmethod
    def of(cls, message: Message, name: str) -> "Bubble":
        """The bubble of a message in the transcript; `name` is the persona's."""
        mine = message.speaker == USER
        bubble = cls("You" if mine else name, message.text, mine=mine)
        bubble.call_after_refresh(bubble.mark, message)
        return bubble

    def compose(self) -> ComposeResult:
        """Speaker, words, and a note that is only there when it is needed."""
        yield Static(plain(self._speaker), classes="speaker", markup=False)
        yield Static(plain(self._text), classes="words", markup=False)
        note = Static("", classes="note", markup=False)
        note.display = False
        yield note

    def add(self, text: str) -> None:
        """Add words at the end."""
        self._text += text
        self.query_one(".words", Static).update(plain(self._text))

    def mark(self, message: Message) -> None:
        """Say how the message ended, unless it simply ended."""
        note = self.query_one(".note", Static)
        note.update(message.ending)
        note.display = bool(message.ending)
