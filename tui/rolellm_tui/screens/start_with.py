"""The dialog that chooses strategy, model, greeting and conversation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Input, Select, Static

from rolellm_agents.models.catalog import PROVIDERS
from rolellm_agents.models.names import named_models
from rolellm_agents.persona import Persona
from rolellm_agents.plugins import plugin_version
from rolellm_agents.prompting.strategies import strategy_names
from rolellm_agents.text import did_you_mean, one_line, plain
from rolellm_tui.widgets.chat.opening import greetings_for
from rolellm_tui.widgets.common.status_line import Complaint

EXPLAINED = {
    "zero-shot": "Description only, no examples.",
    "few-shot-prompt": "Relevant examples in your message.",
    "few-shot-dialogue": "Relevant examples as past turns.",
    "system": "Short instruction for tuned models.",
    "retrieval": "Recalls lines, knowledge and lore.",
}
"""A short description of each of our strategies."""


def explained(strategy: str) -> str:
    """A short description of a strategy, or the package that provides it."""
    return EXPLAINED.get(strategy) or one_line(plugin_version("rolellm.strategies", strategy), 60)


_USUAL = "default"
_GREETING = 400
"""Maximum length of a displayed greeting, in characters."""


@dataclass(frozen=True)
class Start:
    """The options of a chat."""

    strategy: str | None
    """None for the one in the settings."""
    model: str | None
    """A name or a spec; None for the one in the settings."""
    greeting: int
    """Index of the greeting, from 0."""
    new: bool
    """Start a new conversation."""


def models_to_offer() -> list[str]:
    """List the names in `models.toml`, and the embedded model.

    Raises:
        SettingsError: `models.toml` cannot be used.
    """
    return [*named_models(), PROVIDERS["llamacpp"].example]


class StartScreen(ModalScreen[Start | None]):
    """Asks for options. Returns them, or None when cancelled."""

    CSS_PATH = "start_with.tcss"
    VERTICAL_BREAKPOINTS = [(0, "-short"), (28, "-tall")]
    AUTO_FOCUS = "#go"
    BINDINGS = [
        Binding("f6", "start", "Start", id="start.go", tooltip="Start with these options."),
        Binding("escape", "leave", "Close", id="start.close", tooltip="Back to the library."),
    ]

    def __init__(self, persona: Persona, *, models: Sequence[str], user: str, met: bool) -> None:
        """Create the dialog.

        Args:
            persona: the persona to talk with.
            models: the names and specs to choose from; others can be typed.
            user: replaces `{{user}}` in greetings.
            met: whether there is a conversation to resume, which then is the first choice.
        """
        super().__init__()
        self._persona = persona
        self._models = models
        self._met = met
        self._greetings = greetings_for(persona, user)

    def compose(self) -> ComposeResult:
        """Compose the form."""
        with Vertical(id="start"):
            yield Static(f"Start with {one_line(self._persona.name)}", classes="title", markup=False)
            yield from _row("Strategy", _menu("strategy", self._strategies()))
            yield from _row("Model", _menu("model", self._offered_models()))
            yield from _row(
                "", Input(placeholder="or another, as in openai:gpt-4o-mini", id="spec", compact=True)
            )
            if len(self._greetings) > 1:
                yield from _row("Greeting", _menu("greeting", self._numbered_greetings()))
                yield Static(id="words", markup=False)
            yield from _row("Talk", _menu("new", self._conversation_options()))
            yield Complaint(id="complaint")
            yield Button("Start", id="go", variant="primary", compact=True)
            yield Static("Tab next field · Enter or F6 start · Esc cancel", classes="keys", markup=False)

    @on(Select.Changed, "#greeting")
    def _greeting_picked(self) -> None:
        number = self._number("greeting")
        self.query_one("#words", Static).update(plain(self._greetings[number])[:_GREETING])
        if number:
            # A resumed conversation has its greeting already.
            self.query_one("#new", Select).value = "new"

    @on(Button.Pressed, "#go")
    @on(Input.Submitted, "#spec")
    def action_start(self) -> None:
        """Return the chosen options."""
        typed = self.query_one("#spec", Input).value.strip()
        if typed and ":" not in typed and typed not in self._models:
            suggestion = did_you_mean(typed, self._models)
            self.query_one(Complaint).complain(
                f"There is no model {typed!r}{suggestion}; write provider:name."
            )
            return
        self.dismiss(
            Start(
                strategy=self._selected("strategy") or None,
                model=typed or self._selected("model") or None,
                greeting=self._number("greeting") if len(self._greetings) > 1 else 0,
                new=self._selected("new") == "new",
            )
        )

    def action_leave(self) -> None:
        """Cancel."""
        self.dismiss(None)

    def _selected(self, name: str) -> str:
        return str(self.query_one(f"#{name}", Select).value)

    def _number(self, name: str) -> int:
        return int(self._selected(name))

    def _strategies(self) -> Iterator[tuple[str, str]]:
        yield _USUAL, ""
        names = strategy_names()
        width = max(map(len, names))
        for name in names:
            yield f"{name:<{width}}  {explained(name)}", name

    def _offered_models(self) -> Iterator[tuple[str, str]]:
        yield _USUAL, ""
        for name in self._models:
            yield name, name

    def _numbered_greetings(self) -> Iterator[tuple[str, str]]:
        for number, greeting in enumerate(self._greetings):
            yield f"{number}  {one_line(greeting, 70)}", str(number)

    def _conversation_options(self) -> Iterator[tuple[str, str]]:
        options = [("resume the last conversation", ""), ("start a new conversation", "new")]
        yield from options if self._met else reversed(options)


def _row(label: str, control: Select[str] | Input) -> ComposeResult:
    with Horizontal(classes="row"):
        yield Static(label, classes="label", markup=False)
        yield control


def _menu(name: str, options: Iterator[tuple[str, str]]) -> Select[str]:
    # As Text, because text from outside must not be parsed as markup.
    offered = [(Text(plain(label)), value) for label, value in options]
    return Select(offered, allow_blank=False, id=name, compact=True)
