"""The app: the library, chats, scenes, conversations and settings."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual import work
from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.screen import Screen

from rolellm_agents.chat_files.scenes import SCENE
from rolellm_agents.config.foreign_files import keep_agreement
from rolellm_agents.config.settings import DEFAULT_USER, load_settings, write_settings
from rolellm_agents.errors import RoleLLMError, SettingsError, TrustError
from rolellm_agents.persona import Persona, load_persona
from rolellm_agents.persona.editing.lorebook_document import LorebookDocument
from rolellm_agents.persona.user_persona import current_user_persona
from rolellm_agents.scene import LoadedScene, agreed, cast_scene, without_models
from rolellm_agents.scene.file_models import file_models
from rolellm_agents.text import did_you_mean, plain
from rolellm_agents.transcript import ConversationSummary, Transcript
from rolellm_agents.transcript.upkeep.checking import damage_of
from rolellm_graphs.scene.stage import Stage, stored_scene
from rolellm_tui.commands import RoleCommands
from rolellm_tui.editing import chat_persona_editor, library_persona_editor, lorebook_editor, scene_editor
from rolellm_tui.habits import AppHabits
from rolellm_tui.notices import notice_sequence, run_notice_command
from rolellm_tui.places import Place
from rolellm_tui.screens.chat import ChatScreen
from rolellm_tui.screens.conversations import ConversationsScreen
from rolellm_tui.screens.export import ExportScreen
from rolellm_tui.screens.file_models import FileModelsScreen
from rolellm_tui.screens.keys import KeysScreen
from rolellm_tui.screens.library import LibraryScreen
from rolellm_tui.screens.models import ModelsScreen
from rolellm_tui.screens.pick_lorebook import PickLorebookScreen
from rolellm_tui.screens.scene import SceneScreen
from rolellm_tui.screens.scenes import ScenesScreen
from rolellm_tui.screens.settings import Override, SettingsScreen
from rolellm_tui.screens.welcome import WelcomeScreen, pick_greeter
from rolellm_tui.sessions import OpenSession
from rolellm_tui.slash.settings import change_setting
from rolellm_tui.staging import OpenStage, stage_opener, usual_ensemble, with_director
from rolellm_tui.themes.readable import with_readable_texts
from rolellm_tui.themes.theme_file import find_themes
from rolellm_tui.widgets.chat.opening import ChatOpening
from rolellm_tui.widgets.chat.prompt import PromptInput
from rolellm_tui.widgets.common.notice import Notice

if TYPE_CHECKING:
    from rolellm_tui.widgets.library.portrait import PixelWidget


_TERMINAL_SECONDS = 1.0
"""Seconds between checks whether the terminal still exists."""


def has_terminal() -> bool:
    """Whether standard input is a terminal that is still open."""
    return sys.__stdin__ is not None and not sys.__stdin__.closed and os.isatty(sys.__stdin__.fileno())


class RoleApp(App[RoleLLMError]):
    """The app. `run` returns the error that prevented its start, or None."""

    TITLE = "RoleLLM"
    CSS_PATH = "app.tcss"
    COMMANDS = App.COMMANDS | {RoleCommands}
    BINDINGS = [
        Binding("ctrl+s", "conversations", "Talks", id="conversations", tooltip="All conversations."),
        Binding("f2", "settings", "Settings", id="settings", tooltip="Model, strategy, theme.", show=False),
        Binding("f12", "models", "Models", id="models", tooltip="Choose or download a model.", show=False),
        Binding("f1", "keys", "Keys", id="keys", tooltip="Key bindings of this screen."),
        Binding("ctrl+q", "quit", "Quit", id="quit", tooltip="Quit. All messages are saved."),
        Binding(
            "ctrl+p",
            "command_palette",
            "Palette",
            id="palette",
            tooltip="The command palette, with all actions.",
            show=False,
            priority=True,
        ),
    ]

    def __init__(
        self,
        open_session: OpenSession,
        transcript: Transcript,
        *,
        first: Persona | None = None,
        first_path: Path | None = None,
        new: bool = False,
        welcome: bool = False,
        theme: str = "",
        user: str = DEFAULT_USER,
        habits: AppHabits | None = None,
        flags: Mapping[str, Override] | None = None,
        pixels: "PixelWidget | None" = None,
        stage: Stage | None = None,
        open_stage: OpenStage | None = None,
        back_to: Place | None = None,
    ) -> None:
        """Build the app without running it.

        Args:
            open_session: opens the session for a chosen persona.
            transcript: stores all conversations.
            first: the persona whose chat is opened at the start instead of the library.
            first_path: the file of `first` if it was named by path.
            new: start a new conversation with `first` instead of resuming the last one.
            welcome: show the welcome screen to users without conversations.
            theme: the name of a theme; Textual's default when empty or unknown.
            user: replaces `{{user}}` in cards.
            habits: the keys of prompts, notices, and the width of texts; the defaults when None.
            flags: the settings that command-line options override.
            pixels: draws portraits in pixels, from `find_pixels`; None for half blocks.
            stage: the scene that is opened at the start.
            open_stage: opens the stage for a chosen scene; None uses the settings.
            back_to: where the app of the same browser tab was before, instead of `first`.
        """
        # Textual asks for our variables of style sheets at once.
        self._habits = habits or AppHabits()
        super().__init__()
        self._open_session = open_session
        self.transcript = transcript
        self._first = first
        self._first_path = first_path
        self._first_is_new = new
        self._welcomes = welcome
        self._user = user
        self._flags = dict(flags or {})
        self._pixels = pixels
        self._first_stage = stage
        self._back_to = back_to
        self._left_chats: dict[str, ChatOpening] = {}
        """How each chat was left, by its conversation, or by its persona if it had no messages."""
        self._open_stage = open_stage or stage_opener(transcript, usual_ensemble)
        found = find_themes()
        self._theme_notes = list(found.notes)
        for one in found.themes:
            self.register_theme(one)
        if theme in self.available_themes:
            self.theme = theme
        elif theme:
            meant = did_you_mean(theme, self.available_themes)
            self._theme_notes.append(f"There is no theme {theme!r}{meant}.")
        self._theme_kept = self.theme

    def on_load(self) -> None:
        """Let SIGTERM quit the app, which restores the terminal and saves messages, with the code 143."""
        # The driver of the browser has a handler of its own, and Windows has no such signal.
        if not self.is_web and not self.is_headless and sys.platform != "win32":
            loop, code = asyncio.get_running_loop(), 128 + signal.SIGTERM
            loop.add_signal_handler(signal.SIGTERM, lambda: self.exit(return_code=code))

    def on_mount(self) -> None:
        """Show the library, and on top of it the first chat or scene, or the welcome screen."""
        if has_terminal():
            self.set_interval(_TERMINAL_SECONDS, self._leave_with_terminal)
        try:
            chat = self._first_chat()
            conversations = self.transcript.conversations()
        except RoleLLMError as error:
            self.exit(error)
            return
        for note in self._theme_notes:
            self.notify(plain(note), severity="warning", timeout=20, markup=False)
        self._look_for_damage()
        self.push_screen(LibraryScreen(_recent(conversations), user=self._user, pixels=self._pixels))
        if self._back_to:
            self._go_back(self._back_to)
        elif chat:
            self.push_screen(chat)
        elif self._first_stage:
            self.push_screen(SceneScreen(self._first_stage))
        elif self._welcomes and not conversations:
            self._welcome()

    @work(group="damage", exit_on_error=False)
    async def _look_for_damage(self) -> None:
        """Tell that the transcript is damaged in places that are not read at the start."""
        if error := await asyncio.to_thread(damage_of, self.transcript.file):
            self._complain(error)

    def _first_chat(self) -> ChatScreen | None:
        if self._first is None or self._back_to is not None:
            return None
        return self._chat(ChatOpening(self._first, self._first_path, new=self._first_is_new))

    def _leave_with_terminal(self) -> None:
        """Quit when the terminal was closed; Textual would keep polling it.

        SIGHUP usually ends the process, but not under a parent that waits for it, such as `make`.
        """
        if not has_terminal():
            self.exit()

    def _welcome(self) -> None:
        try:
            greeter, model = pick_greeter(), load_settings().model
        except RoleLLMError as error:
            self._complain(error)
            return
        if "model" in self._flags:
            model = str(self._flags["model"].value)

        def go_on(chosen: str | None) -> None:
            if chosen == "talk":
                self._open(ChatOpening(greeter))

        self.push_screen(WelcomeScreen(greeter, user=self._user, model=model), go_on)

    # Requests of screens and commands

    def on_library_screen_chosen(self, event: LibraryScreen.Chosen) -> None:
        """Open the chat with the chosen persona."""
        opening = ChatOpening(
            event.persona,
            new=event.new,
            strategy=event.strategy,
            model=event.model,
            greeting=event.greeting,
        )
        self._open(opening if event.new else self._as_left(opening))

    def on_chat_screen_new_conversation(self, event: ChatScreen.NewConversation) -> None:
        """Start a new conversation with the same persona."""
        self._open(ChatOpening(event.persona, event.path, new=True))

    def on_chat_screen_persona_edit_requested(self, event: ChatScreen.PersonaEditRequested) -> None:
        """Edit the persona of a chat; the chat goes on with the persona as it was saved."""
        chat = event.chat

        def go_on(persona: Persona | None) -> None:
            if persona is not None:
                self._open(replace(chat.opening, persona=persona))

        try:
            editor = chat_persona_editor(chat.session, chat.opening.path)
        except RoleLLMError as error:
            self._complain(error)
        else:
            self.push_screen(editor, go_on)

    def on_library_screen_edit_requested(self, event: LibraryScreen.EditRequested) -> None:
        """Edit a persona of the library, or write a new one."""
        library = next(screen for screen in self.screen_stack if isinstance(screen, LibraryScreen))

        def go_on(persona: Persona | None) -> None:
            if persona is not None:
                library.show_edited(persona)

        try:
            editor = library_persona_editor(event.found, self._user)
        except RoleLLMError as error:
            self._complain(error)
        else:
            self.push_screen(editor, go_on)

    def on_library_screen_lorebook_requested(self, event: LibraryScreen.LorebookRequested) -> None:
        """Ask for a lorebook, and edit it."""

        def edit(document: LorebookDocument | None) -> None:
            if document is None:
                return
            try:
                self.push_screen(lorebook_editor(document, event.persona, self._user))
            except RoleLLMError as error:
                self._complain(error)

        self.push_screen(PickLorebookScreen(), edit)

    def on_chat_screen_reopened(self, event: ChatScreen.Reopened) -> None:
        """Go on with other options or another persona."""
        self._open(event.opening, event.chat.refuse)

    def on_chat_screen_conversation_chosen(self, event: ChatScreen.ConversationChosen) -> None:
        """Open another conversation."""
        self.go_on_with(event.conversation)

    def on_chat_screen_setting_given(self, event: ChatScreen.SettingGiven) -> None:
        """Save a setting, and go on with it."""
        try:
            overridden = {name: override.by for name, override in self._flags.items()}
            change_setting(event.text, self._apply_setting, overridden)
        except RoleLLMError as error:
            event.chat.refuse(error)

    def _apply_setting(self, name: str) -> None:
        """Go on with a changed setting.

        Raises:
            RoleLLMError: the chat cannot be opened with it.
        """
        if isinstance(self.screen, ChatScreen):
            opening = self.screen.opening
            # A new setting takes precedence over what was chosen for this chat.
            strategy = None if name == "strategy" else opening.strategy
            model = None if name == "model" else opening.model
            self._show(self._chat(replace(opening, strategy=strategy, model=model)))
        self._take_name()
        self._take_habits()
        theme = load_settings().theme
        if theme in self.available_themes:
            self.theme = theme

    def on_chat_screen_left(self, event: ChatScreen.Left) -> None:
        """Sort the library by most recent conversation, and show all of it."""
        self._keep_choice(event.opening)
        for screen in self.screen_stack:
            if isinstance(screen, LibraryScreen):
                screen.forget_search()
                screen.recent = _recent(self.transcript.conversations())

    def on_conversations_screen_opened(self, event: ConversationsScreen.Opened) -> None:
        """Open the chosen conversation."""
        self.go_on_with(event.conversation, event.message)

    def talk_with(self, persona_id: str) -> None:
        """Open the chat with a persona."""
        try:
            opening = self._as_left(ChatOpening(load_persona(persona_id)))
        except RoleLLMError as error:
            self._complain(error)
            return
        self._open(opening)

    def go_on_with(self, conversation: str, message: str | None = None) -> None:
        """Open a conversation or a scene, at a message if one is named."""
        try:
            summary = self.transcript.find_conversation(conversation)
            persona = None if summary.persona.startswith(SCENE) else self._persona(summary.persona)
        except RoleLLMError as error:
            self._complain(error)
            return
        if persona is None:
            self._go_on_with_scene(summary.id, message)
        else:
            self._open(self._as_left(ChatOpening(persona, conversation=conversation, at=message)))

    def _persona(self, persona_id: str) -> Persona:
        """A persona by its id; that of the command line may be in a file that is in no list."""
        first = self._first
        return first if first and first.id == persona_id else load_persona(persona_id)

    def _go_back(self, place: Place) -> None:
        """Open the chat or scene where the app of this browser tab was."""
        if place.persona is None:
            self.go_on_with(place.conversation or "")
            return
        try:
            persona = self._persona(place.persona)
        except RoleLLMError as error:
            self._complain(error)
            return
        self._open(
            ChatOpening(
                persona,
                self._first_path if persona is self._first else None,
                place.conversation,
                new=place.conversation is None,
                strategy=place.strategy,
                model=place.model,
                greeting=place.greeting,
            )
        )

    def use_strategy(self, name: str) -> None:
        """Switch the strategy of the current chat."""
        if isinstance(self.screen, ChatScreen):
            self._open(replace(self.screen.opening, strategy=name))
        else:
            self.notify("Open a chat first; a strategy applies to a chat.")

    def use_preset(self, name: str | None) -> None:
        """Save the preset in the settings, and go on with it."""
        if "preset" in self._flags:
            self._complain(SettingsError("--preset sets the preset; start without it to choose another."))
            return
        try:
            write_settings({"preset": name})
        except RoleLLMError as error:
            self._complain(error)
        else:
            self._take_settings(True)

    def action_conversations(self) -> None:
        """Show all conversations."""
        if not isinstance(self.screen, ConversationsScreen):
            self.push_screen(ConversationsScreen(self.transcript))

    def action_settings(self) -> None:
        """Show the settings. A chat applies changes at once."""
        if not isinstance(self.screen, SettingsScreen):
            self.push_screen(SettingsScreen(self._flags), self._take_settings)

    def action_models(self) -> None:
        """Show the models. A chat applies a change at once."""
        if not isinstance(self.screen, ModelsScreen):
            self.push_screen(ModelsScreen(self._flags.get("model")), self._take_settings)

    def action_keys(self) -> None:
        """Show the key bindings of the screen."""
        if not isinstance(self.screen, KeysScreen):
            self.push_screen(KeysScreen())

    def _take_settings(self, changed: bool | None) -> None:
        if not changed:
            return
        self._take_name()
        self._take_habits()
        if isinstance(self.screen, WelcomeScreen):
            self.screen.use_model(load_settings().model)
        screens = (screen for screen in self.screen_stack if isinstance(screen, ChatScreen | SceneScreen))
        match next(screens, None):
            case ChatScreen() as chat if chat is self.screen and not chat.answering:
                self._open(replace(chat.opening, strategy=None, model=None))
            case ChatScreen():
                self.notify("The settings apply from the next chat on.")
            case SceneScreen():
                self.notify("The settings apply from the next scene on.")

    def _take_name(self) -> None:
        try:
            self._user = current_user_persona(load_settings()).name
        except RoleLLMError as error:
            self._complain(error)
            return
        for screen in self.screen_stack:
            if isinstance(screen, LibraryScreen):
                screen.user = self._user

    # Keys of prompts, notices, and the width of texts

    def _take_habits(self) -> None:
        try:
            self._habits = AppHabits.of(load_settings())
        except RoleLLMError as error:
            self._complain(error)
            return
        self.refresh_css(animate=False)
        for screen in self.screen_stack:
            if isinstance(screen, ChatScreen):
                screen.text_width = self._habits.text_width
            for prompt in screen.query(PromptInput):
                prompt.vim_keys = self._habits.vim_keys

    def on_prompt_input_opened(self, event: PromptInput.Opened) -> None:
        """Give a prompt the keys that the user has chosen."""
        event.prompt.vim_keys = self._habits.vim_keys

    def on_notice(self, event: Notice) -> None:
        """Tell people who look at another window."""
        if not self.app_focus and not self.is_web:
            self._tell_outside(event.text)

    def _tell_outside(self, text: str) -> None:
        kind, command = self._habits.notice, self._habits.notice_command
        if kind == "notice" and command:
            self._run_notice_command(command, text)
        elif self._driver is not None and (sequence := notice_sequence(kind, self.TITLE, text, os.environ)):
            self._driver.write(sequence)
            self._driver.flush()

    @work(group="notice", exit_on_error=False)
    async def _run_notice_command(self, command: str, text: str) -> None:
        try:
            await run_notice_command(command, self.TITLE, text)
        except RoleLLMError as error:
            self._complain(error)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The variables of our style sheets."""
        return self._habits.style_variables

    def get_css_variables(self) -> dict[str, str]:
        """The variables of all style sheets; the texts of every theme can be read."""
        self.theme_variables = with_readable_texts(super().get_css_variables())
        return self.theme_variables

    def get_system_commands(self, screen: Screen[Any]) -> Iterator[SystemCommand]:
        """Textual's system commands, without those that the app replaces."""
        for command in super().get_system_commands(screen):
            if command.title not in ("Keys", "Quit"):
                yield command

    def watch_theme(self, theme: str) -> None:
        """Save a chosen theme."""
        if self.is_running and theme != self._theme_kept:
            self._theme_kept = theme
            self._keep_theme(theme)

    @work(thread=True, group="theme", exclusive=True, exit_on_error=False)
    def _keep_theme(self, theme: str) -> None:
        try:
            write_settings({"theme": theme})
        except RoleLLMError as error:
            self.call_from_thread(self._complain, error)

    # Chats

    def _open(self, opening: ChatOpening, refuse: Callable[[RoleLLMError], None] | None = None) -> None:
        """Show a chat, or tell the error by `refuse`, by default in a notification."""
        try:
            chat = self._chat(opening)
        except RoleLLMError as error:
            (refuse or self._complain)(error)
        else:
            self._show(chat)

    def _chat(self, opening: ChatOpening) -> ChatScreen:
        conversation = opening.conversation or (None if opening.new else self._latest(opening.persona))
        options = {"strategy": opening.strategy, "model": opening.model}
        session = self._open_session(
            opening.persona, conversation, **{key: value for key, value in options.items() if value}
        )
        if opening.at is not None and opening.at not in (message.id for message in session.messages):
            session.choose(opening.at)
        return ChatScreen(session, opening, text_width=self._habits.text_width, pixels=self._pixels)

    def _keep_choice(self, left: ChatOpening) -> None:
        """Keep what was chosen in a chat for the next time that it is opened."""
        self._left_chats[left.conversation or left.persona.id] = left

    def _as_left(self, opening: ChatOpening) -> ChatOpening:
        """The opening with the model, the strategy and the stopped command with which the chat was left.

        Raises:
            StorageError: the transcript cannot be read.
        """
        place = opening.conversation or self._latest(opening.persona) or opening.persona.id
        left = self._left_chats.get(place)
        if left is None:
            return opening
        return replace(
            opening,
            strategy=opening.strategy or left.strategy,
            model=opening.model or left.model,
            stopped=left.stopped,
        )

    def _latest(self, persona: Persona) -> str | None:
        earlier = self.transcript.conversations(persona.id)
        return earlier[0].id if earlier else None

    def _show(self, screen: ChatScreen | SceneScreen) -> None:
        """Replace the screen above the library."""
        while not isinstance(self.screen, LibraryScreen) and len(self.screen_stack) > 1:
            if isinstance(self.screen, ChatScreen) and self.screen.is_complete:
                self._keep_choice(self.screen.opening)
            self.pop_screen()
        self.push_screen(screen)

    # Scenes

    def on_library_screen_scenes_requested(self, event: LibraryScreen.ScenesRequested) -> None:
        """Show the scenes that can be played."""
        self.push_screen(ScenesScreen(self.transcript))

    def on_scenes_screen_edit_requested(self, event: ScenesScreen.EditRequested) -> None:
        """Edit a scene's file, or write a new one. The list of scenes reads it again when it comes back."""
        try:
            self.push_screen(scene_editor(event.found))
        except RoleLLMError as error:
            self._complain(error)

    def on_scenes_screen_chosen(self, event: ScenesScreen.Chosen) -> None:
        """Play the chosen scene, resumed unless a new start is requested."""
        offered = event.offered
        if offered.begun and not event.new:
            self._go_on_with_scene(offered.begun.id)
        else:
            self._open_scene(lambda: (cast_scene(offered.scene, offered.found.path), None))

    def on_scene_screen_new_scene(self, event: SceneScreen.NewScene) -> None:
        """Restart a scene."""
        self._open_scene(lambda: (event.scene, None))

    def on_scene_screen_director_chosen(self, event: SceneScreen.DirectorChosen) -> None:
        """Go on with another director."""
        try:
            stage = with_director(event.scene.stage, event.kind, self._open_stage)
        except RoleLLMError as error:
            event.scene.refuse(error)
        else:
            self._show(SceneScreen(stage))

    def on_scene_screen_export_requested(self, event: SceneScreen.ExportRequested) -> None:
        """Export a scene."""
        self._export(event.conversation)

    def on_chat_screen_export_requested(self, event: ChatScreen.ExportRequested) -> None:
        """Export a conversation."""
        self._export(event.conversation)

    def _export(self, conversation: str) -> None:
        try:
            summary = self.transcript.find_conversation(conversation)
        except RoleLLMError as error:
            self._complain(error)
            return

        def notify_written(path: Path | None) -> None:
            if path:
                self.notify(plain(f"Written to {path}."), markup=False)

        self.push_screen(
            ExportScreen(self.transcript, summary, summary.title or summary.last), notify_written
        )

    def _go_on_with_scene(self, conversation: str, message: str | None = None) -> None:
        def find_scene() -> tuple[LoadedScene, int]:
            return stored_scene(self.transcript, conversation)

        self._open_scene(find_scene, conversation, at=message)

    def _open_scene(
        self,
        find: Callable[[], tuple[LoadedScene, int | None]],
        conversation: str | None = None,
        *,
        at: str | None = None,
    ) -> None:
        """Show a scene, or a notification with the error."""
        try:
            scene, seed = find()
            options = {} if seed is None else {"seed": seed}
            stage = self._open_stage(scene, conversation, **options)
            if at is not None and at not in (message.id for message in stage.messages):
                stage.choose(at)
        except TrustError as error:
            self._ask_about_models(scene, error)
        except RoleLLMError as error:
            self._complain(error)
        else:
            self._show(SceneScreen(stage))

    def _ask_about_models(self, scene: LoadedScene, error: TrustError) -> None:
        """Start a scene from elsewhere after asking whether the models in its file count."""
        file = scene.foreign
        if file is None:
            self._complain(error)
            return
        models = file_models(scene.scene)

        def go_on(agrees: bool | None) -> None:
            if agrees is None:
                return
            if agrees:
                try:
                    keep_agreement(file, [f"{one.place}: {one.spec}" for one in models])
                except RoleLLMError as problem:
                    self._complain(problem)
                    return
            self._open_scene(lambda: (agreed(scene) if agrees else without_models(scene), None))

        self.push_screen(FileModelsScreen(file, models, load_settings().model), go_on)

    def _complain(self, error: RoleLLMError) -> None:
        self.notify(plain(str(error)), severity="error", timeout=20, markup=False)


def _recent(conversations: Sequence[ConversationSummary]) -> list[str]:
    """Ids of personas, most recent conversation first."""
    return list(dict.fromkeys(summary.persona for summary in conversations))
