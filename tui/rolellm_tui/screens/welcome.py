"""The welcome screen: a greeting from a character, and a short introduction."""

import random
import re
from functools import partial
from typing import Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from rolellm_agents.config.settings import DEFAULT_MODEL, DEFAULT_USER
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.text import one_line, plain
from rolellm_agents.text.language import Language
from rolellm_tui.widgets.common.key_footer import KeyFooter

GREETERS: dict[Language, tuple[str, ...]] = {
    "en": (
        "sherlock-holmes",
        "gregory-house",
        "hal-9000",
        "jack-sparrow",
        "queen-elizabeth-i",
        "tyrion-lannister",
    ),
    "zh": ("sun-wukong", "li-bai"),
}
"""Well-known bundled personas."""
SECONDS = 0.9
"""Seconds until the complete greeting is shown."""
_FRAME = 1 / 30
"""Minimum seconds between two steps."""

Answer = Literal["talk", "library"]


def pick_greeter(language: Language = "en") -> Persona:
    """Choose a random persona that greets the user.

    Raises:
        PersonaError: a file of the user replaces that persona and is invalid.
    """
    return load_persona(random.choice(GREETERS[language]))  # noqa: S311 - nothing hangs on it


class WelcomeScreen(Screen[Answer]):
    """Greets the user. Returns "talk" or "library"."""

    CSS_PATH = "welcome.tcss"
    VERTICAL_BREAKPOINTS = [(0, "-short"), (28, "-tall")]
    BINDINGS = [
        Binding("enter", "talk", "Talk", id="welcome.talk", tooltip="Talk with this character."),
        Binding("l", "library", "Library", id="welcome.library", tooltip="Open the library."),
    ]

    def __init__(self, greeter: Persona, *, user: str = DEFAULT_USER, model: str = DEFAULT_MODEL) -> None:
        """Create the screen.

        Args:
            greeter: the greeting persona.
            user: replaces `{{user}}` in the greeting.
            model: the model that will answer, as the settings name it.
        """
        super().__init__()
        self._model = model
        self._greeter = greeter
        self._greeting = plain(with_macros(greeter, user).greeting)

    def compose(self) -> ComposeResult:
        """Compose the greeting, the introduction and the keys."""
        name = one_line(self._greeter.name)
        with Vertical(id="welcome"):
            yield Static("R o l e L L M", id="title", markup=False)
            yield Static(name, id="name", markup=False)
            yield _WordByWord(self._greeting, id="greeting")
            yield Static(_ABOUT, id="about", markup=False)
            yield Static(_keys(name), id="keys", markup=False)
            yield Static(_models(self._model), id="models", markup=False)
        yield KeyFooter()

    def use_model(self, model: str) -> None:
        """Show another model as the one that answers."""
        self.query_one("#models", Static).update(_models(model))

    def action_talk(self) -> None:
        """Talk with the greeter."""
        self.dismiss("talk")

    def action_library(self) -> None:
        """Open the library."""
        self.dismiss("library")


class _WordByWord(Static):
    """Text that appears word by word."""

    def __init__(self, text: str, *, id: str) -> None:  # noqa: A002 - as all widgets name it
        super().__init__(text, id=id, markup=False)
        # A word with the space after it; each Chinese character is a word.
        self._words = re.findall(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+\s*|\s+", text)
        self._appearing = False

    def on_mount(self) -> None:
        self._appearing = self.app.animation_level == "none"
        # The complete text is laid out invisibly first, to reserve its space.
        self.styles.text_opacity = float(self._appearing)

    def on_resize(self, event: events.Resize) -> None:
        if self._appearing:
            return
        self._appearing = True
        self.styles.text_opacity = 1.0
        self.styles.min_height = event.size.height
        self._say(0)
        steps = max(1, min(len(self._words), round(SECONDS / _FRAME)))
        for step in range(1, steps + 1):
            self.set_timer(SECONDS * step / steps, partial(self._say, len(self._words) * step // steps))

    def _say(self, count: int) -> None:
        self.update("".join(self._words[:count]))


_ABOUT = (
    "Characters with a voice of their own, to talk with in your terminal.\n"
    "Conversations are saved on this computer."
)


def _keys(name: str) -> Content:
    return Content.assemble(
        ("Enter", "bold $text-primary"),
        f"  talk with {name}     ",
        ("L", "bold $text-primary"),
        "  open the library",
    )


def _models(model: str) -> Content:
    return Content.assemble(
        f"{_speaker(model)}\n",
        ("F12", "bold $text-primary"),
        "  choose or download another one",
    )


def _speaker(model: str) -> str:
    """Which model answers, and what to expect of it."""
    if model == DEFAULT_MODEL:
        return "The small bundled model answers, offline. Larger ones play their roles far better."
    return f"The model {one_line(model, 60)} answers."
