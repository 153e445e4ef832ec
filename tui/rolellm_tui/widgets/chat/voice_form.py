"""The form that selects strategies and models for a comparison."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.message import Message as Event
from textual.widgets import Static
from textual.widgets.selection_list import Selection

from rolellm_agents.plugins import plugin_version
from rolellm_agents.text import one_line
from rolellm_tui.widgets.common.check_list import CheckList

MOST = 4
"""Maximum number of voices."""

_ABOUT = {
    "system": "the short instruction",
    "zero-shot": "RoleGPT's instruction",
    "few-shot-prompt": "examples as text",
    "few-shot-dialogue": "examples as turns",
    "retrieval": "what is recalled",
}
_MUTED = "$foreground-muted"


class VoiceChoice(NamedTuple):
    """A strategy and a model."""

    strategy: str
    model: str
    """Its name or spec."""


class VoiceForm(Vertical):
    """Selects two to four voices: each selected strategy is combined with each selected model."""

    DEFAULT_CSS = """
    VoiceForm { height: auto; }
    VoiceForm .lists { height: auto; }
    VoiceForm .lists > Vertical { width: 2fr; height: auto; }
    VoiceForm .lists > .left { width: 3fr; }
    VoiceForm CheckList { height: auto; max-height: 12; }
    """
    BINDINGS = [
        Binding("enter", "begin", "Begin", id="compare.begin", tooltip="Start.", priority=True),
        Binding("left", "across(0)", "Strategies", id="compare.strategies", show=False),
        Binding("right", "across(1)", "Models", id="compare.models", show=False),
    ]

    @dataclass
    class Chosen(Event):
        """The user starts the comparison."""

        choices: Sequence[VoiceChoice]

    def __init__(self, strategies: Sequence[str], models: Sequence[str]) -> None:
        """Create the form. The first two strategies and the first model are selected.

        Args:
            strategies: the names of strategies, that of the conversation first.
            models: the names or specs of models, that of the conversation first.
        """
        super().__init__()
        self._strategies = strategies
        self._models = models

    def compose(self) -> ComposeResult:
        """Compose two lists and a summary."""
        with Horizontal(classes="lists"):
            with Vertical(classes="left"):
                yield Static("Strategies", classes="title", markup=False)
                yield CheckList(
                    *(
                        Selection(
                            _line(
                                name,
                                _ABOUT.get(name)
                                or one_line(plugin_version("rolellm.strategies", name), 60),
                            ),
                            name,
                            number < 2,
                        )
                        for number, name in enumerate(self._strategies)
                    ),
                    classes="strategies",
                )
            with Vertical():
                yield Static("Models", classes="title", markup=False)
                yield CheckList(
                    *(
                        Selection(_line(name, "" if number else "current"), name, not number)
                        for number, name in enumerate(self._models)
                    ),
                    classes="models",
                )
        yield Static("", classes="outcome", markup=False)

    def on_mount(self) -> None:
        """Focus the strategies."""
        self.query_one(".strategies", CheckList).focus()
        self._show_outcome()

    @property
    def choices(self) -> list[VoiceChoice]:
        """The selected voices, in order."""
        strategies, models = self._selected_in(".strategies"), self._selected_in(".models")
        return [
            VoiceChoice(strategy, model)
            for model in self._models
            if model in models
            for strategy in self._strategies
            if strategy in strategies
        ]

    def _selected_in(self, selector: str) -> Sequence[str]:
        return self.query_one(selector, CheckList).selected

    @on(CheckList.SelectedChanged)
    def _show_outcome(self) -> None:
        count = len(self.choices)
        outcome = self.query_one(".outcome", Static)
        outcome.set_class(not 2 <= count <= MOST, "wrong")
        if count < 2:
            outcome.update("Select one more; a comparison needs two voices.")
        elif count > MOST:
            outcome.update(f"{count} voices selected, but at most {MOST} fit on the screen; deselect some.")
        else:
            outcome.update(f"{count} voices will answer. Space selects, Enter starts.")

    def action_begin(self) -> None:
        """Start the comparison if the number of voices is valid."""
        choices = self.choices
        if 2 <= len(choices) <= MOST:
            self.post_message(self.Chosen(choices))

    def action_across(self, side: int) -> None:
        """Focus the other list."""
        self.query(CheckList)[side].focus()


def _about(strategy: str) -> str:
    """A strategy in a few words, or the package that provides it."""
    return _ABOUT.get(strategy) or one_line(plugin_version("rolellm.strategies", strategy), 60)


def _line(name: str, note: str) -> Content:
    return Content.assemble(one_line(name), (f"  {note}", _MUTED))
