"""The command palette: whatever the present screen can do, and everybody and everything one can go to."""

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
from rolellm_agents.persona import FoundPersona, list_personas
from rolellm_agents.prompting.strategies import STRATEGIES
from rolellm_agents.text import one_line
from rolellm_agents.transcript import ConversationSummary, Transcript
from rolellm_tui.screens.start_with import EXPLAINED
from rolellm_tui.widgets.common.formatting import counted, local_now, relative_time

_NAVIGATION = ("command_palette", "app.command_palette")
_AT_ONCE = 20
"""Commands that are compared with the query between two looks at the keyboard."""
_ABOUT = 70
"""Characters of what stands below a command."""


class RoleActions(Protocol):
    """What the palette asks the app for."""

    @property
    def transcript(self) -> Transcript:
        """Where the conversations were."""

    def talk_with(self, persona_id: str) -> None:
        """Open the chat with a persona."""

    def go_on_with(self, conversation: str, message: str | None = None) -> None:
        """Open a conversation, at a message if one is named."""

    def use_strategy(self, name: str) -> None:
        """Let answers come by this strategy."""


@dataclass(frozen=True)
class _Command:
    name: str
    about: str
    run: Callable[[], Awaitable[object] | None]


class RoleCommands(Provider):
    """Offers the screen's keys at once; personas and conversations when one looks for them."""

    async def startup(self) -> None:
        """Begin to read, while the person sees the palette open."""
        self._elsewhere = asyncio.create_task(asyncio.to_thread(_read, self._actions.transcript))

    async def shutdown(self) -> None:
        """Nobody waits for it any more."""
        self._elsewhere.cancel()
        with suppress(asyncio.CancelledError):
            await self._elsewhere

    async def discover(self) -> Hits:
        """What the present screen can do."""
        for command in self._of_screen():
            yield DiscoveryHit(Content(command.name), command.run, command.name, _plain(command.about))

    async def search(self, query: str) -> Hits:
        """Whatever fits."""
        matcher = self.matcher(query)
        for command in (*self._of_screen(), *self._strategies()):
            if hit := _hit(matcher, command):
                yield hit
        for number, command in enumerate(self._goals(*await self._elsewhere)):
            if number % _AT_ONCE == 0:
                # The next key may come meanwhile, and end this search.
                await asyncio.sleep(0)
            if hit := _hit(matcher, command):
                yield hit

    @property
    def _actions(self) -> RoleActions:
        return cast(RoleActions, self.app)

    def _of_screen(self) -> Iterator[_Command]:
        """Its keys that say what they do."""
        done = set(_NAVIGATION)
        for node, binding, enabled, tooltip in self.screen.active_bindings.values():
            if tooltip and enabled and binding.action not in done:
                done.add(binding.action)
                key = self.app.get_key_display(binding)
                run = partial(self.app.run_action, binding.action, node)
                yield _Command(binding.description, f"{tooltip}  {key}", run)

    def _strategies(self) -> Iterator[_Command]:
        for name in STRATEGIES:
            run = partial(self._actions.use_strategy, name)
            yield _Command(f"Use strategy {name}", EXPLAINED.get(name, ""), run)

    def _goals(
        self, cast_: tuple[FoundPersona, ...], conversations: list[ConversationSummary]
    ) -> Iterator[_Command]:
        names = {found.persona.id: one_line(found.persona.name) for found in cast_}
        for found in cast_:
            about = one_line(found.persona.description, _ABOUT)
            run = partial(self._actions.talk_with, found.persona.id)
            yield _Command(f"Talk with {names[found.persona.id]}", about, run)
        now = local_now()
        for one in conversations:
            is_scene = one.persona.startswith(SCENE)
            name = "the scene" if is_scene else names.get(one.persona, one.persona)
            title = one_line(one.title or one.last, _ABOUT)
            yield _Command(
                f"Resume {name} – {title}",
                f"{relative_time(one.updated, now)} · {counted(one.messages, 'message')}",
                partial(self._actions.go_on_with, one.id),
            )


def _read(transcript: Transcript) -> tuple[tuple[FoundPersona, ...], list[ConversationSummary]]:
    try:
        return list_personas().found, transcript.conversations()
    except RoleLLMError:
        # Whoever opens a conversation will be told.
        return list_personas().found, []


def _hit(matcher: Matcher, command: _Command) -> Hit | None:
    score, offsets = matcher.fuzzy_search.match(matcher.query, command.name)
    if score <= 0:
        return None
    # Not by the matcher's own way, which would read a name from outside as markup.
    shown = Content(command.name)
    for offset in offsets:
        shown = shown.stylize(matcher.match_style, offset, offset + 1)
    return Hit(score, shown, command.run, command.name, _plain(command.about))


def _plain(text: str) -> str:
    """Text that the palette does not read as markup: it would, even of what `escape` gives."""
    return cast(str, Content(text))
