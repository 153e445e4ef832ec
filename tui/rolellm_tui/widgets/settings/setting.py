"""One setting: what it is called, its value, and a line that explains it or says what is wrong."""

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

ANOTHER = "\0another"
"""The choice of what is typed; no setting has such a value."""


class Setting(Vertical):
    """A row of the settings; its kinds differ in what one does to change the value."""

    DEFAULT_CSS = """
    Setting { height: auto; }
    Setting > Horizontal { height: auto; }
    Setting .label { width: 18; }
    Setting .control { width: 1fr; height: auto; }
    Setting .note { height: auto; margin-left: 18; padding: 0 1; }
    Setting Switch { border: none; height: 1; padding: 0; width: 6; background: transparent; }
    """

    @dataclass
    class Wanted(Message):
        """The person wants another value."""

        setting: "Setting"
        value: object
        """As `write_settings` takes it: None for no value."""

        @property
        def control(self) -> "Setting":
            """The row."""
            return self.setting

    def __init__(self, name: str, label: str, hint: str = "") -> None:
        """A row without a value, until `show`.

        Args:
            name: the setting's.
            label: what a person calls it.
            hint: what it does.
        """
        super().__init__(id=name.replace("_", "-"))
        self.setting = name
        self._label = label
        self._hint = hint
        self._value: object = None
        self._shown = False
        self._locked = False

    def compose(self) -> ComposeResult:
        """Label and control beside each other, the note below."""
        with Horizontal():
            yield Static(self._label, classes="label", markup=False)
            with Vertical(classes="control"):
                yield from self.compose_control()
        yield Static(self._hint, classes="note", markup=False)

    def compose_control(self) -> Iterable[Widget]:
        """What one changes the value with."""
        raise NotImplementedError

    def show(self, value: object, *, hint: str | None = None, given_by: str = "") -> None:
        """Show what holds.

        Args:
            value: the setting's.
            hint: what the line below says, if not what it always says.
            given_by: what gives the value, if it cannot be changed here: a variable or a flag.
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
        """Let the control show a value."""
        raise NotImplementedError

    def explain(self, instead: str = "") -> None:
        """Say what the setting does; or something else."""
        self._say(instead or self._hint, wrong=False)

    def complain(self, sentence: str) -> None:
        """Say what is wrong with what the person wants."""
        self._say(sentence, wrong=True)

    @property
    def held(self) -> object:
        """The value that holds."""
        return self._value

    @property
    def complains(self) -> bool:
        """Whether something is wrong."""
        return self.has_class("wrong")

    @property
    def typed(self) -> object:
        """What stands in the control and may not be kept yet."""
        return self._value

    def want(self, value: object) -> None:
        """Ask for a value, unless it is the one that holds."""
        if value != self._value and not self._locked:
            self.post_message(self.Wanted(self, value))
        elif self.complains:
            self.explain()

    def on_descendant_focus(self) -> None:
        """Let the label tell where one is."""
        self.add_class("current")

    def on_descendant_blur(self) -> None:
        """One is elsewhere."""
        self.remove_class("current")

    def _say(self, text: str, *, wrong: bool) -> None:
        note = self.query_one(".note", Static)
        note.update(plain(text))
        note.display = bool(text)
        self.set_class(wrong, "wrong")


class TypedSetting(Setting):
    """A value that is typed; it is asked for when the person has finished."""

    def __init__(self, name: str, label: str, hint: str = "", *, unset: str = "") -> None:
        """A row without a value.

        Args:
            name: the setting's.
            label: what a person calls it.
            hint: what it does.
            unset: what holds when nothing is typed.
        """
        super().__init__(name, label, hint)
        self._unset = unset

    def compose_control(self) -> Iterable[Widget]:
        """A line."""
        yield Input(placeholder=self._unset, compact=True)

    def put(self, value: object) -> None:
        """As it is typed."""
        self.query_one(Input).value = _written(value)

    @property
    def typed(self) -> object:
        """The line, or what holds when it says the same."""
        text = self.query_one(Input).value.strip()
        return self._value if text == _written(self._value) else text or None

    @on(Input.Blurred)
    @on(Input.Submitted)
    def _finished(self, event: Input.Blurred | Input.Submitted) -> None:
        event.stop()
        self.want(self.typed)


class ChosenSetting(Setting):
    """A value out of a few."""

    def __init__(
        self, name: str, label: str, hint: str = "", *, choices: Mapping[str, str], unset: str = ""
    ) -> None:
        """A row without a value.

        Args:
            name: the setting's.
            label: what a person calls it.
            hint: what it does.
            choices: the values and what they are called.
            unset: what no value is called; empty when there must be one.
        """
        super().__init__(name, label, hint)
        self._choices = choices
        self._unset = unset

    def compose_control(self) -> Iterable[Widget]:
        """A menu."""
        yield Select(self._offered(), compact=True, allow_blank=False)

    def offer(self, choices: Mapping[str, str]) -> None:
        """Other choices."""
        self._choices = choices
        with self.prevent(Select.Changed):
            self.query_one(Select).set_options(self._offered())
            self.put(self._value)

    def put(self, value: object) -> None:
        """Pick it in the menu; what is not there is added."""
        wanted = _written(value)
        menu = self.query_one(Select)
        with self.prevent(Select.Changed):
            if wanted not in self._choices and (wanted or not self._unset):
                self._choices = {**self._choices, wanted: wanted}
                menu.set_options(self._offered())
            menu.value = wanted

    @on(Select.Changed)
    def _chosen(self, event: Select.Changed) -> None:
        event.stop()
        # A menu tells its first value too, and late; by then it may show another.
        if self._shown and event.value == event.select.value:
            self.choose(str(event.value))

    def choose(self, value: str) -> None:
        """Ask for what was picked in the menu."""
        self.want(self._value if value == _written(self._value) else value or None)

    def _offered(self) -> list[tuple[Text, str]]:
        # As Text, since words from outside are no markup.
        unset = {"": self._unset} if self._unset else {}
        return [(Text(one_line(words)), value) for value, words in {**unset, **self._choices}.items()]


class OpenSetting(ChosenSetting):
    """A value out of a few, or another that is typed."""

    def __init__(
        self, name: str, label: str, hint: str = "", *, choices: Mapping[str, str], example: str
    ) -> None:
        """A row without a value.

        Args:
            name: the setting's.
            label: what a person calls it.
            hint: what it does.
            choices: the values and what they are called.
            example: of what can be typed.
        """
        super().__init__(name, label, hint, choices={**choices, ANOTHER: "another…"})
        self._example = example

    def compose_control(self) -> Iterable[Widget]:
        """A menu, and a line that is there when it is needed."""
        yield from super().compose_control()
        line = Input(placeholder=self._example, compact=True)
        line.display = False
        yield line

    def put(self, value: object) -> None:
        """Pick it in the menu."""
        super().put(value)
        self.query_one(Input).display = False

    def choose(self, value: str) -> None:
        """Ask for it, or let the person type another."""
        line = self.query_one(Input)
        line.display = value == ANOTHER
        if value == ANOTHER:
            line.value = ""
            line.focus()
        else:
            super().choose(value)

    @property
    def typed(self) -> object:
        """The line while it is there."""
        line = self.query_one(Input)
        return (line.value.strip() if line.display else "") or self._value

    @on(Input.Blurred)
    @on(Input.Submitted)
    def _finished(self, event: Input.Blurred | Input.Submitted) -> None:
        event.stop()
        if self.typed == self._value:
            # Nothing was typed: what held before holds.
            self.put(self._value)
        self.want(self.typed)


class SwitchedSetting(Setting):
    """Yes or no."""

    def compose_control(self) -> Iterable[Widget]:
        """A switch."""
        yield Switch(animate=False)

    def put(self, value: object) -> None:
        """Turn it on or off."""
        with self.prevent(Switch.Changed):
            self.query_one(Switch).value = bool(value)

    @on(Switch.Changed)
    def _switched(self, event: Switch.Changed) -> None:
        event.stop()
        self.want(event.value)


def _written(value: object) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
