"""A prompt that completes commands."""

from abc import abstractmethod
from collections.abc import Sequence

from textual import events

from rolellm_tui.slash.completion import Completion
from rolellm_tui.widgets.chat.command_list import CommandList
from rolellm_tui.widgets.chat.prompt import PromptInput


class CommandPrompt(PromptInput):
    """Shows the completions of a command in a list, and gives the list its keys while it is open."""

    def __init__(self, commands: CommandList, *, placeholder: str = "", id: str | None = None) -> None:  # noqa: A002 - as all widgets name it
        """Create an empty prompt.

        Args:
            commands: shows the completions of a command.
            placeholder: shown while there is no text.
            id: the id of the widget.
        """
        super().__init__(id=id, placeholder=placeholder, soft_wrap=True)
        self._commands = commands
        self._listed = ""

    @abstractmethod
    def completed(self, text: str) -> Sequence[Completion]:
        """The rows for a text."""

    def on_text_area_changed(self) -> None:
        """Complete a command."""
        self._list_commands()

    def _list_commands(self) -> None:
        """Show the completions of the text, once for each text: Escape closes them until it changes."""
        if self.text != self._listed:
            self._listed = self.text
            self._commands.show_rows(self.completed(self.text))

    async def _on_key(self, event: events.Key) -> None:
        # The message about the last letter may still be waiting when the next key comes.
        self._list_commands()
        if self._commands.is_open and self._use_for_list(event.key):
            event.stop()
            event.prevent_default()
        else:
            await super()._on_key(event)

    def _use_for_list(self, key: str) -> bool:
        """Use a key for the list of commands; False if the key is the prompt's own."""
        match key:
            case "down" | "up":
                self._commands.move(1 if key == "down" else -1)
            case "escape":
                self._commands.show_rows(())
            case "tab":
                self._complete()
            case "enter":
                return self._enter()
            case _:
                return False
        return True

    def _complete(self) -> bool:
        """Take the highlighted row; whether the command is whole with it."""
        row = self._commands.row
        if row is None:
            return False
        self.put(row.text)
        return row.is_whole

    def _enter(self) -> bool:
        """Take the row that the user means; False to send the text as it is typed.

        An argument is sent as typed unless the user moved to a row: a model that is not in the list may
        begin like one that is.
        """
        row = self._commands.row
        word = self.text.strip()
        is_name = " " not in self.text.lstrip()
        if row is None or row.text.strip() == word or not (is_name or self._commands.is_chosen):
            self._commands.show_rows(())
            return False
        return not self._complete()
