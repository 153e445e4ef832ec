"""The bubble of a message."""

from dataclasses import dataclass
from typing import Literal

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message as Event
from textual.widgets import Static

from rolellm_agents.cards.values import text as text_of
from rolellm_agents.models.reasoning import REASONING
from rolellm_agents.text import plain
from rolellm_agents.transcript import Message
from rolellm_tui.widgets.chat.message_text import MessageText
from rolellm_tui.widgets.chat.prompt import PromptInput
from rolellm_tui.widgets.common.formatting import counted
from rolellm_tui.widgets.common.writing_area import is_letter

Wish = Literal["branch", "earlier", "later", "copy", "copy a part"]


class SwipeCount(Static):
    """The position among the answers; a click on its left or right half swipes."""

    ALLOW_SELECT = False

    @dataclass
    class Clicked(Event):
        """The user clicked on one of the arrows."""

        wish: Literal["earlier", "later"]

    def on_click(self, event: events.Click) -> None:
        """Tell which arrow was clicked."""
        self.post_message(self.Clicked("earlier" if event.x < self.size.width / 2 else "later"))


class Bubble(Vertical, can_focus=True):
    """Shows speaker, text, swipes and ending of a message."""

    DEFAULT_CSS = """
    Bubble { height: auto; }
    Bubble .head { height: 1; }
    Bubble .speaker { width: 1fr; height: 1; }
    Bubble .swipes { width: auto; height: 1; }
    Bubble .words, Bubble .note, Bubble .thoughts { height: auto; }
    """
    BINDINGS = [
        Binding(
            "left", "wish('earlier')", "‹", id="bubble.earlier", tooltip="Previous answer.", show=False
        ),
        Binding(
            "right",
            "wish('later')",
            "›",
            id="bubble.later",
            tooltip="Next answer; after the last, a new answer is generated.",
            show=False,
        ),
        Binding("f3", "wish('branch')", "Branch", id="bubble.branch", tooltip="Start a new branch here."),
        Binding(
            "f4",
            "thoughts",
            "Thoughts",
            id="bubble.thoughts",
            tooltip="Show or hide the model's reasoning.",
        ),
        Binding("ctrl+c", "wish('copy')", "Copy", id="bubble.copy", tooltip="Copy the text."),
        Binding(
            "enter",
            "wish('copy a part')",
            "Copy part",
            id="bubble.select",
            tooltip="Select a part of the text, or a code block, and copy it.",
        ),
    ]

    @dataclass
    class ActionRequested(Event):
        """The user requests an action on this message."""

        sender: "Bubble"
        wish: Wish

    def __init__(
        self,
        speaker: str,
        text: str = "",
        *,
        mine: bool = False,
        message: Message | None = None,
        prompt: PromptInput | None = None,
    ) -> None:
        """Create the bubble of a message.

        Args:
            speaker: the name to show.
            text: the text so far.
            mine: whether the user wrote the message.
            message: the recorded message; None while it is generated.
            prompt: gets what the user types or pastes while the message is selected.
        """
        super().__init__(classes="mine" if mine else "theirs")
        self.speaker = speaker
        self.text = text
        self.mine = mine
        self.message = message
        self._prompt = prompt
        self.place, self.places = 1, 1
        self._shows_thoughts = False

    @property
    def thoughts(self) -> str:
        """What the model has thought before the answer; empty if it did not reason."""
        return "" if self.message is None else text_of(self.message.made_by.get(REASONING))

    def compose(self) -> ComposeResult:
        """Compose the head, the reasoning, the text and the note."""
        with Horizontal(classes="head"):
            yield Static(plain(self.speaker), classes="speaker", markup=False)
            yield SwipeCount("", classes="swipes", markup=False)
        thoughts = Static("", classes="thoughts", markup=False)
        thoughts.display = False
        yield thoughts
        yield MessageText(self.text)
        note = Static("", classes="note", markup=False)
        note.display = False
        yield note

    def on_mount(self) -> None:
        """Show the initial state."""
        self._show_swipes()
        if self.message is not None:
            self.mark(self.message)

    def say(self, text: str) -> None:
        """Replace the text."""
        self.text = text
        self.query_one(MessageText).show(text)

    def mark(self, message: Message) -> None:
        """Show the recorded message, with a note if it was cut off."""
        self.message = message
        if message.text != self.text:
            self.say(message.text)
        note = self.query_one(".note", Static)
        note.update(message.ending)
        note.display = bool(message.ending)
        self._show_thoughts()

    def set_swipes(self, place: int, places: int) -> None:
        """Show the position among the swipes."""
        self.place, self.places = place, places
        self._show_swipes()

    def _show_swipes(self) -> None:
        # Before it is composed there is nothing to update; `on_mount` does it then.
        for swipes in self.query(".swipes").results(Static):
            swipes.update(f"‹ {self.place}/{self.places} ›" if self.places > 1 else "")

    def _show_thoughts(self) -> None:
        shown = self.query_one(".thoughts", Static)
        shown.display = bool(self.thoughts)
        if self._shows_thoughts:
            shown.update(Content(f"▾ Thoughts\n{plain(self.thoughts)}"))
        else:
            shown.update(Content(f"▸ Thoughts, {counted(len(self.thoughts.split()), 'word')}"))

    def post_message(self, message: Event) -> bool:
        """Take a message into the queue; what the user types goes to the prompt, which gets the focus.

        It is passed on here, and not in a handler, because letters typed after it go to the prompt at once.
        """
        is_typed = isinstance(message, events.Paste) or (
            isinstance(message, events.Key) and is_letter(message)
        )
        if is_typed and self._prompt is not None:
            self._prompt.begin_writing()
            self.screen.set_focus(self._prompt)
            return self._prompt.post_message(message)
        return super().post_message(message)

    @on(SwipeCount.Clicked)
    def _swipes_clicked(self, event: SwipeCount.Clicked) -> None:
        event.stop()
        self.action_wish(event.wish)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer the reasoning only where there is some."""
        return action != "thoughts" or bool(self.thoughts)

    def show_thoughts(self) -> None:
        """Show what the model has thought."""
        self._shows_thoughts = True
        self._show_thoughts()

    def action_thoughts(self) -> None:
        """Show or hide the reasoning."""
        self._shows_thoughts = not self._shows_thoughts
        self._show_thoughts()

    def action_wish(self, wish: Wish) -> None:
        """Request the action."""
        self.post_message(self.ActionRequested(self, wish))
