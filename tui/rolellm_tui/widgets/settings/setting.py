"""Rows of the settings: label, control, and a hint or error."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Select, Static, Switch

from rolellm_agents.text import one_line, plain
from rolellm_tui.widgets.common.status_line import ERROR_SIGN

ANOTHER = "\0another"
"""The menu item for typing a value."""


class Setting(Vertical):
    """A row of the settings; subclasses differ in the control."""

    DEFAULT_CSS = """
    Setting { height: auto; }
    Setting > Horizontal { height: auto; }
    Setting .label { width: 18; }
    Setting .control { width: 1fr; height: auto; }
    Setting .note { height: auto; margin-left: 18; padding: 0 1; }
    Setting .control Horizontal { height: auto; }
    Setting .state { width: auto; margin-left: 1; }
    Setting Switch { border: none; height: 1; padding: 0; width: 6; background: transparent; }
    """

    @dataclass
    class Requested(Message):
        """The user changed the value."""

        setting: "Setting"
        value: object
        """As `write_settings` takes it: None for no value."""

        @property
        def control(self) -> "Setting":
            """The row that sent this Textual message."""
            return self.setting

    def __init__(self, name: str, label: str, hint: str = "") -> None:
        """A row without a value, until `show`.

        Args:
            name: of the setting.
            label: displayed name.
            hint: description.
        """
        super().__init__(id=name.replace("_", "-"))
        self.setting = name
        self._label = label
        self._hint = hint
        self._value: object = None
        self._shown = False
        self._locked = False

    def compose(self) -> ComposeResult:
        """Compose the label, the control and the hint."""
        with Horizontal():
            yield Static(self._label, classes="label", markup=False)
            with Vertical(classes="control"):
                yield from self.compose_control()
        yield Static(self._hint, classes="note", markup=False)

    def compose_control(self) -> Iterable[Widget]:
        """Compose the control."""
        raise NotImplementedError

    def show(self, value: object, *, hint: str | None = None, given_by: str = "") -> None:
        """Show a value.

        Args:
            value: the value of the setting.
            hint: replaces the default hint.
            given_by: the variable or option that overrides the setting, if any.
        """
        self._value = value
        self._shown = True
        self._hint = self._hint if hint is None else hint
        self._locked = bool(given_by)
        self.query_one(".control").disabled = self._locked
        self.set_class(self._locked, "locked")
        self.put(value)
        self.explain(f"Set by {given_by}; it cannot be changed here." if given_by else "")

    def put(self, value: object) -> None:
        """Show a value in the control."""
        raise NotImplementedError

    def explain(self, text: str = "") -> None:
        """Show the hint or another text."""
        self._say(text or self._hint, wrong=False)

    def complain(self, sentence: str) -> None:
        """Show an error."""
        self._say(f"{ERROR_SIGN} {sentence}", wrong=True)

    @property
    def held(self) -> object:
        """The current value."""
        return self._value

    @property
    def complains(self) -> bool:
        """Whether an error is shown."""
        return self.has_class("wrong")

    @property
    def typed(self) -> object:
        """The value in the control, possibly unsaved."""
        return self._value

    def want(self, value: object) -> None:
        """Request a value if it differs from the current one."""
        if value != self._value and not self._locked:
            self.post_message(self.Requested(self, value))
        elif self.complains:
            self.explain()

    def on_descendant_focus(self) -> None:
        """Highlight the label."""
        self.add_class("current")

    def on_descendant_blur(self) -> None:
        """Remove the highlight."""
        self.remove_class("current")

    def _say(self, text: str, *, wrong: bool) -> None:
        note = self.query_one(".note", Static)
        note.update(plain(text))
        note.display = bool(text)
        self.set_class(wrong, "wrong")


class TypedSetting(Setting):
    """A setting with a typed value."""

    def __init__(self, name: str, label: str, hint: str = "", *, unset: str = "") -> None:
        """A row without a value.

        Args:
            name: of the setting.
            label: displayed name.
            hint: description.
            unset: text for no value.
        """
        super().__init__(name, label, hint)
        self._unset = unset

    def compose_control(self) -> Iterable[Widget]:
        """Compose the input."""
        yield Input(placeholder=self._unset, compact=True)

    def put(self, value: object) -> None:
        """Show the value in the input."""
        self.query_one(Input).value = _as_text(value)

    @property
    def typed(self) -> object:
        """The typed value, or the current one if equal."""
        text = self.query_one(Input).value.strip()
        return self._value if text == _as_text(self._value) else text or None

    @on(Input.Blurred)
    @on(Input.Submitted)
    def _finished(self, event: Input.Blurred | Input.Submitted) -> None:
        event.stop()
        self.want(self.typed)


class ChosenSetting(Setting):
    """A setting with a value from a menu."""

    def __init__(
        self, name: str, label: str, hint: str = "", *, choices: Mapping[str, str], unset: str = ""
    ) -> None:
        """A row without a value.

        Args:
            name: of the setting.
            label: displayed name.
            hint: description.
            choices: values and labels.
            unset: label of no value; empty if a value is required.
        """
        super().__init__(name, label, hint)
        self._choices = choices
        self._unset = unset

    def compose_control(self) -> Iterable[Widget]:
        """Compose the menu."""
        yield Select(self._options_offered(), compact=True, allow_blank=False)

    def offer(self, choices: Mapping[str, str]) -> None:
        """Replace the choices of the menu."""
        self._choices = choices
        with self.prevent(Select.Changed):
            self.query_one(Select).set_options(self._options_offered())
            self.put(self._value)

    def put(self, value: object) -> None:
        """Select the value, adding it if missing."""
        text = _as_text(value)
        menu = self.query_one(Select)
        with self.prevent(Select.Changed):
            if text not in self._choices and (text or not self._unset):
                self._choices = {**self._choices, text: text}
                menu.set_options(self._options_offered())
            menu.value = text

    @on(Select.Changed)
    def _selected(self, event: Select.Changed) -> None:
        event.stop()
        # A menu also reports its first value, possibly after another was set.
        if self._shown and event.value == event.select.value:
            self.choose(str(event.value))

    def choose(self, value: str) -> None:
        """Request the selected value."""
        self.want(self._value if value == _as_text(self._value) else value or None)

    def _options_offered(self) -> list[tuple[Text, str]]:
        # As Text, because text from outside must not be parsed as markup.
        unset = {"": self._unset} if self._unset else {}
        return [(Text(one_line(label)), value) for value, label in {**unset, **self._choices}.items()]


class OpenSetting(ChosenSetting):
    """A setting with a value from a menu or a typed one."""

    def __init__(
        self, name: str, label: str, hint: str = "", *, choices: Mapping[str, str], example: str
    ) -> None:
        """A row without a value.

        Args:
            name: of the setting.
            label: displayed name.
            hint: description.
            choices: values and labels.
            example: of what can be typed.
        """
        super().__init__(name, label, hint, choices={**choices, ANOTHER: "another…"})
        self._example = example

    def compose_control(self) -> Iterable[Widget]:
        """Compose the menu and the input."""
        yield from super().compose_control()
        line = Input(placeholder=self._example, compact=True)
        line.display = False
        yield line

    def put(self, value: object) -> None:
        """Select the value."""
        super().put(value)
        self.query_one(Input).display = False

    def choose(self, value: str) -> None:
        """Request the selected value, or show the input."""
        line = self.query_one(Input)
        line.display = value == ANOTHER
        if value == ANOTHER:
            line.value = ""
            line.focus()
        else:
            super().choose(value)

    @property
    def typed(self) -> object:
        """The typed value if the input is visible, else the value of the menu."""
        line = self.query_one(Input)
        return (line.value.strip() if line.display else "") or self._value

    @on(Input.Blurred)
    @on(Input.Submitted)
    def _finished(self, event: Input.Blurred | Input.Submitted) -> None:
        event.stop()
        if self.typed == self._value:
            # Nothing was typed: keep the current value.
            self.put(self._value)
        self.want(self.typed)


class SwitchedSetting(Setting):
    """A setting that is on or off."""

    def compose_control(self) -> Iterable[Widget]:
        """Compose the switch, and its state in a word."""
        with Horizontal():
            yield Switch(animate=False)
            yield Static("off", classes="state", markup=False)

    def put(self, value: object) -> None:
        """Turn the switch on or off."""
        with self.prevent(Switch.Changed):
            self.query_one(Switch).value = bool(value)
        self.query_one(".state", Static).update("on" if value else "off")

    @on(Switch.Changed)
    def _switched(self, event: Switch.Changed) -> None:
        event.stop()
        self.want(event.value)


def _as_text(value: object) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
