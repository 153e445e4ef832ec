"""The widget of a scene line."""

from textual.content import Content
from textual.widgets import Static

from rolellm_agents.transcript import Message
from rolellm_tui.widgets.common.direction import aligned
from rolellm_tui.widgets.scene.texts import COLOURS, SeatStyles, line_content


class SceneLineView(Static):
    """Shows speaker, kind and text; the margin has the speaker's colour."""

    DEFAULT_CSS = """
    SceneLineView {
        height: auto;
    }
    """

    def __init__(self, message: Message, speakers: SeatStyles, *, text: str | None = None) -> None:
        """Create the widget of a line.

        Args:
            message: the message, which may be incomplete.
            speakers: the names and colours of the seats.
            text: the text so far; None for the text of the message.
        """
        colour = speakers.colours.get(message.speaker, "")
        super().__init__(classes=f"-{message.kind}", markup=False)
        if colour in COLOURS:
            self.add_class(f"-{colour}")
        self.message = message
        self.text = message.text if text is None else text
        self.place, self.places = 1, 1
        self._speakers = speakers

    def on_mount(self) -> None:
        """Show the text."""
        self._draw()

    @property
    def content_now(self) -> Content:
        """The content that the widget shows."""
        swipes = f"‹ {self.place}/{self.places} ›" if self.places > 1 else ""
        return line_content(self.message, self.text, self._speakers, swipes)

    def say(self, text: str) -> None:
        """Replace the text."""
        self.text = text
        self._draw()

    def mark(self, message: Message) -> None:
        """Show the recorded message."""
        if message == self.message and message.text == self.text:
            return
        self.set_class(False, f"-{self.message.kind}").add_class(f"-{message.kind}")
        self.message = message
        self.say(message.text)

    def set_swipes(self, place: int, places: int) -> None:
        """Show the position among the swipes."""
        if (place, places) != (self.place, self.places):
            self.place, self.places = place, places
            self._draw()

    def _draw(self) -> None:
        self.update(aligned(self.content_now))
