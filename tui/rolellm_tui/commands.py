"""The command palette: actions of the screen, personas and conversations."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Protocol, cast

from textual.command import DiscoveryHit, Hit, Hits, Matcher, Provider
from textual.content import Content

from rolellm_agents.chat_files.scenes import SCENE
from rolellm_agents.errors import RoleLLMError
from rolellm_agents.models.presets.files import FoundPreset, list_presets
from rolellm_agents.persona import FoundPersona, list_personas
from rolellm_agents.prompting.strategies import strategy_names
from rolellm_agents.text import one_line
from rolellm_agents.transcript import ConversationSummary, Transcript
from rolellm_tui.screens.start_with import explained
from rolellm_tui.widgets.common.formatting import counted, local_now, relative_time

_NAVIGATION = ("command_palette", "app.command_palette")
_AT_ONCE = 20
"""Commands matched per batch, between checks for new input."""
_ABOUT = 70
"""Maximum length of a help text, in characters."""


class RoleActions(Protocol):
    """Actions of the app for the palette."""

    @property
    def transcript(self) -> Transcript:
        """Where the conversations were."""

    def talk_with(self, persona_id: str) -> None:
        """Open the chat with a persona."""

    def go_on_with(self, conversation: str, message: str | None = None) -> None:
        """Open a conversation, at a message if one is named."""

    def use_strategy(self, name: str) -> None:
        """Use this strategy for answers."""

    def use_preset(self, name: str | None) -> None:
        """Use this sampler preset for answers; None for the model's own values."""


@dataclass(frozen=True)
class _Command:
    name: str
    about: str
    run: Callable[[], Awaitable[object] | None]


class RoleCommands(Provider):
    """Lists actions of the screen; a search adds personas and conversations."""

    async def startup(self) -> None:
        """Load data in the background."""
        self._listed_presets = asyncio.create_task(asyncio.to_thread(lambda: list_presets()[0]))
        self._elsewhere = asyncio.create_task(asyncio.to_thread(_read, self._actions.transcript))

    async def shutdown(self) -> None:
        """Cancel the loading."""
        for task in (self._listed_presets, self._elsewhere):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def discover(self) -> Hits:
        """List the actions of the screen."""
        for command in self._of_screen():
            yield DiscoveryHit(Content(command.name), command.run, command.name, _plain(command.about))

    async def search(self, query: str) -> Hits:
        """List all matches."""
        matcher = self.matcher(query)
        for command in (
            *self._of_screen(),
            *self._strategies(),
            *self._presets(await self._listed_presets),
        ):
            if hit := _hit(matcher, command):
                yield hit
        for number, command in enumerate(self._goals(*await self._elsewhere)):
            if number % _AT_ONCE == 0:
                # Let the next key cancel this search.
                await asyncio.sleep(0)
            if hit := _hit(matcher, command):
                yield hit

    @property
    def _actions(self) -> RoleActions:
        return cast(RoleActions, self.app)

    def _of_screen(self) -> Iterator[_Command]:
        """Actions of the screen with a tooltip."""
        done = set(_NAVIGATION)
        for node, binding, enabled, tooltip in self.screen.active_bindings.values():
            if tooltip and enabled and binding.action not in done:
                done.add(binding.action)
                key = self.app.get_key_display(binding)
                run = partial(self.app.run_action, binding.action, node)
                yield _Command(binding.description, f"{tooltip}  {key}", run)

    def _strategies(self) -> Iterator[_Command]:
        for name in strategy_names():
            run = partial(self._actions.use_strategy, name)
            yield _Command(f"Use strategy {name}", explained(name), run)

    def _presets(self, presets: list[FoundPreset]) -> Iterator[_Command]:
        for found in presets:
            about = one_line(found.preset.about or ", ".join(found.preset.active), _ABOUT)
            run = partial(self._actions.use_preset, found.id)
            yield _Command(f"Use preset {one_line(found.preset.name)}", about, run)
        if presets:
            run = partial(self._actions.use_preset, None)
            yield _Command("Use no preset", "The values of the model and of the settings.", run)

    def _goals(
        self, cast_: tuple[FoundPersona, ...], conversations: list[ConversationSummary]
    ) -> Iterator[_Command]:
        names = {found.persona.id: one_line(found.persona.name) for found in cast_}
        for found in cast_:
            description = one_line(found.persona.description, _ABOUT)
            run = partial(self._actions.talk_with, found.persona.id)
            yield _Command(f"Talk with {names[found.persona.id]}", description, run)
        now = local_now()
        for conversation in conversations:
            is_scene = conversation.persona.startswith(SCENE)
            name = "the scene" if is_scene else names.get(conversation.persona, conversation.persona)
            title = one_line(conversation.title or conversation.last, _ABOUT)
            yield _Command(
                f"Resume {name} – {title}",
                f"{relative_time(conversation.updated, now)} · {counted(conversation.messages, 'message')}",
                partial(self._actions.go_on_with, conversation.id),
            )


def _read(transcript: Transcript) -> tuple[tuple[FoundPersona, ...], list[ConversationSummary]]:
    try:
        return list_personas().found, transcript.conversations()
    except RoleLLMError:
        # Opening a conversation will report the error.
        return list_personas().found, []


def _hit(matcher: Matcher, command: _Command) -> Hit | None:
    score, offsets = matcher.fuzzy_search.match(matcher.query, command.name)
    if score <= 0:
        return None
    # The matcher's own method would parse names as markup.
    name = Content(command.name)
    for offset in offsets:
        name = name.stylize(matcher.match_style, offset, offset + 1)
    return Hit(score, name, command.run, command.name, _plain(command.about))


def _plain(text: str) -> str:
    """Text that the palette does not parse as markup."""
    return cast(str, Content(text))
