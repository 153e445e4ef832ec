"""The app: pick a persona in the library, talk in the chat."""

from collections.abc import Callable

from textual.app import App
from textual.binding import Binding

from rolellm_agents.errors import RoleLLMError
from rolellm_agents.persona import Persona
from rolellm_agents.text import plain
from rolellm_agents.transcript import Transcript
from rolellm_graphs.session import Session
from rolellm_tui.screens.chat import ChatScreen
from rolellm_tui.screens.library import LibraryScreen

OpenSession = Callable[[Persona, str | None], Session]
"""From a persona and a conversation's id (None for a new one) to a session."""


class RoleApp(App[RoleLLMError]):
    """Talk with persona agents in the terminal; `run` returns what kept it from beginning, if anything."""

    TITLE = "RoleLLM"
    CSS_PATH = "app.tcss"
    BINDINGS = [
        Binding("ctrl+q", "quit", "Quit", id="quit", tooltip="Leave; everything said is kept."),
    ]

    def __init__(
        self,
        open_session: OpenSession,
        transcript: Transcript,
        *,
        first: Persona | None = None,
        new: bool = False,
    ) -> None:
        """Build the app without running it.

        Args:
            open_session: makes the session for a chosen persona.
            transcript: to find the last conversation with a persona in.
            first: go straight to this one instead of showing the library.
            new: begin a new conversation with `first` instead of going on with the last.
        """
        super().__init__()
        self._open_session = open_session
        self._transcript = transcript
        self._first = first
        self._first_is_new = new

    def on_mount(self) -> None:
        """Show the library, and over it the chat with the first persona, if there is one."""
        try:
            chat = self._chat_with(self._first, new=self._first_is_new) if self._first else None
        except RoleLLMError as error:
            self.exit(error)
            return
        self.push_screen(LibraryScreen())
        if chat:
            self.push_screen(chat)

    def on_library_screen_chosen(self, event: LibraryScreen.Chosen) -> None:
        """Open the chat with the persona that was picked."""
        self._show_chat(event.persona)

    def on_chat_screen_new_conversation(self, event: ChatScreen.NewConversation) -> None:
        """Replace the chat by an empty one with the same persona."""
        self._show_chat(event.persona, new=True)

    def _show_chat(self, persona: Persona, *, new: bool = False) -> None:
        try:
            chat = self._chat_with(persona, new=new)
        except RoleLLMError as error:
            self.notify(plain(str(error)), severity="error", timeout=20, markup=False)
            return
        if isinstance(self.screen, ChatScreen):
            self.switch_screen(chat)
        else:
            self.push_screen(chat)

    def _chat_with(self, persona: Persona, *, new: bool = False) -> ChatScreen:
        """The chat that goes on with the last conversation with `persona`, or begins a new one."""
        earlier = [] if new else self._transcript.conversations(persona.id)
        return ChatScreen(self._open_session(persona, earlier[0].id if earlier else None))
