"""The prompt of a chat, which saves drafts and lets the model read ahead."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from textual import events, work
from textual.worker import Worker

from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.session import Session
from rolellm_tui.slash.completion import completions, is_command
from rolellm_tui.slash.own import OwnCommand
from rolellm_tui.widgets.chat.command_choices import CommandChoices
from rolellm_tui.widgets.chat.command_list import CommandList
from rolellm_tui.widgets.chat.prompt import PromptInput
from rolellm_tui.widgets.common.failures import Failed, failure_text

PAUSE = 0.3
"""Seconds without a key press before a draft is saved and prefilled."""


class Composer(PromptInput):
    """The prompt of a session. It restores and saves the draft."""

    def __init__(
        self,
        session: Session,
        *,
        commands: CommandList,
        own: Sequence[OwnCommand] = (),
        id: str | None = None,  # noqa: A002 - as all widgets name it
    ) -> None:
        """Create the prompt of `session`.

        Args:
            session: the session.
            commands: shows the completions of a command.
            own: the user's own commands.
            id: the id of the widget.
        """
        super().__init__(id=id, placeholder="Say something…", soft_wrap=True)
        self._session = session
        self._commands = commands
        self._own_commands = own
        self._choices = CommandChoices(session)
        self._listed = ""

    def on_mount(self) -> None:
        """Restore the draft."""
        self.put(self._session.draft)

    @property
    def sent_lines(self) -> Sequence[str]:
        """The user's lines in the conversation, oldest first."""
        return [message.text for message in self._session.messages if message.speaker == USER]

    @property
    def is_writing(self) -> bool:
        """Whether the user is typing."""
        return self.has_focus and bool(self.text.strip())

    def on_text_area_changed(self) -> None:
        """Complete a command, and restart the pause timer."""
        self._list_commands()
        self.read_ahead()

    def _list_commands(self) -> None:
        """Show the completions of the text, once for each text: Escape closes them until it changes."""
        if self.text == self._listed:
            return
        self._listed = self.text
        if self.text == "/":
            self._choices.forget()
        self._commands.show_rows(completions(self.text, self._own_commands, self._choices))

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

    @work(group="ahead", exclusive=True, exit_on_error=False)
    async def read_ahead(self) -> None:
        """Save the draft and let the model read it."""
        await asyncio.sleep(PAUSE)
        draft = self.text
        await asyncio.to_thread(self._session.keep_draft, draft)
        if not is_command(draft):
            await self._session.read_ahead(draft)

    async def settle(self, text: str) -> None:
        """After sending: delete the draft, or restore the text if it was not recorded.

        What was typed since stays after it.

        Raises:
            StorageError: the draft could not be deleted.
        """
        if self.sent_lines[-1:] == [text.strip()]:
            await asyncio.to_thread(self._session.keep_draft, "")
        else:
            self.put("\n".join(part for part in (text, self.text) if part))

    async def suggest(self) -> None:
        """Let the model write the line. On failure the old text is restored.

        Raises:
            ModelError: the model cannot answer.
            MessageError: an answer is being generated.
        """
        previous, self.text = self.text, ""
        try:
            async with aclosing(self._session.suggest_line()) as chunks:
                async for chunk in chunks:
                    self.insert(chunk)
        finally:
            if not self.text.strip():
                self.put(previous)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Report errors of saving."""
        if failure := failure_text(event):
            self.post_message(Failed(failure))
