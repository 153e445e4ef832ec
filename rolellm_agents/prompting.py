"""From a conversation to the very messages that a model is sent: look up, compose, place.

One place for all who need them: the graph that answers, the session that reads ahead.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage

from rolellm_agents.card_prompts import character_note, with_card_prompts
from rolellm_agents.cards import Lorebook
from rolellm_agents.persona import Persona
from rolellm_agents.recall import DemonstrationIndex, LoreRecall, RecalledItem, place_lore, recalled_lore
from rolellm_agents.strategies import DEMONSTRATIONS, foreseen, get_strategy, uses_demonstrations


class LookedUp(NamedTuple):
    """What was looked up for a user's line."""

    recalled: list[RecalledItem]
    lore: dict[str, Any] | None
    """Timed effects of the lorebook after this line; None for a persona without one."""


class Prompting:
    """How one persona reaches a model by one strategy."""

    def __init__(
        self, persona: Persona, strategy: str, *, user: str, lorebooks: Sequence[Lorebook] = ()
    ) -> None:
        """Prepare what is looked up.

        Args:
            persona: with its macros filled.
            strategy: a strategy's name.
            user: the display name of the person who talks with it.
            lorebooks: of the world, beside the persona's own.

        Raises:
            SettingsError: there is no such strategy.
            PersonaError: the persona's lorebook cannot be used.
        """
        self._persona = persona
        self._strategy_name = strategy
        self._strategy = get_strategy(strategy)
        self._user = user
        self._index = DemonstrationIndex(persona) if uses_demonstrations(strategy) else None
        self._lore = LoreRecall(persona, user=user, lorebooks=lorebooks)
        self._note = character_note(persona, user)

    def look_up(
        self, history: Sequence[BaseMessage], line: str, lore: Mapping[str, Any], *, seed: int | None = None
    ) -> LookedUp:
        """Demonstrations near the line, and the lore that the conversation brings up.

        Args:
            history: what was said before.
            line: what the user says.
            lore: timed effects so far.
            seed: of the lore's probabilities; None draws it from the conversation.
        """
        recalled: list[RecalledItem] = [*self._index.search(line, DEMONSTRATIONS)] if self._index else []
        if not self._lore.entries:
            return LookedUp(recalled, None)
        activation = self._lore.activate(history, line, lore, seed=seed)
        return LookedUp([*recalled, *recalled_lore(activation)], activation.state.to_json())

    def compose(
        self, history: Sequence[BaseMessage], recalled: Sequence[RecalledItem], line: str
    ) -> list[BaseMessage]:
        """The messages: the strategy's, with the card's own prompts and the lore in their places."""
        messages = self._strategy(self._persona, history, recalled, line)
        return place_lore(with_card_prompts(messages, self._persona, self._user), [*recalled, *self._note])

    def foreseen(self, history: Sequence[BaseMessage]) -> list[BaseMessage]:
        """The messages that the next prompt begins with, whatever the user will say, but for lore."""
        messages = foreseen(self._strategy_name, self._persona, history)
        return with_card_prompts(messages, self._persona, self._user)[: len(messages)]
