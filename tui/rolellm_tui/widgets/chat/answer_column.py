"""A column with one of several concurrent answers."""

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from rolellm_agents.text import one_line, plain
from rolellm_agents.transcript import Message
from rolellm_agents.transcript.search_words import keys_of
from rolellm_tui.widgets.chat.prose import prose
from rolellm_tui.widgets.chat.voice_form import VoiceChoice
from rolellm_tui.widgets.common.direction import aligned
from rolellm_tui.widgets.common.formatting import counted

_MUTED = "$foreground-muted"


class AnswerColumn(Vertical, can_focus=True):
    """Shows the voice, its answer and some figures."""

    DEFAULT_CSS = """
    AnswerColumn .head { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
    AnswerColumn VerticalScroll { height: 1fr; }
    AnswerColumn VerticalScroll > Static { height: auto; }
    AnswerColumn .numbers { height: auto; }
    """
    BINDINGS = [
        Binding("up", "scroll_words(-1)", "Up", id="answer.up", tooltip="Scroll up.", show=False),
        Binding("down", "scroll_words(1)", "Down", id="answer.down", tooltip="Scroll down.", show=False),
    ]

    def __init__(self, number: int, choice: VoiceChoice) -> None:
        """Create an empty column.

        Args:
            number: the digit key that keeps the answer.
            choice: the strategy and model of the voice.
        """
        super().__init__()
        self.message: Message | None = None
        """The finished answer, if it has text."""
        self.choice = choice
        self._number = number
        self._text = ""
        self._waiting = False

    def compose(self) -> ComposeResult:
        """Compose the head, the text and the error line."""
        strategy, model = map(one_line, self.choice)
        yield Static(
            Content.assemble(
                (f"{self._number} ", "bold $text-accent"), (strategy, "bold"), (f" · {model}", _MUTED)
            ),
            classes="head",
            markup=False,
        )
        yield Static(classes="numbers", markup=False)
        with VerticalScroll(can_focus=False):
            yield Static(classes="words", markup=False)
            yield Static(classes="trouble", markup=False)

    def wait(self, notice: str = "thinking…") -> None:
        """Clear the column for another answer, and show a notice until it begins."""
        self.message = None
        self._waiting = True
        self._text = ""
        self._show("", notice)

    def say(self, text: str) -> None:
        """Append text."""
        self._text += text
        self._show("", f"{_length(self._text)} so far")

    def finish(self, message: Message) -> None:
        """Show the finished answer."""
        self.message = message
        self._waiting = False
        self._text = message.text
        self._show(message.ending, numbers_of(message))

    def fail(self, sentence: str, message: Message | None = None) -> None:
        """Show an error.

        Args:
            sentence: the error.
            message: the partial answer, if any.
        """
        self.message = message
        self._waiting = False
        self._show(sentence, numbers_of(message) if message else "")

    def give_up(self) -> None:
        """Stop waiting for an answer."""
        if self._waiting:
            self.fail("Stopped before it started.")

    def _show(self, sentence: str, numbers: str) -> None:
        text, error = self.query_one(".words", Static), self.query_one(".trouble", Static)
        text.update(aligned(prose(self._text)))
        text.display = bool(self._text)
        error.update(plain(sentence))
        error.display = bool(sentence)
        self.query_one(".numbers", Static).update(plain(numbers))

    def action_scroll_words(self, lines: int) -> None:
        """Scroll the text."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)


def numbers_of(message: Message) -> str:
    """Format the figures of an answer: length, times and prompt size."""
    provenance, usage = message.made_by, message.usage or {}
    figures = [_length(message.text)]
    if "seconds" in provenance:
        figures.append(f"{provenance['seconds']:.1f} s")
    if "first_token_s" in provenance:
        figures.append(f"first {provenance['first_token_s']:.1f} s")
    prompt = f"\nprompt of {usage['input_tokens']:,} tokens" if "input_tokens" in usage else ""
    return " · ".join(figures) + prompt


def _length(text: str) -> str:
    """Number of words, or of characters for Chinese."""
    return counted(len(keys_of(plain(text))), "word")
