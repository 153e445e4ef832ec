"""From a conversation to the messages for a model: recall, composition, and placement of inserts."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple

from langchain_core.messages import BaseMessage

from rolellm_agents.cards import Lorebook
from rolellm_agents.models.local import cacheable
from rolellm_agents.persona import Persona
from rolellm_agents.prompting.inserts import (
    authors_note,
    character_note,
    has_card,
    lore_insert,
    scene_insert,
    summary_insert,
    user_persona_insert,
    with_card_prompts,
)
from rolellm_agents.prompting.placement import place_inserts
from rolellm_agents.prompting.prompts import load_prompts
from rolellm_agents.prompting.strategies import (
    Strategy,
    get_strategy,
    recalls_of,
    stable_prefix,
    strategy_name,
)
from rolellm_agents.recall import (
    LoreRecall,
    Passage,
    RecalledItem,
    Recaller,
    RecallOptions,
    demonstrations_of,
    knowledge_of,
    lore_of,
    recalled_lore,
)
from rolellm_agents.recall.passages import Kind
from rolellm_agents.recall.recalled import RecalledDemonstration, RecalledPassage
from rolellm_agents.text import estimated_tokens

_MEMORIES = 3
"""The most earlier exchanges in a prompt, so that they do not crowd out the persona."""
_EARLIER = "earlier in this conversation"
"""The source of exchanges of the same conversation."""


class LookedUp(NamedTuple):
    """The recalled items and the lore state for a user's line."""

    recalled: list[RecalledItem]
    lore: dict[str, Any] | None
    """Timed effects of the lorebook after this line; None for a persona without a lorebook."""


class _Lookup(NamedTuple):
    recaller: Recaller
    of_first_line: bool


class Prompting:
    """The prompts of one persona under one strategy."""

    def __init__(
        self,
        persona: Persona,
        strategy: str | Strategy,
        *,
        user: str,
        about_user: str = "",
        lorebooks: Sequence[Lorebook] = (),
        recall: RecallOptions | None = None,
        memories: Sequence[Passage] = (),
    ) -> None:
        """Prepare the indexes.

        Args:
            persona: with its macros filled.
            strategy: a strategy or its name.
            user: the display name of the person who talks with it.
            about_user: the user's description, which is inserted into the prompt.
            lorebooks: further lorebooks in addition to the persona's own.
            recall: how passages are looked up; the strategy's method when None.
            memories: passages of earlier conversations, recalled under every strategy.

        Raises:
            SettingsError: there is no such strategy.
            PersonaError: the persona's lorebook cannot be used.
        """
        self.persona = persona
        self.strategy = strategy_name(strategy)
        self.strategy_function = get_strategy(strategy)
        self.user = user
        """The display name of the person who talks with the persona."""
        self._lore = LoreRecall(persona, user=user, about_user=about_user, lorebooks=lorebooks)
        self._has_card = has_card(persona)
        self._options = recall or RecallOptions()
        self._earlier: tuple[tuple[str, ...], Recaller] | None = None
        self._lookups = self._make_lookups(strategy, self._options, memories)
        self._may_block = True
        """Whether a lookup may take long: the first one reads files and builds the indexes, and others
        compute or request embeddings."""
        self._notes = [*character_note(persona, user), *user_persona_insert(user, about_user)]

    @property
    def note(self) -> str:
        """A sentence about lorebooks that exceed a limit, to be shown once; otherwise empty."""
        return self._lore.note

    def look_up(
        self,
        history: Sequence[BaseMessage],
        line: str,
        lore: Mapping[str, Any],
        *,
        seed: int | None = None,
        earlier: tuple[str, ...] = (),
    ) -> LookedUp:
        """Find the lore that the conversation activates, and the passages near the line.

        Args:
            history: the conversation before the line.
            line: the user's line.
            lore: the timed effects of the lorebook so far.
            earlier: exchanges of this conversation that the prompt no longer contains.
            seed: the seed for the lore's probabilities; derived from the conversation when None.

        Raises:
            StorageError: Chroma's store cannot be used.
            ModelError: the embeddings cannot be computed.
        """
        first = line
        for message in history:
            if message.type == "human":
                first = message.text
                break
        passages = [
            item
            for lookup in self._lookups
            for item in lookup.recaller.recall(first if lookup.of_first_line else line)
        ]
        if earlier:
            passages += self._recall_earlier(earlier, line, passages)
        if not self._lore.entries:
            return LookedUp([*passages], None)
        activation = self._lore.activate(history, line, lore, seed=seed)
        active = recalled_lore(activation)
        active_texts = {item["text"].strip() for item in active}
        new = [item for item in passages if item["kind"] != "passage" or item["text"] not in active_texts]
        return LookedUp([*new, *active], activation.state.to_json())

    async def look_up_async(
        self,
        history: Sequence[BaseMessage],
        line: str,
        lore: Mapping[str, Any],
        *,
        seed: int | None = None,
        earlier: tuple[str, ...] = (),
    ) -> LookedUp:
        """The same in an event loop: in a thread if it may take long, else at once.

        After the first lookup, composing reads no files either.
        """
        if not self._may_block and (not earlier or self._has_indexed(earlier)):
            return self.look_up(history, line, lore, seed=seed, earlier=earlier)
        await asyncio.to_thread(load_prompts, self.persona.language)
        found = await asyncio.to_thread(self.look_up, history, line, lore, seed=seed, earlier=earlier)
        self._may_block = any(lookup.recaller.uses_vectors for lookup in self._lookups)
        return found

    def _has_indexed(self, earlier: tuple[str, ...]) -> bool:
        return self._earlier is not None and self._earlier[0] == earlier

    def _recall_earlier(
        self, earlier: tuple[str, ...], line: str, found: Sequence[RecalledItem]
    ) -> list[RecalledDemonstration | RecalledPassage]:
        """The exchanges near the line, by words, within what the other passages leave of the budget."""
        if self._earlier is None or self._earlier[0] != earlier:
            passages = [Passage("memory", text, _EARLIER, place) for place, text in enumerate(earlier)]
            few = replace(self._options, method="bm25", k=min(self._options.k, _MEMORIES))
            self._earlier = earlier, Recaller(passages, self.persona, "bm25", few)
        texts = [item["text"] for item in found if item["kind"] == "passage"]
        left = self._options.tokens - sum([estimated_tokens(text) for text in texts])
        return self._earlier[1].recall(line, tokens=left)

    def compose(
        self,
        history: Sequence[BaseMessage],
        recalled: Sequence[RecalledItem],
        line: str,
        *,
        note: str = "",
        scene: str = "",
        summary: str = "",
    ) -> list[BaseMessage]:
        """The prompt: the strategy's messages with the card's prompts and all inserts in their places.

        `recalled` are the items that `look_up` found. The author's note is placed a few messages before the
        end, and what the persona knows of its scene, and a summary of earlier messages, after its
        description.
        """
        messages = self.strategy_function(self.persona, history, recalled, line)
        # The scene first: it rarely changes, so the model's cached prefix stays valid.
        inserts = [
            *scene_insert(scene),
            *([summary_insert(summary, self.persona)] if summary else []),
            *(lore_insert(item) for item in recalled if item["kind"] == "lore"),
            *self._notes,
            *authors_note(note, self.persona, self.user),
        ]
        return place_inserts(self._with_instruction(messages), inserts)

    def stable_prefix(self, history: Sequence[BaseMessage], *, summary: str = "") -> list[BaseMessage]:
        """The messages that the next prompt begins with, whatever the user says, without lore."""
        first = next((message.text for message in history if message.type == "human"), None)
        if first is not None and any(lookup.of_first_line for lookup in self._lookups):
            fixed = (lookup.recaller for lookup in self._lookups if lookup.of_first_line)
            recalled = [item for recaller in fixed for item in recaller.recall(first)]
            messages = self.strategy_function(self.persona, history, recalled, "")[:-1]
        else:
            messages = stable_prefix(self.strategy_function, self.persona, history)
        prefix = self._with_instruction(messages)[: len(messages)]
        return place_inserts(prefix, [summary_insert(summary, self.persona)]) if summary else prefix

    def _with_instruction(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Add the card's prompts, and mark the instruction as one that may be cached on disk.

        Lore and callers' texts join the first message later, so they stay out of the cache.
        """
        if not messages:
            return []
        if self._has_card:
            messages = with_card_prompts(messages, self.persona, self.user)
        return [cacheable(messages[0]), *messages[1:]]

    def _make_lookups(
        self, strategy: str | Strategy, options: RecallOptions, memories: Sequence[Passage]
    ) -> list[_Lookup]:
        lookups: list[_Lookup] = []
        if recalls := recalls_of(strategy):
            fitting = options if options.floor is not None else replace(options, floor=recalls.floor)
            passages = [*chain.from_iterable(self._passages_of(kind) for kind in recalls.kinds)]
            recaller = Recaller(passages, self.persona, recalls.method, fitting)
            lookups.append(_Lookup(recaller, recalls.of_first_line))
        if memories:
            few = replace(options, k=min(options.k, _MEMORIES))
            recaller = Recaller(memories, self.persona, "hybrid", few)
            lookups.append(_Lookup(recaller, of_first_line=False))
        return lookups

    def _passages_of(self, kind: Kind) -> list[Passage]:
        match kind:
            case "demonstration":
                return demonstrations_of(self.persona)
            case "knowledge":
                return knowledge_of(self.persona)
            case "lore":
                return lore_of(self._lore.books, self.persona, self.user)
            case "memory":
                return []
