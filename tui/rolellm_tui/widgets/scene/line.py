"""One line of a scene on the screen."""

from textual.content import Content
from textual.widgets import Static

from rolellm_agents.transcript import Message
from rolellm_tui.widgets.scene.texts import COLOURS, SeatStyles, line_content


class SceneLineView(Static):
    """Who, how, and the words; the colour of its margin is the speaker's."""

    DEFAULT_CSS = """
    SceneLineView {
        height: auto;
    }
    """

    def __init__(self, message: Message, speakers: SeatStyles, *, text: str | None = None) -> None:
        """A line.

        Args:
            message: as the transcript has it, be it only begun.
            speakers: names and colours.
            text: its words so far; the message's when None.
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
        """Show the words."""
        self._draw()

    @property
    def content_now(self) -> Content:
        """What it shows."""
        swipes = f"‹ {self.place}/{self.places} ›" if self.places > 1 else ""
        return line_content(self.message, self.text, self._speakers, swipes)

    def say(self, text: str) -> None:
        """Show these words instead."""
        self.text = text
        self._draw()

    def mark(self, message: Message) -> None:
        """It is in the transcript now, as it stands."""
        if message == self.message and message.text == self.text:
            return
        self.set_class(False, f"-{self.message.kind}").add_class(f"-{message.kind}")
        self.message = message
        self.say(message.text)

    def set_swipes(self, place: int, places: int) -> None:
        """Say which of how many this is."""
        if (place, places) != (self.place, self.places):
            self.place, self.places = place, places
            self._draw()

    def _draw(self) -> None:
        self.update(self.content_now)
