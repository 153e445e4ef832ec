"""The first thing one sees: a character says hello, and what this is stands below."""

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
from textual.widgets import Footer, Static

from rolellm_agents.config.settings import DEFAULT_USER
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.persona.from_card.conversion import with_macros
from rolellm_agents.text import one_line, plain
from rolellm_agents.text.language import Language

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
"""Bundled personas whom many know and whose greeting draws one in."""
SECONDS = 0.9
"""In which the greeting is there."""
_FRAME = 1 / 30
"""Seconds between two steps at least."""

Answer = Literal["talk", "library"]


def pick_greeter(language: Language = "en") -> Persona:
    """One of the greeters, not always the same.

    Raises:
        PersonaError: a file of the person's own hides it and cannot be used.
    """
    return load_persona(random.choice(GREETERS[language]))  # noqa: S311 - nothing hangs on it


class WelcomeScreen(Screen[Answer]):
    """Dismisses with "talk", to talk with the greeter, or "library", to see everybody."""

    CSS_PATH = "welcome.tcss"
    VERTICAL_BREAKPOINTS = [(0, "-short"), (28, "-tall")]
    BINDINGS = [
        Binding("enter", "talk", "Talk", id="welcome.talk", tooltip="Talk with who just spoke."),
        Binding("l", "library", "Everybody", id="welcome.library", tooltip="See whom else there is."),
    ]

    def __init__(self, greeter: Persona, *, user: str = DEFAULT_USER) -> None:
        """Let somebody say hello.

        Args:
            greeter: who does.
            user: what stands for `{{user}}` in the greeting.
        """
        super().__init__()
        self._greeter = greeter
        self._greeting = plain(with_macros(greeter, user).greeting)

    def compose(self) -> ComposeResult:
        """The greeting, two lines about this, and what the keys do."""
        name = one_line(self._greeter.name)
        with Vertical(id="welcome"):
            yield Static("R o l e L L M", id="title", markup=False)
            yield Static(name, id="name", markup=False)
            yield _Spoken(self._greeting, id="greeting")
            yield Static(_ABOUT, id="about", markup=False)
            yield Static(_keys(name), id="keys", markup=False)
            yield Static(_models(), id="models", markup=False)
        yield Footer()

    def action_talk(self) -> None:
        """Talk with the greeter."""
        self.dismiss("talk")

    def action_library(self) -> None:
        """See everybody."""
        self.dismiss("library")


class _Spoken(Static):
    """Words that come one after the other, once they have a place."""

    def __init__(self, text: str, *, id: str) -> None:  # noqa: A002 - as all widgets name it
        super().__init__(text, id=id, markup=False)
        # A word with the space behind it; a Chinese character is a word.
        self._words = re.findall(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+\s*|\s+", text)
        self._begun = False

    def on_mount(self) -> None:
        self._begun = self.app.animation_level == "none"
        # Until it begins the whole text is there unseen, which tells how much room it takes.
        self.styles.text_opacity = float(self._begun)

    def on_resize(self, event: events.Resize) -> None:
        if self._begun:
            return
        self._begun = True
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
    "Every word is kept on this computer; go on whenever you like."
)


def _keys(name: str) -> Content:
    return Content.assemble(
        ("Enter", "bold $text-primary"),
        f"  talk with {name}     ",
        ("L", "bold $text-primary"),
        "  see everybody",
    )


def _models() -> Content:
    return Content.assemble(
        "What runs now is the small model in the box, offline.\nA better one:  ",
        ("rolellm chat --model openai:gpt-4o-mini", "$foreground"),
        "\nWhat there is:  ",
        ("rolellm models list", "$foreground"),
    )
