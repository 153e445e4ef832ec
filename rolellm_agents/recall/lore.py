"""The lorebook entries that a conversation activates."""

import zlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage

from rolellm_agents.cards import (
    Activation,
    CardError,
    Lorebook,
    LoreScene,
    LoreSettings,
    LoreState,
    MacroScope,
    ScanMessage,
    activate,
    expressions_note,
    read_lorebook,
    substitute,
)
from rolellm_agents.errors import PersonaError
from rolellm_agents.persona import Persona
from rolellm_agents.persona.from_card.conversion import char_name
from rolellm_agents.recall.recalled import RecalledLore


class LoreRecall:
    """A persona's lorebooks, and the activation of their entries by a conversation."""

    def __init__(
        self,
        persona: Persona,
        *,
        user: str,
        about_user: str = "",
        lorebooks: Sequence[Lorebook] = (),
        settings: LoreSettings | None = None,
    ) -> None:
        """Read the persona's lorebook.

        Entries may match their keys in `about_user`, the user's description. Further lorebooks come after
        the persona's own. The settings are scan depth and token budget; SillyTavern's defaults when None.

        Raises:
            PersonaError: the lorebook has too many entries.
        """
        self._persona = persona
        self._user = user
        self._about_user = about_user
        self._settings = settings or LoreSettings()
        self.books = tuple(lorebooks)
        """All lorebooks, the persona's own first."""
        if persona.lorebook is not None and "entries" in persona.lorebook:
            try:
                self.books = (read_lorebook(dict(persona.lorebook)), *lorebooks)
            except CardError as error:
                raise PersonaError(f"The lorebook of {persona.id} cannot be used: {error}") from error

    @property
    def entries(self) -> int:
        """Number of entries in all lorebooks."""
        return sum(len(book.entries) for book in self.books)

    @cached_property
    def note(self) -> str:
        """A sentence if the lorebooks have more regular expressions than are searched; otherwise empty."""
        return expressions_note(self.books)

    def activate(
        self,
        history: Sequence[BaseMessage],
        line: str,
        state: Mapping[str, Any],
        *,
        seed: int | None = None,
    ) -> Activation:
        """The entries that are active for the user's line, with a trace for every entry.

        Args:
            history: the conversation before the line.
            line: the user's line.
            state: timed effects so far, from `LoreState.to_json`.
            seed: for probabilities; derived from the conversation when None, so that the same words
                activate the same lore.
        """
        name = char_name(self._persona)
        messages = [_scanned(message, name, self._user) for message in history]
        messages.append(ScanMessage(self._user, line, "user"))
        used_seed = zlib.crc32(f"{len(messages)}\n{line}".encode()) if seed is None else seed
        scope = MacroScope(
            char=name, user=self._user, description=self._persona.description, seed=used_seed
        )
        scene = LoreScene(
            messages=messages,
            character=name,
            character_tags=tuple(self._persona.tags),
            sources={
                "character_description": self._persona.description,
                "persona_description": self._about_user,
            },
            seed=used_seed,
            substitute=lambda words: substitute(words, scope),
            substitute_scanned=lambda words: substitute(words, scope, "scan"),
        )
        return activate(self.books, scene, self._settings, LoreState.from_json(state))


def recalled_lore(activation: Activation) -> list[RecalledLore]:
    """The active entries as plain values, in the order in which they go into the prompt."""
    why = {(trace.book, trace.uid): trace.sentence() for trace in activation.traces if trace.active}
    return [
        RecalledLore(
            kind="lore",
            book=fired.book,
            uid=fired.entry.uid,
            name=fired.entry.name,
            text=fired.content,
            position=fired.position,
            depth=fired.depth,
            role=fired.role,
            why=why.get((fired.book, fired.entry.uid), ""),
        )
        for fired in activation.fired
        if fired.content.strip()
    ]


def _scanned(message: BaseMessage, character: str, user: str) -> ScanMessage:
    if isinstance(message, AIMessage):
        return ScanMessage(character, message.text, "assistant")
    return ScanMessage(user, message.text, "user")
