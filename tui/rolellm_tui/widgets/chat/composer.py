"""The prompt of a chat, which saves drafts and lets the model read ahead."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from textual import work
from textual.worker import Worker

from rolellm_agents.transcript.message import USER
from rolellm_graphs.chat.session import Session
from rolellm_tui.slash.choices import CommandChoices, chat_choices
from rolellm_tui.slash.commands import offered_commands
from rolellm_tui.slash.completion import Completion, completions, is_command
from rolellm_tui.slash.own import OwnCommand, offered_own
from rolellm_tui.widgets.chat.command_list import CommandList
from rolellm_tui.widgets.chat.command_prompt import CommandPrompt
from rolellm_tui.widgets.common.failures import Failed, failure_text

PAUSE = 0.3
"""Seconds without a key press before a draft is saved and prefilled."""


class Composer(CommandPrompt):
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
        super().__init__(commands, placeholder="Say something…", id=id)
        self._session = session
        self._offered = [*offered_commands(), *offered_own(own)]
        self._choices = CommandChoices(chat_choices(session))

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

    def completed(self, text: str) -> Sequence[Completion]:
        """The rows for a text."""
        if text == "/":
            self._choices.forget()
        return completions(text, self._offered, self._choices)

    def on_text_area_changed(self) -> None:
        """Complete a command, and restart the pause timer."""
        super().on_text_area_changed()
        self.read_ahead()

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
